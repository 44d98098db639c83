"""Where the runtime directory is: ours alone, the same for shell and Python, below HOME when all else is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.doctor.machine import directories as diagnose
from agents_plugin.host.directories import (
    NOWHERE,
    RuntimeRefused,
    find_directory,
    key,
    make_directory,
    private_dir,
    state_dir,
)
from agents_plugin.host.runtime import find_runtime, open_runtime
from tests.support import ROOT

root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
STRANGER = 12345
PID = 4242


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    for name in ("home", "run", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    places = {"HOME": "home", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
    return {name: str(tmp_path / place) for name, place in places.items()} | {"PATH": os.environ["PATH"]}


def shell(env: dict[str, str], text: str = 'agents_runtime || AGENTS_RUN=none; echo "$AGENTS_RUN"') -> str:
    script = f'. "{ROOT}/scripts/lib.sh"; {text}'
    done = subprocess.run(
        ["sh", "-c", script], env=env | {"TMUX": f"/s,{PID},0"}, cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.rstrip("\n")


def python(env: dict[str, str]) -> str:
    try:
        return str(make_directory(PID, env))
    except RuntimeRefused:
        return "none"


def hand_over(path: Path) -> None:
    """The directory is another user's, and so is a program named in it."""
    path.mkdir(exist_ok=True)
    os.chown(path, STRANGER, STRANGER)


def xdg(base: Path) -> Path:
    return base / "run" / "agents.tmux"


def tmp(base: Path) -> Path:
    return base / "tmp" / f"agents.tmux-{os.geteuid()}"


def home(base: Path) -> Path:
    return base / "home" / ".local/state/agents.tmux/run"


def spoil_xdg(base: Path) -> None:
    shutil.rmtree(base / "run")


def link_tmp(base: Path) -> None:
    spoil_xdg(base)
    (base / "elsewhere").mkdir()
    tmp(base).symlink_to(base / "elsewhere")


def plant_tmp(base: Path) -> None:
    spoil_xdg(base)
    hand_over(tmp(base))


def open_tmp(base: Path) -> None:
    spoil_xdg(base)
    tmp(base).mkdir()
    tmp(base).chmod(0o770)


def open_above(base: Path) -> None:
    spoil_xdg(base)
    (base / "tmp").chmod(0o777)


def sticky_above(base: Path) -> None:
    spoil_xdg(base)
    (base / "tmp").chmod(0o1777)


def strangers_above(base: Path) -> None:
    spoil_xdg(base)
    os.chown(base / "tmp", STRANGER, STRANGER)


def plant_all(base: Path) -> None:
    plant_tmp(base)
    (home(base).parent).mkdir(parents=True)
    hand_over(home(base))


def no_home(base: Path) -> None:
    plant_tmp(base)
    shutil.rmtree(base / "home")


def link_xdg(base: Path) -> None:
    (base / "elsewhere").mkdir()
    xdg(base).symlink_to(base / "elsewhere")


def readable_xdg(base: Path) -> None:
    xdg(base).mkdir()
    xdg(base).chmod(0o755)


def strangers_xdg(base: Path) -> None:
    os.chown(base / "run", STRANGER, STRANGER)


def strangers_home(base: Path) -> None:
    plant_tmp(base)
    os.chown(base / "home", STRANGER, STRANGER)


Where = Callable[[Path], Path]
CASES: list[tuple[Callable[[Path], object], Where | None]] = [
    (lambda base: None, xdg),
    (readable_xdg, xdg),
    (link_xdg, tmp),
    (spoil_xdg, tmp),
    (sticky_above, tmp),
    (link_tmp, home),
    (open_tmp, home),
    (open_above, home),
]
AS_ROOT: list[tuple[Callable[[Path], object], Where | None]] = [
    (strangers_xdg, tmp),
    (plant_tmp, home),
    (strangers_above, home),
    (plant_all, None),
    (no_home, None),
    (strangers_home, None),
]


@pytest.mark.parametrize("first", ["shell", "python"])
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [*CASES, *(pytest.param(*case, marks=root_only) for case in AS_ROOT)],
    ids=lambda value: getattr(value, "__name__", "none"),
)
def test_both_languages_choose_the_first_that_is_ours_alone(
    spoil: Callable[[Path], object], expected: Where | None, first: str, env: dict[str, str], tmp_path: Path
) -> None:
    spoil(tmp_path)
    wanted = str(expected(tmp_path) / key(PID)) if expected else "none"
    looked = find_directory(PID, env)
    assert str(looked) == (wanted if expected else str(NOWHERE / key(PID)))
    assert expected is None or not looked.exists()
    said = [shell(env), python(env)] if first == "shell" else [python(env), shell(env)]
    assert said == [wanted, wanted]
    assert find_directory(PID, env) == looked
    if expected:
        assert [path.stat().st_mode & 0o022 for path in (looked, looked.parent)] == [0, 0]
    assert not (tmp_path / "elsewhere").exists() or not list((tmp_path / "elsewhere").iterdir())


def test_a_relative_temporary_directory_is_ignored(env: dict[str, str]) -> None:
    del env["XDG_RUNTIME_DIR"]
    env["TMPDIR"] = "tmp"
    expected = f"/tmp/agents.tmux-{os.geteuid()}/{key(PID)}"
    assert str(find_directory(PID, env)) == expected
    assert shell(env, 'agents_settle() { echo "$1/$AGENTS_KEY"; }; agents_runtime') == expected


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_case_132_a_directory_others_can_write_is_refused(mode: int, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x").chmod(mode)
    with pytest.raises(RuntimeRefused, match="written by others"):
        private_dir(tmp_path / "x")


def test_a_readable_directory_of_ours_is_closed(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x").chmod(0o755)
    assert private_dir(tmp_path / "x").stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "x", tmp_path / "none" / "x"):
        with pytest.raises(RuntimeRefused):
            private_dir(path)


def test_doctor_says_what_was_refused_and_what_is_used(env: dict[str, str], tmp_path: Path) -> None:
    link_tmp(tmp_path)
    make_directory(PID, env)
    said = [f"{finding.level.value}: {finding.text}" for finding in diagnose(env)]
    assert said == [
        f"warn: {tmp(tmp_path)} is not a directory: {home(tmp_path)} is used instead",
        f"ok: {home(tmp_path)}",
    ]


def test_the_directory_given_is_used_when_it_is_this_servers_and_ours(env: dict[str, str], tmp_path: Path) -> None:
    given = tmp_path / "given" / key(PID)
    given.parent.mkdir(mode=0o700)
    given.mkdir(mode=0o700)
    env["AGENTS_RUN"] = str(given)
    assert make_directory(PID, env) == find_directory(PID, env) == given
    assert find_directory(PID + 1, env) == xdg(tmp_path) / key(PID + 1)
    given.chmod(0o770)
    assert make_directory(PID, env) == xdg(tmp_path) / key(PID)


@pytest.mark.parametrize("what", ["fifo", "link", "open"])
def test_only_plain_files_of_ours_are_read(what: str, env: dict[str, str], tmp_path: Path) -> None:
    runtime = open_runtime(PID, env)
    for name in ("problems", "monitor", "beat", "memory.json", "log"):
        path, other = runtime.path / name, tmp_path / name
        other.write_text("1\tx\n")
        if what == "fifo":
            os.mkfifo(path)
        elif what == "link":
            path.symlink_to(other)
        else:
            path.write_text("1\tx\n")
            path.chmod(0o666)
    assert runtime.problems() == {} and runtime.holder() is None and runtime.beat_age() is None
    runtime.log("x")
    assert runtime.lock("v") is None
    assert (tmp_path / "log").read_text() == "1\tx\n"


def test_nothing_is_read_or_written_once_the_directory_is_not_ours_alone(env: dict[str, str]) -> None:
    runtime = open_runtime(PID, env)
    runtime.problem("a", "b")
    runtime.path.chmod(0o777)
    before = sorted(path.name for path in runtime.path.iterdir())
    assert runtime.problems() == {}
    runtime.problem("c", "d")
    runtime.log("x")
    runtime.beat()
    assert not runtime.write_memory(1, {}) and runtime.lock("v") is None and not runtime.poke()
    assert sorted(path.name for path in runtime.path.iterdir()) == before
    assert find_runtime(PID, env).path != runtime.path


@pytest.mark.parametrize("what", ["fifo", "link", "open"])
def test_the_shell_takes_no_python_from_a_file_that_is_not_ours_alone(
    what: str, env: dict[str, str], tmp_path: Path
) -> None:
    place = Path(shell(env)) / "python"
    if what == "fifo":
        os.mkfifo(place)
    elif what == "link":
        (tmp_path / "other").write_text(f"{sys.executable}\n")
        place.symlink_to(tmp_path / "other")
    else:
        place.write_text(f"{sys.executable}\n")
        place.chmod(0o666)
    ask = 'agents_runtime; agents_python; echo "$AGENTS_PYTHON"'
    assert shell(env, ask) == ""
    place.unlink()
    place.write_text(f"{sys.executable}\n")
    assert shell(env, ask) == sys.executable


def test_a_home_that_is_not_there_is_not_made(env: dict[str, str], tmp_path: Path) -> None:
    env |= {"HOME": str(tmp_path / "not" / "there")}
    assert state_dir(env) is None
    open_runtime(PID, env).announce(env)
    tools = [["scripts/agent-hook", "claude", "Stop"], ["scripts/bootstrap"], ["scripts/drive"], ["scripts/poke"]]
    commands = [["ls"], ["doctor"], ["install", "claude", "--yes"], ["monitor"], ["pass"]]
    entry = [sys.executable, str(ROOT / "agents_plugin" / "__main__.py")]
    for command in [*tools, *([*entry, *words] for words in commands)]:
        subprocess.run(
            command,
            cwd=ROOT,
            env=env | {"TMUX_TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert not (tmp_path / "not").exists(), command
