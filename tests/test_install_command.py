"""`agents install`, `agents install --remove` and `agents integrations` on real files."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from agents_plugin.__main__ import main
from agents_plugin.integrations import files, wrapper
from agents_plugin.integrations.agents import AGENTS
from agents_plugin.integrations.files import Changed
from agents_plugin.integrations.work import Refusal, changes, perform
from tests.installing import DEFAULTS, JSON_AGENTS, MINE, VARIABLES, empty_home, put, tree
from tests.support import ROOT


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(tmp_path, monkeypatch)


@pytest.mark.parametrize("ident", AGENTS)
def test_install_install_remove_leaves_nothing(ident: str, home: Path) -> None:
    assert main(["install", ident, "--yes"]) == 0
    first = tree(home)
    assert DEFAULTS[ident] in first
    assert main(["install", ident, "--yes"]) == 0
    assert tree(home) == first, "the second time changes nothing, and makes no backup of our own file"
    assert main(["install", "--remove", ident, "--yes"]) == 0
    assert tree(home) == {}


@pytest.mark.parametrize("ident", JSON_AGENTS)
def test_a_users_file_comes_back_with_mode_and_owner(ident: str, home: Path) -> None:
    path = put(home / DEFAULTS[ident], MINE, 0o640)
    if ident == "codex":
        put(home / ".codex/config.toml", "model = 'x'\n", 0o604)
    before = tree(home)
    owner = path.stat().st_uid, path.stat().st_gid
    assert main(["install", ident, "--yes"]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (path.stat().st_uid, path.stat().st_gid) == owner
    backup = path.with_name(path.name + ".agents-tmux.bak")
    assert backup.read_text() == MINE
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert main(["install", ident, "--yes"]) == 0
    assert main(["install", "--remove", ident, "--yes"]) == 0
    assert tree(home) == before, "and the backup went, because the file is that again"


def test_the_backup_is_never_overwritten_and_stays_when_it_differs(home: Path) -> None:
    path = put(home / DEFAULTS["claude"], MINE)
    assert main(["install", "claude", "--yes"]) == 0
    path.write_text(path.read_text().replace('"x"', '"y"'))
    assert main(["install", "--remove", "claude", "--yes"]) == 0
    assert path.read_text() == MINE.replace('"x"', '"y"')
    assert main(["install", "claude", "--yes"]) == 0
    assert files.backup_of(path).read_text() == MINE
    assert main(["install", "--remove", "claude", "--yes"]) == 0
    assert path.read_text() == MINE.replace('"x"', '"y"')
    assert files.backup_of(path).read_text() == MINE


def test_symlinks_stay_and_lead_to_the_changed_file(home: Path) -> None:
    real = put(home / "dotfiles/claude.json", MINE)
    link = home / DEFAULTS["claude"]
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    before = tree(home)
    assert main(["install", "claude", "--yes"]) == 0
    assert str(link.readlink()) == "../dotfiles/claude.json"
    assert wrapper.TAIL in real.read_text()
    assert files.backup_of(link).is_file(), "beside the link: the other place may be a repository"
    assert main(["install", "--remove", "claude", "--yes"]) == 0
    assert tree(home) == before


def test_a_link_to_a_file_that_is_missing(home: Path) -> None:
    link = home / DEFAULTS["claude"]
    link.parent.mkdir()
    link.symlink_to(home / "later.json")
    assert main(["install", "claude", "--yes"]) == 0
    assert link.is_symlink() and wrapper.TAIL in (home / "later.json").read_text()
    assert main(["install", "--remove", "claude", "--yes"]) == 0
    assert link.is_symlink() and not (home / "later.json").exists()


REFUSED = {
    "case-134 trailing comma": b'{"a": 1,}',
    "case-134 list": b"[]",
    "case-134 comments": b'{ // why\n"a": 1}',
    "cut off": b'{"hooks": {"Stop": [',
    "a key twice": b'{"hooks": {}, "hooks": {}}',
    "not utf-8": b'{"a": "\xff"}',
    "utf-16": '{"a": 1}'.encode("utf-16"),
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("how", [["install"], ["install", "--remove"], ["uninstall"]], ids=" ".join)
def test_case_134_what_cannot_be_read_stays(
    content: bytes, how: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(home / DEFAULTS["claude"], content)
    before = tree(home)
    assert main([*how, "claude", "--yes"]) == 1
    assert tree(home) == before
    error = capsys.readouterr().err
    assert str(home / DEFAULTS["claude"]) in error and "as it was" in error
    assert "line " in error


def test_case_134_one_bad_file_of_two_leaves_both(home: Path) -> None:
    put(home / ".codex/hooks.json", MINE)
    put(home / ".codex/config.toml", "a = [")
    before = tree(home)
    assert main(["install", "codex", "--yes"]) == 1
    assert tree(home) == before


@pytest.mark.parametrize("kind", ["directory", "fifo", "loop"])
def test_what_is_no_file_is_refused(kind: str, home: Path) -> None:
    path = home / DEFAULTS["claude"]
    path.parent.mkdir()
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    assert main(["install", "claude", "--yes"]) == 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a directory that even root cannot write to")
def test_a_directory_that_cannot_be_written_to(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/sys/kernel")
    assert main(["install", "claude", "--yes"]) == 1
    assert "/sys/kernel/settings.json" in capsys.readouterr().err


def test_a_read_only_directory_with_the_users_file() -> None:
    place = Path(tempfile.mkdtemp(prefix="agents-tmux-"))
    try:
        path = put(place / "settings.json", MINE, 0o644)
        place.chmod(0o555)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            found = files.read(path)
            for act in (partial(files.keep, found), partial(files.replace, found, b"x")):
                try:
                    act()
                except files.FileError as error:
                    os.write(writing, f"{error}\n".encode())
            os._exit(0)
        os.close(writing)
        with open(reading, encoding="utf-8") as stream:
            said = stream.read()
        os.waitpid(child, 0)
        assert said.count("ermission denied") == 2, said
        assert path.read_text() == MINE
        assert [entry.name for entry in place.iterdir()] == ["settings.json"]
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_that_changes_meanwhile(times: int, home: Path) -> None:
    path = put(home / DEFAULTS["claude"], '{"a": 0}')
    change = changes(AGENTS["claude"], os.environ)[0]
    form = change.part.format
    count = 0

    class Busy:
        """Someone else writes while we think."""

        def has_ours(self, text: str) -> bool:
            return form.has_ours(text)

        def remove(self, text: str, backup: str | None) -> str | None:
            return form.remove(text, backup)

        def install(self, text: str | None, backup: str | None) -> str:
            nonlocal count
            count += 1
            if count < times:
                path.write_text(f'{{"a": {count + 1}}}')
            return form.install(text, backup)

    path.write_text('{"a": 1}')
    object.__setattr__(change.part, "format", Busy())
    if times == 1:
        assert perform(change)
        assert json.loads(path.read_text())["a"] == 1
        assert form.has_ours(path.read_text())
    else:
        with pytest.raises(Refusal, match="changed meanwhile, twice"):
            perform(change)
        assert path.read_text() == '{"a": 2}'
    assert not list(path.parent.glob(".*agents-tmux*")), "no temporary file is left"


def test_a_file_that_was_replaced_by_a_link_is_another_file(home: Path) -> None:
    path = put(home / DEFAULTS["claude"], MINE)
    found = files.read(path)
    other = put(home / "other.json", MINE)
    path.unlink()
    path.symlink_to(other)
    with pytest.raises(Changed):
        files.replace(found, b"{}")
    assert other.read_text() == MINE


@pytest.mark.parametrize("ident", AGENTS)
def test_case_143_configuration_that_was_moved(ident: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, name = VARIABLES[ident]
    monkeypatch.setenv(variable, str(home / "elsewhere"))
    assert main(["install", ident, "--yes"]) == 0
    assert f"elsewhere/{name}" in tree(home)
    assert all(path.startswith("elsewhere/") for path in tree(home)), "there and only there"
    assert main(["install", ident, "--remove", "--yes"]) == 0
    assert tree(home) == {}


@pytest.mark.parametrize("ident", ["opencode", "kilo"])
def test_case_143_xdg_config_home(ident: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert main(["install", ident, "--yes"]) == 0
    assert list(tree(home)) == [f"xdg/{ident}/plugin/agents-tmux.js"]


def test_case_143_xdg_data_home_and_a_move(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(home / DEFAULTS["claude"], MINE)
    assert main(["install", "claude", "--yes"]) == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "da ta"))
    assert main(["install", "claude", "--yes"]) == 0
    said = path.read_text()
    assert f"'{home}/da ta/agents.tmux/bin/agent-hook' claude Stop" in said
    assert said.count("agent-hook' claude Stop\"") == 1, "case-137: one entry, of the new place"
    assert str(home / ".local/share/agents.tmux") not in said
    assert main(["install", "claude", "--remove", "--yes"]) == 0
    assert path.read_text() == MINE


def test_without_a_terminal_nothing_is_written(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(home / DEFAULTS["claude"], MINE)
    before = tree(home)
    assert main(["install", "claude"]) == 2
    shown = capsys.readouterr()
    assert "--yes" in shown.err and "not a terminal" in shown.err
    assert "+++ " in shown.out and "claude Stop" in shown.out, "the change is shown all the same"
    assert main(["install", "claude", "--dry-run"]) == 0
    assert tree(home) == before
    assert not (home / ".local").exists()


@pytest.mark.parametrize("answer, written", [("y", True), ("n", False), ("", False)])
def test_a_person_is_asked(answer: str, written: bool, home: Path) -> None:
    path = put(home / DEFAULTS["claude"], MINE)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "agents_plugin/__main__.py"), "install", "claude"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd="/",
        env={**os.environ, "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    os.close(slave)
    seen = b""
    try:
        while b"[y/N]" not in seen:
            assert select.select([master], [], [], 30)[0], seen
            seen += os.read(master, 65536)
        assert b"\x1b[32m+" in seen, "added lines are green"
        assert path.read_text() == MINE, "not before the answer"
        os.write(master, answer.encode() + b"\n")
        assert process.wait(30) == (0 if written else 1)
    finally:
        process.kill()
        os.close(master)
    assert (path.read_text() != MINE) is written


def test_all_means_what_is_used_here(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (home / ".qwen").mkdir()
    binaries = tmp_path / "bin"
    put(binaries / "copilot", "#!/bin/sh\n", 0o755)
    monkeypatch.setenv("PATH", f"{binaries}:/usr/bin:/bin")
    if any(shutil.which(agent.binary, path="/usr/bin:/bin") for agent in AGENTS.values()):
        pytest.skip("an agent is installed on this machine")
    assert main(["install", "--all", "--yes"]) == 0
    assert sorted(tree(home)) == [DEFAULTS["copilot"], DEFAULTS["qwen"]]
    assert main(["install", "--all", "--remove", "--yes"]) == 0
    assert tree(home) == {}


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["aider"], ["claude", "--all"]], ids=" ".join)
def test_asked_wrongly(arguments: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", *arguments, "--yes"]) == 2
    assert "claude" in capsys.readouterr().err
    assert tree(home) == {}


def test_what_is_still_to_do_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "codex", "--yes"]) == 0
    assert "/hooks" in capsys.readouterr().out
    assert main(["install", "codex", "--yes"]) == 0
    assert "installed already" in capsys.readouterr().out


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    assert main(["integrations", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1
    return {row["agent"]: row["state"] for row in data["integrations"]}


def test_the_five_words(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for ident in ("claude", "gemini", "pi"):
        assert main(["install", ident, "--yes"]) == 0
    path = home / DEFAULTS["gemini"]
    path.write_text(path.read_text().replace("5000", "4000"))
    put(home / DEFAULTS["qwen"], "{,}")
    found = states(capsys)
    assert found["claude"] == found["pi"] == "installed"
    assert found["gemini"] == "out of date"
    assert found["qwen"] == "cannot read"
    assert found["opencode"] == "not installed"
    assert found["aider"] == "no integration"
    assert set(AGENTS) <= set(found)
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["integrations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("gemini") and "out of date" in line and "settings.json" in line for line in lines)


@pytest.mark.parametrize("damage", ["gone", "plain", "moved", "older"])
def test_case_139_a_wrapper_that_leads_nowhere_is_out_of_date(
    damage: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "claude", "--yes"]) == 0
    place = wrapper.path(os.environ)
    good = place.read_text()
    if damage == "gone":
        place.unlink()
    elif damage == "plain":
        place.chmod(0o644)
    elif damage == "moved":
        place.write_text(wrapper.text(Path("/gone/agents.tmux")))
    else:
        place.write_text(good + "# before\n")
    assert states(capsys)["claude"] == "out of date"
    assert main(["install", "claude", "--yes"]) == 0
    assert "up to date again" in capsys.readouterr().out
    assert place.read_text() == good
    assert os.access(place, os.X_OK)
    assert states(capsys)["claude"] == "installed"


def test_uninstall_by_name(home: Path) -> None:
    assert main(["install", "claude", "gemini", "--yes"]) == 0
    assert main(["uninstall", "claude", "--yes"]) == 0
    assert list(tree(home)) == [DEFAULTS["gemini"]]
    assert main(["uninstall", "claude", "--yes"]) == 0, "twice is fine"


def test_purge_takes_our_entries_out_as_well(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", f"{home}/no-server,1,0")
    path = put(home / DEFAULTS["claude"], MINE)
    put(home / DEFAULTS["qwen"], "{,}")
    assert main(["install", "claude", "pi", "--yes"]) == 0
    assert main(["uninstall", "--purge"]) == 0
    assert path.read_text() == MINE
    assert not (home / ".local/share/agents.tmux").exists()
    assert sorted(tree(home)) == [DEFAULTS["claude"], DEFAULTS["qwen"]]
