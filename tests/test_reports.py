"""How long a report lives: with the program that made it, whichever way it came; and what the same word again means."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from agents_plugin.core.plan import Published
from agents_plugin.core.reporter import Reporter, reporter
from agents_plugin.core.trees import Proc
from tests.actor import Actor
from tests.cli import load
from tests.stage import BLOCKED, Stage
from tests.support import ROOT, Server, stays, wait_for

#: `agents report` as a pane of a test can run it.
REPORT = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-B", "-m", "agents_plugin", "report"])
#: Without a target tmux means the active pane of the session, wherever the program runs.
RAW = 'tmux set -p -t "$TMUX_PANE" @agent_state'
SHELL = "exec bash --norc --noprofile -i"


def published(stage: Stage, pane: str) -> tuple[str, str]:
    """State and source after the clock has caught up and a pass was made."""
    stage.clock.wall = max(stage.clock.wall, int(time.time() * 1000))
    stage.step(10)
    return stage.server.option(pane, "@agent_state"), stage.server.option(pane, "@agent_source")


def typed(stage: Stage, pane: str, line: str) -> None:
    """Type a line at a prompt and wait until the command has ended."""
    stage.server.cmd("send-keys", "-t", pane, "-l", f"{line}; echo over''$?")
    stage.server.cmd("send-keys", "-t", pane, "Enter")
    wait_for(lambda: "over0" in stage.server.screen(pane), what=line)


def script(server: Server, report: str) -> Path:
    """A shell script that reports itself working and then works until it is told to end."""
    file = server.base / "job.sh"
    file.write_text(
        f"#!/bin/bash\n{report} working\ntouch {server.base}/said\n"
        f"while [ ! -e {server.base}/end ]; do sleep 0.1; done\n"
    )
    file.chmod(0o755)
    return file


WAYS = pytest.mark.parametrize("report", [REPORT, RAW], ids=["command", "option"])


@WAYS
def test_what_a_person_typed_lives_with_the_shell_for_ten_minutes(stage: Stage, report: str) -> None:
    """Passes run while the command does: it is not the reporter, nor is what is started in the pane later."""
    server, pane = stage.server, stage.server.window(SHELL)
    server.cmd("send-keys", "-t", pane, f"{report} working; echo over''$?", "Enter")
    wait_for(lambda: published(stage, pane)[0] == "working" and "over0" in server.screen(pane), what="working")
    stays(lambda: published(stage, pane) == ("working", "report"), 1.0)
    since, owner = (server.option(pane, name) for name in ("@agent_since", "@agent_pid"))
    assert owner == server.format(pane, "#{pane_pid}")
    server.cmd("send-keys", "-t", pane, "sleep 1000", "Enter")
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "sleep", what="another program")
    for _ in range(3):
        stage.step(3_000)
    assert [server.option(pane, name) for name in ("@agent_state", "@agent_since", "@agent_pid")] == [
        "working",
        since,
        owner,
    ]
    stage.step(601_000)
    assert server.option(pane, "@agent_state") == ""


@WAYS
def test_the_report_of_a_script_ends_with_it(stage: Stage, report: str) -> None:
    server, pane = stage.server, stage.server.window(SHELL)
    server.cmd("send-keys", "-t", pane, str(script(server, report)), "Enter")
    wait_for((server.base / "said").exists, what="reported")
    assert published(stage, pane) == ("working", "report")
    stage.step(601_000)
    assert server.option(pane, "@agent_state") == "working", "a program that lives is believed"
    (server.base / "end").touch()
    wait_for(lambda: published(stage, pane)[0] == "", timeout=5, what="the report ended with its program")


def test_a_script_that_ended_before_anybody_looked_says_nothing(stage: Stage) -> None:
    server, pane = stage.server, stage.server.window(SHELL)
    (server.base / "end").touch()
    typed(stage, pane, str(script(server, REPORT)))
    assert server.option(pane, "@agent_state").startswith("working:")
    assert published(stage, pane)[0] == ""
    assert server.option(pane, "@agent_state") == ""


def test_a_shell_inside_of_the_shell_takes_its_word_with_it(stage: Stage) -> None:
    server, pane = stage.server, stage.server.window(SHELL)
    server.cmd("send-keys", "-t", pane, "bash --norc --noprofile -i", "Enter")
    wait_for(lambda: server.screen(pane).count("$") > 1, what="the second prompt")
    typed(stage, pane, f"{REPORT} blocked")
    stays(lambda: published(stage, pane) == ("blocked", "report"), 0.5)
    server.cmd("send-keys", "-t", pane, "exit", "Enter")
    wait_for(lambda: published(stage, pane)[0] == "", timeout=5, what="gone with its shell")


def test_a_program_that_reports_through_a_shell_is_the_reporter(stage: Stage) -> None:
    """The `sh -c` of a hook ends at once; the program that ran it goes on."""
    server, pane = stage.server, stage.server.window(SHELL)
    command = f"{REPORT} blocked --agent mybot; true"
    file = server.base / "bot.py"
    file.write_text(
        f"import subprocess, time\nsubprocess.run({command!r}, shell=True)\n"
        "print('said', flush=True)\ntime.sleep(999)\n"
    )
    server.cmd("send-keys", "-t", pane, f"{sys.executable} {file}", "Enter")
    wait_for(lambda: "said" in server.screen(pane), what="reported")
    stays(lambda: published(stage, pane) == ("blocked", "report"), 0.5)
    server.cmd("send-keys", "-t", pane, "C-c")
    wait_for(lambda: published(stage, pane)[0] == "", timeout=5, what="gone with its program")


def proc(pid: int, ppid: int, *argv: str) -> Proc:
    return Proc(pid, ppid, pid, argv[0].rsplit("/", 1)[-1][:15], argv)


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ([("-bash",)], Reporter(1, typed=True)),
        ([("-bash",), ("zsh",)], Reporter(2, typed=True)),
        ([("-bash",), ("timeout", "5", "agents", "report", "working")], Reporter(1, typed=True)),
        ([("-bash",), ("/bin/sh", "./job.sh")], Reporter(2)),
        ([("-bash",), ("bash", "-c", "agents report working; sleep 9")], Reporter(2)),
        ([("-bash",), ("make", "all"), ("/bin/sh", "-c", "agents report working; cc x.c")], Reporter(2)),
        ([("-bash",), ("node", "/opt/bot.js"), ("sh", "-c", "x"), ("env", "A=1", "agents", "report")], Reporter(2)),
        ([("sh", "-c", "agents report blocked; exec sleep 9")], Reporter(1)),
        ([("mybot",)], Reporter(1)),
        ([], None),
    ],
    ids=lambda value: " ".join(word[0] for word in value) if isinstance(value, list) else "",
)
def test_who_made_a_report(above: list[tuple[str, ...]], expected: Reporter | None) -> None:
    """`above`: the processes from the pane's own, which is number 1, down to the parent of the command."""
    table = {number: proc(number, number - 1, *argv) for number, argv in enumerate(above, 1)}
    command = len(above) + 1
    table[command] = proc(command, len(above), "python3", "-m", "agents_plugin", "report", "working")
    assert reporter(command, table, 1) == expected


# --- the word that is published already


@pytest.mark.versions
def test_a_bare_report_of_what_the_screen_said_is_a_report(stage: Stage) -> None:
    load(stage.server)
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    assert published(stage, actor.pane) == ("blocked", "screen")
    since, seen = actor.option("@agent_since"), actor.option("@agent_evidence_at")
    stage.server.cmd("set-option", "-p", "-t", actor.pane, "@agent_state", "blocked")
    assert published(stage, actor.pane)[0] == "blocked"
    kept = stage.server.hidden()[f"AGENTS_{actor.pane[1:]}_CLAIM"]
    assert kept.startswith("blocked|") and "|report|" in kept
    assert f"AGENTS_{actor.pane[1:]}_SAID" not in stage.server.hidden()
    assert (actor.option("@agent_since"), actor.option("@agent_evidence_at") >= seen) == (since, True)


@pytest.mark.versions
def test_a_bare_report_after_another_word_is_a_new_run(stage: Stage) -> None:
    """`working` and `blocked` again between two passes: the token is the old one, the run is not."""
    server = stage.server
    load(server)
    pane = server.window("exec sleep 1000")
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")
    assert published(stage, pane) == ("blocked", "report")
    since = int(server.option(pane, "@agent_since"))
    server.cmd("set-option", "-pu", "-t", pane, "@agent_attention")
    time.sleep(1.1)
    server.cmd(
        "set-option",
        "-p",
        "-t",
        pane,
        "@agent_state",
        "working",
        ";",
        "set-option",
        "-p",
        "-t",
        pane,
        "@agent_state",
        "blocked",
    )
    assert published(stage, pane) == ("blocked", "report")
    assert int(server.option(pane, "@agent_since")) >= since + 1_000
    assert server.option(pane, "@agent_evidence_at") == server.option(pane, "@agent_since")
    assert server.option(pane, "@agent_attention") == "1"


@pytest.mark.versions
def test_the_same_bare_report_again_is_fresh_evidence_and_redraws_nothing(stage: Stage) -> None:
    server = stage.server
    load(server)
    pane = server.window("exec sleep 1000")
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "working")
    assert published(stage, pane) == ("working", "report")
    server.cmd("set-option", "-g", "status-interval", "0")
    claim, since = server.hidden()[f"AGENTS_{pane[1:]}_CLAIM"], server.option(pane, "@agent_since")
    client = server.attach("main")
    stage.clock.advance(2_000)
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "working")
    received = client.settle()
    assert published(stage, pane) == ("working", "report")
    assert server.hidden()[f"AGENTS_{pane[1:]}_CLAIM"] > claim
    assert server.option(pane, "@agent_since") == since
    stays(lambda: client.received == received, 0.5, what="nothing was drawn")


@pytest.mark.parametrize("said", ["", "1", "2.17", "0.", "0.x", f"0.{'9' * 40}"])
def test_only_what_our_hook_notes_counts(said: str) -> None:
    one = Published("%1", {"@agent_state": "blocked"}, state="blocked", said=said)
    assert not one.again and not one.foreign and not one.returned
    assert one.said_ms(5_000) == 5_000


def test_the_time_of_a_word_said_again_is_never_ahead() -> None:
    one = Published("%1", {"@agent_state": "blocked"}, state="blocked", said="1.17")
    assert one.again and one.foreign and one.returned
    assert (one.said_ms(17_200), one.said_ms(99_000)) == (17_200, 17_999)
