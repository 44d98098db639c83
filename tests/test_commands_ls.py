"""`agents ls` and `agents status` on real servers."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents_plugin.core.text import width
from agents_plugin.tmux.runner import server_executable
from tests.actor import Actor
from tests.cli import agents, asked, asked_json, load, one_pass
from tests.support import ROOT, Server, TmuxBinary, stays, wait_for


def state(server: Server, target: str, value: str) -> None:
    server.cmd("set-option", "-p", "-t", target, "@agent_state", value)


def everything(server: Server) -> tuple[str, str, str]:
    """What a write of ours would change."""
    panes = server.cmd("list-panes", "-a", "-F", "#{pane_id}").split()
    options = "\n".join(server.run("show-options", "-p", "-t", pane).stdout for pane in panes)
    return options, server.cmd("show-options", "-g"), server.cmd("show-environment", "-gh")


def test_ls_lists_what_is_published_and_how_the_owner_was_found(server: Server) -> None:
    actor = Actor(server)
    actor.show("blocked__bash_permission__w100")
    one_pass(server)
    state(server, "main:0", f"working:{int(time.time())}")
    first, second = asked_json(server, "ls")["agents"]
    assert (first["pane"], first["agent"], first["state"], first["detail"]) == (
        actor.pane,
        "claude",
        "blocked",
        "permission",
    )
    assert (first["identity"], first["confidence"], first["source"], first["pid"]) == (
        "foreground",
        "proven",
        "screen",
        actor.pid,
    )
    assert (first["needs_you"], first["attention"], first["done"]) == (True, True, False)
    assert first["host"] == socket.gethostname()
    assert first["server"] == server.socket
    assert (second["state"], second["source"], second["confidence"]) == ("working", "report", "unverified")


@pytest.mark.parametrize("detail", ["permission", "a_detail_of_thirty_one_letters_a"])
def test_a_muted_pane_is_said_to_be_muted(server: Server, detail: str) -> None:
    asked(server, "report", "blocked", "-t", "%0", "--detail", detail)
    one_pass(server)
    server.cmd("set-option", "-p", "-t", "%0", "@agent_mute_until", str(int(time.time() * 1000) + 60_000))
    (line,) = asked(server, "ls").splitlines()[1:]
    assert line.split(" (muted)")[0].endswith(("blocked/permission", "blocked/a_detail_of…"))
    assert all(width(line) <= 100 for line in asked(server, "ls").splitlines())


def test_an_agent_before_its_first_pass_is_unknown(server: Server) -> None:
    actor = Actor(server)
    (row,) = asked_json(server, "ls")["agents"]
    assert (row["pane"], row["state"], row["source"], row["confidence"]) == (actor.pane, "unknown", None, "none")


def test_ls_and_status_write_nothing_and_redraw_nothing(server: Server) -> None:
    load(server)
    state(server, "main:0", "blocked:1700000000")
    server.cmd("set-option", "-g", "status-interval", "0")
    client = server.attach("main")
    before = everything(server)
    received = client.settle()
    asked(server, "ls", "--all")
    asked(server, "status", "--json")
    asked(server, "explain", "-t", server.format("main:0", "#{pane_id}"))
    assert everything(server) == before
    stays(lambda: client.received == received, 0.5, what="nothing was drawn")


def test_all_says_why_a_pane_is_no_agent(server: Server) -> None:
    place = server.base / "far"
    place.mkdir()
    (place / "ssh").symlink_to("/bin/sleep")
    plain = server.format("main:0", "#{pane_id}")
    ignored = server.window("sleep 1000")
    server.cmd("set-option", "-p", "-t", ignored, "@agent_ignore", "1")
    remote = server.window(f"exec {place}/ssh 1000")
    data = asked_json(server, "ls", "--all")
    assert data["agents"] == []
    why = {row["pane"]: row["why"] for row in data["others"]}
    assert why == {plain: "no agent", ignored: "ignored (@agent_ignore)", remote: "remote or nested: ssh"}
    assert "others" not in asked_json(server, "ls")
    text = asked(server, "ls", "--all")
    assert "no agent in any pane" in text
    assert "remote or nested: ssh" in text


def test_case_126_127_hostile_names_run_nothing_and_are_shown_as_text(bare_server: Server, tmp_path: Path) -> None:
    server, trap = bare_server, tmp_path / "trap"
    directory = tmp_path / f"p'$(touch {trap.name})'q"
    directory.mkdir()
    text = f"#(touch {trap}) #{{E:x}} #[bg=red]"
    # Set by a program's escape sequences: select-pane -T and rename-window would expand it, which is tmux's doing.
    (tmp_path / "title").write_text(f"\033kw{text}\033\\\033]2;t{text}{'y' * 500}\007")
    program = f"sleep 1; cat {tmp_path}/title; exec cat"
    server.cmd(
        "start-server",
        ";",
        "set-option",
        "-g",
        "allow-rename",
        "on",
        ";",
        "new-session",
        "-d",
        "-s",
        "x; touch trap #",
        "-x",
        "80",
        "-y",
        "24",
        "-c",
        str(directory),
        program,
    )
    pane = server.cmd("list-panes", "-a", "-F", "#{pane_id}")
    wait_for(lambda: "yyy" in server.cmd("list-panes", "-a", "-F", "#{pane_title}"), what="the title")
    for name, value in (("@agent_display_name", text), ("@agent_status_text", text), ("@agent_state", "blocked:1")):
        server.cmd("set-option", "-p", "-t", pane, name, value)
    (row,) = asked_json(server, "ls")["agents"]
    assert (row["display_name"], row["status_text"]) == (text, text)
    assert row["dir"] == str(directory)
    # tmux 3.8 itself takes the bite out of titles: `_(`.
    assert "(touch" in row["title"]
    assert "(touch" in row["window_name"]
    human = asked(server, "ls", env={"COLUMNS": "120"})
    assert "#(touch" in human
    for command in (("explain", "-t", pane), ("status",), ("doctor",)):
        agents(server, *command)
    assert all(line.isprintable() and width(line) <= 120 for line in human.splitlines())
    assert not trap.exists()


def test_the_table_is_cut_to_the_terminal(server: Server) -> None:
    state(server, "main:0", "working:1700000000")
    server.cmd("rename-window", "-t", "main:0", "日本語の長い名前" * 4)
    for columns in (30, 60):
        lines = asked(server, "ls", env={"COLUMNS": str(columns)}).splitlines()
        assert len(lines) == 2
        assert all(width(line) <= columns for line in lines)


def test_marks_are_ascii_where_asked_or_needed(server: Server) -> None:
    state(server, "main:0", "working:1700000000")
    assert "●" in asked(server, "ls")
    ascii_only = agents(server, "ls", env={"PYTHONIOENCODING": "ascii"})
    assert ascii_only.returncode == 0
    assert "*  working" in ascii_only.stdout
    load(server)
    server.cmd("agents-rollup")
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert asked(server, "status", env=bare) == "*1\n"
    assert asked_json(server, "status", env=bare)["status"] == "●1"
    server.cmd("set-option", "-g", "@agents-glyphs", "ascii")
    assert "●" not in asked(server, "ls")


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_colour_on_a_terminal_only(server: Server, terminal: bool) -> None:
    state(server, "main:0", "blocked:1700000000")
    master, slave = pty.openpty()
    out = slave if terminal else subprocess.PIPE
    env = {**server.inside(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "agents_plugin", "ls"],
        env=env,
        stdout=out,
        stdin=subprocess.DEVNULL,
        timeout=40,
        check=True,
    )
    os.close(slave)
    said = os.read(master, 65536) if terminal else done.stdout
    os.close(master)
    assert (b"\x1b[31m" in said) == terminal
    assert b"blocked" in said


@pytest.mark.parametrize(
    "command", ["ls", "ls --all", "status", "status --json", "pass", "jump", "doctor", "uninstall"]
)
def test_case_163_a_server_without_a_single_pane(server: Server, command: str) -> None:
    """Nothing to list is an ordinary answer, or one clear line; no tool is called with an empty list."""
    server.cmd("set-option", "-s", "exit-empty", "off")
    load(server)
    server.cmd("kill-session", "-t", "main")
    done = agents(server, *command.split())
    assert not [word for word in ("usage:", "Traceback", "unknown command") if word in done.stdout + done.stderr]
    assert done.returncode == (command in ("jump", "doctor")), done.stderr
    assert len(done.stderr.splitlines()) <= 1
    assert server.run("list-sessions").stdout == ""


def test_status_is_the_segment_without_styles(server: Server) -> None:
    load(server)
    assert asked(server, "status") == "\n"
    state(server, "main:0", "blocked:1700000000")
    state(server, server.window(), "working:1700000000")
    server.cmd("agents-rollup")
    assert asked(server, "status") == "▲1 ●1\n"
    data = asked_json(server, "status")
    assert (data["schema"], data["blocked"], data["working"], data["needs_you"]) == (1, 1, 1, 1)
    assert data["status"] == "▲1 ●1"


def test_case_158_two_servers_never_cross(server: Server, tmux_bin: TmuxBinary, tmp_path: Path) -> None:
    other = Server(tmux_bin, tmp_path / "b", label="b", beside=server)
    try:
        other.start()
        state(other, "%0", "blocked:1700000000")
        assert asked_json(server, "ls")["agents"] == []
        (row,) = asked_json(server, "ls", "-L", "b")["agents"]
        assert (row["pane"], row["server"]) == ("%0", other.socket)
        assert asked_json(server, "ls", "-S", other.socket)["agents"][0]["state"] == "blocked"
    finally:
        other.kill()


COMMANDS = [("ls",), ("ls", "--json"), ("status",), ("jump",), ("explain", "-t", "%0"), ("report", "idle", "-t", "%0")]


@pytest.mark.parametrize("command", [*COMMANDS, ("uninstall",)], ids=" ".join)
def test_no_server_is_one_clear_line(bare_server: Server, command: tuple[str, ...]) -> None:
    done = agents(bare_server, *command, pane=None)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"agents {command[0]}: no tmux server at /tmp/")
    assert not Path(bare_server.socket).exists()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_case_167_a_stale_socket_is_no_server_and_starts_none(bare_server: Server, command: tuple[str, ...]) -> None:
    Path(bare_server.socket).parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(bare_server.socket)
    done = agents(bare_server, *command, "-S", bare_server.socket, pane=None)
    assert done.returncode == 1
    assert "nobody listens" in done.stderr
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(bare_server.socket)


@pytest.mark.parametrize(
    "command",
    [("ls", "--nope"), ("status", "x"), ("explain",), ("report",), ("jump", "-c"), ("doctor", "-L"), ("nothing",)],
    ids=" ".join,
)
def test_bad_usage_is_exit_2(server: Server, command: tuple[str, ...]) -> None:
    assert agents(server, *command).returncode == 2


@pytest.mark.parametrize("command", [("explain",), ("report", "idle")], ids=lambda words: str(words[0]))
@pytest.mark.parametrize("pane", ["%1; touch P", "1", "%", "%1a", "%-1", "%１", "%1\n", "main:0", "", "#(touch P)"])
def test_case_128_only_a_pane_id_is_a_target(server: Server, command: tuple[str, ...], pane: str) -> None:
    done = agents(server, *command, "-t", pane)
    assert done.returncode == 2
    assert "not a pane id" in done.stderr


@pytest.mark.parametrize("words", ["protocol version mismatch (client 8, server 7)", "server exited unexpectedly"])
def test_case_123_a_client_of_another_version_is_said(server: Server, tmp_path: Path, words: str) -> None:
    bad = tmp_path / "bin"
    bad.mkdir()
    (bad / "tmux").write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    (bad / "tmux").chmod(0o755)
    # Without the server's pid its own executable cannot be asked instead.
    done = agents(server, "ls", "-S", server.socket, pane=None, env={"PATH": f"{bad}:/usr/bin:/bin"})
    assert done.returncode == 1
    assert "different versions" in done.stderr
    if not server_executable(server.pid):
        return  # a tmux that was unpacked for tests runs under its loader's name
    # With it the command works all the same.
    assert json.loads(agents(server, "ls", "--json", env={"PATH": f"{bad}:/usr/bin:/bin"}).stdout)["schema"] == 1
