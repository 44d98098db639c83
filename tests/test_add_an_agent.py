"""docs/add-an-agent.md as a person follows it: its commands in their order, with its stand-in agent, in a real tmux."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import agents
from tests.support import ROOT, Server, wait_for

PAGE = (ROOT / "docs" / "add-an-agent.md").read_text(encoding="utf-8")


def steps() -> Iterator[tuple[str, list[str]]]:
    """Each block of commands, and the lines the page says it prints."""
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for index, (kind, body) in enumerate(blocks):
        if kind == "sh":
            following = blocks[index + 1] if index + 1 < len(blocks) else ("", "")
            yield body, following[1].splitlines() if following[0] == "text" else []


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.timeout(120)
def test_every_command_of_the_page(server: Server) -> None:
    noted = server.home / ".local/share/agents.tmux/python"
    noted.parent.mkdir(parents=True)
    noted.write_text(f"{sys.executable}\n")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    env = {**server.inside(""), "XDG_CACHE_HOME": cache, "COLUMNS": "200", "PATH": os.environ["PATH"]}
    pane = ""

    def greets() -> bool:
        return "Hello" in server.screen(pane)

    for body, said in steps():
        command = body.replace("%3", pane) if pane else body
        done = subprocess.run(
            ["sh", "-e", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        shown = plain(done.stdout)
        for line in said:
            at = 0
            for piece in line.split("…") if " … " in line else [line]:
                found = shown.find(plain(piece), at)
                assert found >= 0, f"{line}\nis not in\n{done.stdout}{done.stderr}"
                at = found
        if not pane:
            pane = server.cmd("list-panes", "-a", "-F", "#{pane_id}").split()[-1]
            wait_for(greets, what="the toy")
    saved = sorted((server.home / "recordings" / "toy").iterdir())
    assert len(saved) == 6
    facts = json.loads(saved[0].read_text(encoding="utf-8"))
    assert (facts["agent"], facts["truth"], facts["what"]) == ("toy", "blocked", "permission")


def test_a_capture_is_neutral_complete_and_never_overwritten(server: Server, tmp_path: Path) -> None:
    home = str(server.home)
    shown = f"in {home}/code, mail me@corp.example.org, key sk-abcdefghijklmnop and Looking Glass"
    pane = server.window(f"printf '%s\\n' '{shown}'; exec cat", name="shown")
    wait_for(lambda: "Looking" in server.screen(pane), what="the text")
    before = server.cmd("show-options", "-p", "-t", pane)
    into = tmp_path / "saved"
    words = ("screen", "--capture", "-t", pane, "--agent", "mine", "--truth", "idle", "--into", str(into))
    env = {"HOME": home}
    done = agents(server, *words, "--what", "a b", "--hide", "Looking Glass", env=env)
    assert done.returncode == 0 and "no manifest for mine" in done.stderr
    file = next((into / "mine").glob("idle__a_b__w*.txt"))
    text = file.read_text(encoding="utf-8")
    for secret in (home, "corp.example", "abcdefgh", "Looking"):
        assert secret not in text.replace("\n", "")
    for kind in ("home directory", "e-mail address", "key", "word"):
        assert f"1 {kind}" in done.stderr
    facts = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    sample = json.loads((ROOT / "fixtures/claude/blocked__bash_permission__w60.json").read_text(encoding="utf-8"))
    assert sample.keys() - facts.keys() <= {"expect"}
    assert (facts["pane_current_command"], facts["cursor_flag"], facts["alternate_on"]) == ("cat", "1", "0")
    again = agents(server, *words, "--what", "a b", env=env)
    assert again.returncode == 1 and "exists" in again.stderr
    assert file.read_text(encoding="utf-8") == text
    assert server.cmd("show-options", "-p", "-t", pane) == before


@pytest.mark.parametrize(
    "words",
    [
        ["--capture"],
        ["--capture", "-t", "nonsense"],
        ["--capture", "-t", "%0", "--what", "../x"],
        ["--capture", "-t", "%0", "--agent", "../x"],
        ["--capture", "-t", "%0", "file"],
        ["-t", "%0"],
    ],
)
def test_what_cannot_be_captured(server: Server, tmp_path: Path, words: list[str]) -> None:
    done = agents(server, "screen", *words, "--into", str(tmp_path))
    assert done.returncode == 2 and done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.glob("**/*.txt")) == []


def test_a_pane_that_is_not_there(server: Server, tmp_path: Path) -> None:
    done = agents(server, "screen", "--capture", "-t", "%999", "--into", str(tmp_path))
    assert done.returncode == 1 and "does not exist" in done.stderr
