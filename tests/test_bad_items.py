"""One item that makes its reader fail is left out and named; every other is served, in this pass and the next."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agents_plugin.cycle
import agents_plugin.events
import agents_plugin.owners
import agents_plugin.reports
from agents_plugin.core.hookrules import build_hooks
from agents_plugin.core.hooks import interpret, session_in
from agents_plugin.core.plan import Published
from agents_plugin.host.faults import _KEPT, NAMED, STAYS_S, Faults
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.host.runtime import open_runtime
from agents_plugin.host.spool import Spool
from agents_plugin.subject import Subject
from tests.actor import Actor
from tests.stage import BLOCKED, WORKING, Stage
from tests.support import ROOT, Server
from tests.telling import spool, tell


class UnthoughtOf(Exception):
    """What no reader expects."""


def pane_in(arguments: tuple[object, ...]) -> str:
    """Which pane a call is about."""
    for one in arguments:
        if isinstance(one, Subject):
            return one.row.pane_id
        for name in ("pane_id", "row", "published"):
            found = getattr(one, name, None)
            if found is not None:
                return found if isinstance(found, str) else str(found.pane_id)
    return ""


def failing(real: Callable[..., Any], pane: str) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        if pane_in(arguments) == pane or pane in arguments:
            raise UnthoughtOf(f"in \x1b]52;c;{'x' * 500}\x07 {pane}")
        return real(*arguments, **more)

    return call


@pytest.mark.parametrize(
    "place",
    [
        (agents_plugin.reports, "parse_report"),
        (agents_plugin.cycle, "plan_look"),
        (agents_plugin.cycle, "situation"),
        (agents_plugin.cycle, "plan"),
        (agents_plugin.cycle, "paced"),
        (agents_plugin.cycle, "alert_due"),
        (agents_plugin.cycle, "unmark"),
        (agents_plugin.cycle, "waiting"),
        (agents_plugin.owners, "identify"),
        (Published, "of"),
    ],
    ids=lambda place: place[1],
)
def test_a_pane_that_fails_anywhere_costs_no_other(
    stage: Stage, place: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = Actor(stage.server), Actor(stage.server)
    for actor in (bad, good):
        actor.show(WORKING)
    stage.step()
    assert (bad.state(), good.state()) == ("working", "working")
    stage.server.cmd("set-option", "-p", "-t", bad.pane, "@agent_state", "working:1")
    stage.cycle = stage.fresh()
    name = {"parse_report": "working:1"}.get(place[1], bad.pane)
    monkeypatch.setattr(*place, failing(getattr(*place), name))
    good.show(BLOCKED)
    stage.step()
    stage.step()
    assert good.state() == "blocked/permission"
    assert bad.state() in ("working", "working:1")  # as it was
    (problem,) = stage.cycle.faults.problems
    assert bad.pane in problem and "UnthoughtOf" in problem and "\x1b" not in problem and len(problem) < 400


def test_a_record_that_fails_is_no_record(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    monkeypatch.setattr(stage.cycle.records, "read", failing(lambda *_: None, "claude-sessions"))
    stage.step()
    assert actor.state() == "blocked/permission"
    assert "the record of pane" in stage.cycle.faults.problems[0]


@pytest.mark.parametrize("name", ["pane_of_event", "interpret", "key_of"])
def test_an_event_that_fails_is_tried_once_and_named(stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = Actor(stage.server), Actor(stage.server)
    for actor in (bad, good):
        actor.draw("nothing we know")
    bad_file = bad.fire("UserPromptSubmit", {"session_id": "s1", "prompt": "evil"})
    (event,) = Spool(bad_file.parent).pending(int(time.time() * 1000))
    mark = str(event.ancestors[0][0]) if name == "pane_of_event" else "evil"
    real, calls = getattr(agents_plugin.events, name), []

    def call(*arguments: Any) -> Any:
        if mark in str(arguments[0] if name == "pane_of_event" else arguments):
            calls.append(arguments)
            raise UnthoughtOf
        return real(*arguments)

    monkeypatch.setattr(agents_plugin.events, name, call)
    tell(stage, good, "UserPromptSubmit", prompt="go")
    for _ in range(3):
        stage.step()
    assert good.state() == "working"
    assert bad.option("@agent_source") != "hook"
    assert len(calls) == 1
    assert spool(stage.server) == [bad_file]  # it expires where it is
    assert f"hook event {bad_file.name} was left out: UnthoughtOf" in stage.cycle.faults.problems[0]


def test_a_spool_file_that_fails_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import agents_plugin.host.spool as module
    from tests.test_spool import now, put

    put(tmp_path, "1.0")
    put(tmp_path, "2.0")
    real, calls = module.read, []

    def read(path: Path, *more: Any) -> Any:
        calls.append(path.name)
        if path.name == "1.0":
            raise UnthoughtOf
        return real(path, *more)

    monkeypatch.setattr(module, "read", read)
    faults = Faults()
    reader = Spool(tmp_path, faults)
    for _ in range(3):
        assert [event.path.name for event in reader.pending(now())] == ["2.0"]
    assert sorted(calls) == ["1.0", "2.0"]
    assert "1.0" in faults.problems[0]


@pytest.mark.parametrize("value", ["~no-such-user/x", "\udcff", "x" * 5000])
def test_a_directory_of_manifests_nobody_can_have(stage: Stage, value: str) -> None:
    stage.server.cmd("set-option", "-g", "@agents-manifests", value)
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == "blocked/permission"


def test_what_was_remembered_and_does_not_fit(stage: Stage) -> None:
    """The file may be of another version, or somebody's."""
    signal = {"at_ms": "x", "event": 5, "key": None}
    voice = {"agent": "claude", "pid": 1, "started": None, "base": {"recent": 7}, "signals": [signal, signal]}
    stage.cycle.recall({"%1": {"voice": voice}, "%2": {"memory": {"chrome": []}}, "stays": [[1]], "%3": 5})
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == "blocked/permission"


# --- expressions of a person's own manifest

EVIL = "a" * 60 + "!"
SLOW = {"on": "Stop", "when": {"message": {"regex": "^(a+)+$"}}, "state": "idle"}


def test_a_hook_rule_that_runs_away_is_stopped_and_named() -> None:
    guard = AlarmGuard()
    hooks = build_hooks({"events": [SLOW, {"on": "Go", "state": "working"}]}, "mine.yaml")
    begun = time.process_time()
    assert interpret(hooks, "Stop", {"message": EVIL}, 1, "k", guard) is None
    assert interpret(hooks, "Stop", {"message": EVIL}, 1, "k", guard) is None  # barred: costs nothing
    assert time.process_time() - begun < 0.5
    assert interpret(hooks, "Go", {}, 1, "k", guard) is not None
    assert guard.problems == ["mine.yaml: hooks of Stop was stopped after 50 ms"]


def test_a_session_command_that_runs_away_is_stopped_and_named() -> None:
    guard = AlarmGuard()
    hooks = build_hooks({"events": [SLOW], "session_command": "^(?P<id>(a+)+)$"}, "mine.yaml")
    assert session_in(hooks, EVIL, guard) == "" == session_in(hooks, "aaa", guard)
    assert guard.problems == ["mine.yaml: hooks.session_command was stopped after 50 ms"]
    assert session_in(build_hooks({"events": [SLOW], "session_command": "x(?P<id>b)?"}), "x") == ""


OWN = (
    "schema: 1\nid: {0}\nidentity: {{names: [{0}], title: '{1}'}}\n"
    "hooks:\n  events:\n    - {{on: Stop, when: {{message: {{regex: '^(a+)+$'}}}}, state: idle}}\n"
)


def test_expressions_of_titles_and_hooks_hang_no_pass(stage: Stage) -> None:
    place = stage.server.home / ".config/agents.tmux/manifests"
    place.mkdir(parents=True)
    (place / "mine.yaml").write_text(OWN.format("mine", "^(a+)+$"))
    mine, claude = Actor(stage.server, "mine", "claude"), Actor(stage.server)
    mine.draw("hello", EVIL)
    claude.show(BLOCKED)
    mine.fire("Stop", {"message": EVIL})
    begun = time.process_time()
    for _ in range(4):
        stage.clock.wall = max(stage.clock.wall, int(time.time() * 1000))
        stage.step()
    assert time.process_time() - begun < 3
    assert claude.state() == "blocked/permission"
    said = " ".join(stage.cycle.guard.problems)
    assert "mine.yaml: identity.title" in said


# --- what is said of it


def test_notes_are_bounded_and_end() -> None:
    faults = Faults(KeyError)
    for number in range(1000):
        with faults.item(f"thing {number:03} " + "x" * 10_000):
            raise ValueError("y" * 10_000)
    assert len(faults.problems) == NAMED + 1 and faults.problems[-1] == f"and {_KEPT - NAMED} more"
    assert all(len(line) < 400 for line in faults.problems)
    with pytest.raises(KeyError), faults.item("a pass"):
        raise KeyError
    faults._noted = dict.fromkeys(faults._noted, time.monotonic() - STAYS_S - 1)
    assert faults.problems == []


def test_doctor_names_what_was_left_out(server: Server) -> None:
    environ = {**server.env, "PYTHONDONTWRITEBYTECODE": "1"}
    runtime = open_runtime(server.pid, server.env)
    runtime.problem("input", "hook event 77.1 was left out: ValueError at x.py:5; pane %3 was left out: TypeError")
    runtime.problem("pass", "a pass ended in KeyError at y.py:7; states stay as they were")
    done = subprocess.run(
        [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "doctor", "-S", server.socket],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert any("hook event 77.1 was left out" in line and "pane %3" not in line for line in lines)
    assert any("pass: a pass ended in KeyError at y.py:7" in line for line in lines)


def test_a_command_that_fails_says_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from agents_plugin import __main__
    from agents_plugin.commands import ls

    def run(args: object) -> int:
        raise UnthoughtOf("with\n\x1b[31mcolour")

    monkeypatch.setattr(ls, "run", run)
    assert __main__.main(["ls"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "UnthoughtOf at test_bad_items.py:" in said and "\x1b" not in said
