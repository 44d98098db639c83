"""What commands print: no word, file name, log or exception of anybody's reaches the terminal as it is."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.__main__ import names
from agents_plugin.streams import cleaned, painted
from tests.cli import agents
from tests.support import ROOT, Server

ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CLIPBOARD = "x\x1b]52;c;ZXZpbA==\x07\x1b[31m\x9b31m\u202ey\nagents: all is well"
#: Where text may be written as it is: the stream itself, and a file that is made of it.
WRITERS = {"streams.py", "terminal.py", "rollup.py", "__main__.py"}


def printed(*args: str, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "agents_plugin" / "__main__.py", *args],
        env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=40,
        check=False,
    )
    return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", [CLIPBOARD, *names()])
def test_no_hostile_word_acts_upon_the_terminal(bare_server: Server, name: str, tmp_path: Path) -> None:
    for args in ([name], [name, CLIPBOARD], [name, f"--{CLIPBOARD}"], [name, "-t", CLIPBOARD], [name, "-S", CLIPBOARD]):
        if name in ("monitor", "pass") and len(args) == 1:
            continue
        said = printed(*args, env=bare_server.env, cwd=tmp_path)
        assert not ACTIVE.search(said), f"{args}: {said!r}"
        assert "\nagents: all is well" not in said, "a word made a line of its own"


@pytest.mark.parametrize(
    "args",
    [
        ["screen"],
        ["screen", "--agent", "claude"],
        ["screen", "--agent", "claude", "--json"],
        ["screen", "--agent", CLIPBOARD],
        ["replay", "--agent", "claude"],
        ["replay", "--agent", CLIPBOARD],
        ["screen", "--manifests", CLIPBOARD],
        ["replay", "--agent", "claude", "--manifests", CLIPBOARD],
    ],
    ids=range(8),
)
def test_no_file_name_acts_upon_the_terminal(bare_server: Server, args: list[str], tmp_path: Path) -> None:
    there = tmp_path / CLIPBOARD.replace("/", "")
    there.write_text(f"{CLIPBOARD}\n> \n")
    for file in (str(there), f"not there {CLIPBOARD}", "\udc9b31m"):
        said = printed(*args, file, env=bare_server.env, cwd=tmp_path)
        assert said
        assert not ACTIVE.search(said), f"{args}: {said!r}"
        assert not re.search("^agents: all is well", said, re.MULTILINE)
    if "--json" in args:
        rows = [json.loads(line) for line in printed(*args, str(there), env=bare_server.env, cwd=tmp_path).splitlines()]
        assert [row["file"] for row in rows] == [str(there)], "JSON keeps the original"


def test_a_traceback_acts_upon_nothing(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from agents_plugin.streams import install; install()\n"
        f"raise ValueError({CLIPBOARD!r})\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, check=False, timeout=20)
    assert b"ValueError: x" in done.stderr
    assert not ACTIVE.search(done.stderr.decode("utf-8", "surrogateescape"))


def test_every_run_prints_through_the_cleaner() -> None:
    main = str(ROOT / "agents_plugin" / "__main__.py")
    code = (
        f"import runpy, sys; sys.argv = [{main!r}, 'version']\n"
        f"try: runpy.run_path({main!r}, run_name='__main__')\n"
        f"except SystemExit: print({CLIPBOARD!r}); print({CLIPBOARD!r}, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, check=True, timeout=20)
    for said in (done.stdout, done.stderr):
        assert b"agents: all is well" in said
        assert not ACTIVE.search(said.decode("utf-8", "surrogateescape"))


def test_texts_of_panes_reach_nobody_raw(server: Server) -> None:
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "working")
    for option in ("@agent_status_text", "@agent_detail", "@agent_name", "@agent_display_name"):
        server.cmd("set-option", "-p", "-t", "%0", option, CLIPBOARD)
    server.cmd("set-option", "-g", "@agents-glyph-working", CLIPBOARD)
    for args in (["ls"], ["ls", "--json"], ["ls", "--all"], ["explain", "-t", "%0"], ["explain", "-t", "%0", "--json"]):
        done = agents(server, *args)
        assert not ACTIVE.search(done.stdout + done.stderr), f"{args}: {done.stdout!r}"
    for args in (["doctor"], ["doctor", "--json"], ["status"], ["status", "--json"], ["integrations"]):
        done = agents(server, *args)
        assert not ACTIVE.search(done.stdout + done.stderr), f"{args}: {done.stdout!r}"


@given(st.lists(st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]m0;31\x07\n")), max_size=30), max_size=6))
def test_only_what_was_painted_keeps_its_colour(texts: list[str]) -> None:
    out = io.StringIO()
    stream = cleaned(out)
    for text in texts:
        stream.write(text + painted(text, "31") + text)
    said = out.getvalue()
    for text in texts:
        said = said.replace(painted(text, "31"), "")
    assert not ACTIVE.search(said)
    assert cleaned(stream) is stream


def test_nothing_else_prints() -> None:
    """A new command prints by `terminal.emit`, `emit_json`, `streams.note` or `complain`."""
    for path in sorted((ROOT / "agents_plugin").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())) if path.name not in WRITERS else ():
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called != "print", f"{path}:{node.lineno}"
                assert not re.match(r"sys\.(__)?std(out|err)(__)?\.(write|buffer)|os\.write\(1", called), path


def test_without_a_python_neither(bare_server: Server, tmp_path: Path) -> None:
    home = tmp_path / CLIPBOARD.replace("/", "").replace("\n", " ")
    data = home / "agents.tmux"
    data.mkdir(parents=True)
    (data / "bootstrap.log").write_text(f"error: {CLIPBOARD}\\033]52;c;eA==\\007\n")
    env = {**bare_server.env, "XDG_DATA_HOME": str(home)}
    for command in ("doctor", "ls", CLIPBOARD):
        done = subprocess.run(
            [ROOT / "scripts" / "agents", command],
            env=env,
            capture_output=True,
            check=False,
            timeout=20,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
        assert "no" in said
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said), repr(said)
