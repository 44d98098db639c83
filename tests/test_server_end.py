"""A tmux server that ends stays ended: nothing of ours starts one, and what we run for it ends with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.loading import give_python, load, settle
from tests.machine import Machine
from tests.support import ROOT, Server, TmuxBinary, stays, wait_for

#: Ways in which a server ends as soon as it has read its configuration.
WAYS = {
    "list-keys": ("list-keys",),
    "start-server": ("start-server",),
    "a-session-that-ends": ("new-session", "-d", "true"),
    "kill-server": ("new-session", "-d", ";", "kill-server"),
}


def ours(server: Server) -> list[str]:
    """Every process of this server's home: tmux servers, and what they or the plugin have started."""
    mark = f"TMUX_TMPDIR={server.sockets}"
    found = []
    for process in psutil.process_iter():
        try:
            if mark in Path(f"/proc/{process.pid}/environ").read_text(errors="replace").split("\0"):
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except (OSError, psutil.Error):
            continue
    return found


@pytest.fixture
def brief(bare_server: Server, tmp_path: Path) -> Iterator[Server]:
    """A server whose configuration loads the plugin and nothing else; whatever it leaves is ended."""
    give_python(bare_server)
    config = tmp_path / "tmux.conf"
    config.write_text(f"run-shell {ROOT}/agents.tmux\n")
    bare_server.config = str(config)
    yield bare_server
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (left := ours(bare_server)):
        for line in left:
            try:
                os.kill(int(line.split()[0]), signal.SIGKILL)
            except ProcessLookupError:
                continue


@pytest.mark.versions
@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_ends_stays_ended(way: str, brief: Server) -> None:
    brief.run(*WAYS[way])
    wait_for(lambda: not ours(brief), 3, "nothing of ours left")
    stays(lambda: not ours(brief), 10, "nothing of ours comes back")


@pytest.mark.versions
def test_everything_ends_with_a_server_that_was_at_work(brief: Server) -> None:
    brief.start()
    settle(brief)
    assert len(ours(brief)) > 2
    pid = brief.pid
    os.kill(pid, signal.SIGKILL)  # it says nothing to anybody
    wait_for(lambda: not ours(brief), 5, "nothing of ours left")


def test_a_bootstrap_at_work_ends_with_its_server(tmp_path: Path, server: Server) -> None:
    """A download of minutes, for a server that is gone."""
    base = tmp_path / "machine"
    base.mkdir()
    machine = Machine(base)
    (machine.bin / "tmux").symlink_to(server.binary.path)
    machine.script("uv", "#!/bin/sh\nexec sleep 300\n")
    for name, value in (("AGENTS_PLACES", str(machine.bin)), ("PATH", str(machine.bin))):
        server.env[name] = value
        server.cmd("set-environment", "-g", name, value)
    load(server)
    wait_for(lambda: any("sleep 300" in line for line in ours(server)), what="uv at work")
    server.cmd("kill-server")
    wait_for(lambda: not ours(server), 5, "nothing of ours left")
    data = Path(server.env["XDG_DATA_HOME"]) / "agents.tmux"
    assert not list(data.glob("making.*")) and not (data / "bootstrap.lock").exists()


@pytest.mark.versions
def test_no_call_of_ours_starts_a_server(tmux_bin: TmuxBinary, bare_server: Server) -> None:
    """list-keys and new-session start one, asked at a socket where nobody is."""
    from agents_plugin.tmux.runner import Runner, ServerGone

    runner = Runner(bare_server.socket, binary=tmux_bin.path)
    Path(bare_server.socket).parent.mkdir(mode=0o700, exist_ok=True)
    for command in (("list-keys",), ("start-server",), ("new-session", "-d")):
        with pytest.raises(ServerGone):
            runner.run(*command)
        text = '. "$AGENTS_HOME/scripts/lib.sh"; agents_tmux "$@"'
        done = subprocess.run(
            ["/bin/sh", "-c", text, "sh", *command],
            env=bare_server.env | {"AGENTS_HOME": str(ROOT), "TMUX": f"{bare_server.socket},99999999,0"},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 1 and "error connecting" in done.stderr
        assert not Path(bare_server.socket).exists()


#: A command word `tmux` in shell: at the beginning of a command, or as what another command runs.
_CALL = re.compile(
    r"""(?:^|[;&|({`!]|\$\(|\b(?:then|do|else|exec|command|nohup|env|run-shell)(?:\ -b|\ -v)?)\s*["']?"""
    r"""(?:\$\{?AGENTS_TMUX\}?|tmux)["']?(?=\s+[-a-z"'$])""",
    re.VERBOSE,
)


def calls(text: str) -> list[str]:
    """The lines of a shell script that run a tmux."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#") and _CALL.search(line)]


def test_the_finder_finds() -> None:
    for line in (
        "tmux list-keys",
        "x=$(tmux -u show-options -g)",
        "  [ -n x ] && tmux kill-server",
        "if true; then exec tmux new; fi",
        '"$AGENTS_TMUX" -u list-keys',
        "run-shell 'tmux list-keys'",
    ):
        assert calls(line), line
    assert not calls("command -v tmux >/dev/null\necho tmux is\n# tmux list-keys\nAGENTS_TMUX=tmux\nx/tmux-1")


#: They start servers of their own.
_OWN_SERVERS = {"try", "tmux-versions", "lab", "bench", "test", "accuracy", "picture", "dev-python"}


def test_shell_calls_tmux_in_one_place() -> None:
    files = [ROOT / "agents.tmux", *(file for file in (ROOT / "scripts").iterdir() if file.is_file())]
    files = [file for file in files if file.suffix != ".py" and file.name not in _OWN_SERVERS]
    assert {"lib.sh", "after-load", "drive", "uninstall", "navigation.tmux"} <= {file.name for file in files}
    found = {file.name: calls(file.read_text(encoding="utf-8")) for file in files}
    assert {name for name, lines in found.items() if lines} == {"lib.sh"}
    old, new = (line.split() for line in found["lib.sh"])
    assert new[1:5] == ["-u", "-N", "-S", '"$AGENTS_SOCKET"']
    assert old[1:4] == ["-u", "-S", '"$AGENTS_SOCKET"']
    setters = {f.name for f in files for line in f.read_text().splitlines() if re.search(r"\bAGENTS_OLD=1", line)}
    assert setters == {"agents.tmux"}


def test_python_calls_tmux_in_one_place() -> None:
    """Nobody but the runner looks for a tmux, and what starts a process elsewhere names none."""
    seen = set()
    for file in sorted((ROOT / "agents_plugin").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        name = str(file.relative_to(ROOT / "agents_plugin"))
        if name == "tmux/runner.py":
            assert (
                text.count("spawn(argv") == 1 and 'argv = [self.binary, "-u", "-N", "-S", self.socket, *args]' in text
            )
            continue
        assert not re.search(r"\b(find_tmux|server_executable|posix_spawnp?|import libtmux|from libtmux)\b", text), name
        assert not re.search(r"""which\(["']tmux|[\[(]["']tmux["'],\s*["'][-a-z]""", text), name
        if re.search(r"\bsubprocess\.(run|Popen|call|check_\w+)\(|\bspawn\(|\bos\.exec\w+\(", text):
            seen.add(name)
    # Each runs something else: sh with a script of ours, a person's alert command, an agent's version, Python itself.
    assert {"repair.py", "commands/uninstall.py"} <= seen
