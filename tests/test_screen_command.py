"""`agents screen`: one row a file, in the form other tools read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures_index import ROOT

KEYS = ["schema", "file", "agent", "state", "detail", "rule", "skip", "rules"]


def agents(*words: str, home: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT.parent), "LC_ALL": "C"}
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "agents_plugin", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=env,
        input=stdin,
        timeout=30,
        check=False,
    )


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_row(tmp_path: Path) -> None:
    file = str(ROOT / "claude" / "blocked__bash_permission__w60.txt")
    done = agents("screen", "--json", file, home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = rows(done)
    assert [key for key in KEYS if key not in row] == []
    assert (row["schema"], row["file"], row["agent"]) == (1, file, "claude")
    assert (row["state"], row["detail"], row["rule"], row["skip"]) == ("blocked", "permission", "permission", False)
    by_name = {rule["rule"]: rule for rule in row["rules"]}
    assert by_name["permission"]["matched"] is True and by_name["permission"]["failed"] is None
    assert by_name["question"]["matched"] is False and "to navigate" in by_name["question"]["failed"]


def test_a_menu_is_a_skip_without_a_state(tmp_path: Path) -> None:
    (row,) = rows(agents("screen", "--json", str(ROOT / "claude" / "idle__menu_model__w60.txt"), home=tmp_path))
    assert (row["state"], row["rule"], row["skip"]) == (None, "menu", True)


@pytest.mark.parametrize("agent", ["claude", "claude-2.1.197"])
def test_agent_and_title_without_facts(tmp_path: Path, agent: str) -> None:
    screen = tmp_path / "saved.txt"
    screen.write_text("● Hello.\n\n" + "─" * 60 + "\n❯\n" + "─" * 60 + "\n  ⏸ manual mode on\n")
    (row,) = rows(agents("screen", "--agent", agent, "--json", str(screen), home=tmp_path))
    assert (row["agent"], row["state"]) == ("claude", "idle")
    (row,) = rows(agents("screen", "--agent", agent, "--title", "⠂ topic", "--json", str(screen), home=tmp_path))
    assert (row["state"], row["rule"]) == ("working", "title")


def test_facts_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "saved.txt").write_text("› Ask Codex to do anything\n\n  model · dir\n")
    (tmp_path / "saved.json").write_text(json.dumps({"agent": "codex", "pane_title": "⠋ work", "cursor_flag": "1"}))
    (row,) = rows(agents("screen", "--json", str(tmp_path / "saved.txt"), home=tmp_path))
    assert (row["agent"], row["state"]) == ("codex", "working")


def test_what_is_wrong_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    good = str(ROOT / "codex" / "idle__fresh__w60.txt")
    done = agents("screen", str(tmp_path / "missing.txt"), good, home=tmp_path)
    assert done.returncode == 1 and "missing.txt" in done.stderr and "idle" in done.stdout
    (tmp_path / "anonymous.txt").write_text("hello\n")
    done = agents("screen", str(tmp_path / "anonymous.txt"), good, home=tmp_path)
    assert done.returncode == 2 and "--agent" in done.stderr and "idle" in done.stdout
    assert agents("screen", "--agent", "nobody", good, home=tmp_path).returncode == 2
    assert agents("screen", home=tmp_path).returncode == 2


def test_user_manifest_and_a_runaway_one(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "agents.tmux" / "manifests"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("schema: 1\nid: mine\nrules:\n  - { id: slow, state: blocked, line: '^(a+)+$' }\n")
    (own / "broken.yaml").write_text("schema: 1\nid: broken\nrules: 7\n")
    done = agents("screen", "--agent", "mine", "--json", "-", home=tmp_path, stdin="a" * 300 + "!")
    (row,) = rows(done)
    assert row["state"] is None
    assert "broken.yaml:3: rules: must be a list" in done.stderr
    assert "mine.yaml: rule slow was stopped" in done.stderr


@pytest.mark.parametrize(
    "command", [("screen", "-"), ("replay", "--agent", "claude", "tape")], ids=["screen", "replay"]
)
def test_a_directory_of_manifests_that_cannot_be_listed_is_said(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    for place, why in (("none\x1b[2Jthere", "No such file"), ("file", "Not a directory")):
        done = agents(*command, "--manifests", str(tmp_path / place), home=tmp_path)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "")
        assert line.startswith(f"agents {command[0]}: --manifests {tmp_path}") and why in line and "\x1b" not in line


def test_unknown_command_and_help(tmp_path: Path) -> None:
    assert agents("nonsense", home=tmp_path).returncode == 2
    done = agents("help", home=tmp_path)
    assert done.returncode == 0 and "screen" in done.stdout
