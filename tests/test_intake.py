"""Events of agents in real panes: what is published of them, ill treatment, and that nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.actor import HOOK, Actor
from tests.stage import WORKING, Stage
from tests.support import ROOT, Server, wait_for
from tests.telling import around, catch_up, spool, tell


@pytest.fixture
def stage(server: Server) -> Stage:
    """A stage whose clock is behind no process: events are stamped by the machine's own."""
    return Stage(server)


# --- what is published


def test_a_turn_by_events_alone(stage: Stage) -> None:
    """States, text, conversation, subagents, marks, with a screen that says nothing; nothing is left in the spool."""
    actor = Actor(stage.server)
    actor.draw("nothing we know")
    tell(stage, actor, "SessionStart", source="startup")
    assert (actor.state(), actor.option("@agent_source"), actor.option("@agent_session_id")) == ("idle", "hook", "s1")
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    assert actor.state() == "working"
    tell(stage, actor, "PreToolUse", tool_name="Bash", tool_input={"command": "make #[fg=red]all"})
    assert actor.option("@agent_status_text") == "Bash make ##[fg=red]all"
    tell(stage, actor, "PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    assert (actor.state(), actor.option("@agent_attention")) == ("blocked/permission", "1")
    assert stage.server.global_option("@agents_queue") == f"{actor.pane} "
    tell(stage, actor, "SubagentStart", agent_id="a1")
    assert actor.option("@agent_subagents") == "1"
    tell(stage, actor, "PostToolUse", tool_name="Bash")
    assert actor.state() == "working"
    tell(stage, actor, "Stop", background_tasks=[])
    assert (actor.state(), actor.option("@agent_subagents")) == ("idle", "")
    assert actor.option("@agent_turn_at")
    assert spool(stage.server) == []


def test_a_prompt_takes_the_mark_down_a_task_notification_does_not(stage: Stage) -> None:
    """Who typed has seen it, without any client to tell."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    tell(stage, actor, "Stop", background_tasks=[])
    assert actor.option("@agent_attention") == "1"
    tell(stage, actor, "UserPromptSubmit", prompt="<task-notification>", prompt_id="p2")
    assert (actor.state(), actor.option("@agent_attention")) == ("working", "1")
    tell(stage, actor, "UserPromptSubmit", prompt="more", prompt_id="p2")
    assert (actor.state(), actor.option("@agent_attention")) == ("working", "")


@pytest.mark.parametrize(
    ("session", "resume"),
    [("s-1.x", "claude --resume s-1.x"), ("x; touch P", None), ("--dangerously-skip-permissions", None)],
)
def test_ls_tells_how_to_go_on(session: str, resume: str | None, stage: Stage) -> None:
    """`resume` for what is plainly an id; anything else could become an option or a command of its own."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go", session_id=session)
    done = subprocess.run(
        [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "ls", "--json"],
        env=stage.server.inside() | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    row = json.loads(done.stdout)["agents"][0]
    assert (row["session_id"], row["resume"]) == (session, resume)
    assert row["confidence"] == "declared"


def test_a_text_is_written_every_two_seconds_at_most(stage: Stage) -> None:
    """Ten tools in two seconds: two texts, and the last one stands in the end."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    texts = []
    for number in range(10):
        tell(stage, actor, "PreToolUse", tool_name="Bash", tool_input={"command": f"step {number}"})
        stage.step(190)
        texts.append(actor.option("@agent_status_text"))
    assert len(set(texts)) <= 2
    stage.step(2_000)
    assert actor.option("@agent_status_text") == "Bash step 9"


def test_a_pass_after_the_events_is_quiet(stage: Stage) -> None:
    """Heard once, written once: not a byte more to a client."""
    actor = Actor(stage.server)
    actor.show(WORKING)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    client = stage.server.attach("main", 100, 30)
    stage.step()
    before = client.settle()
    for _ in range(5):
        stage.step(300)
    assert client.settle() == before


# --- ill treatment, restarts


@pytest.mark.parametrize(
    "payload",
    ["", "{", '{"session_id": "s1"', "\\x00", "[" * 5_000, '{"a": "' + "x" * 1_200_000 + '"}'],
    ids=["nothing", "broken", "cut", "junk", "deep", "huge"],
)
def test_an_event_counts_by_its_name_when_its_payload_is_unreadable(stage: Stage, payload: str) -> None:
    actor = Actor(stage.server)
    actor.fire("UserPromptSubmit", payload)
    catch_up(stage)
    stage.step(10)
    assert actor.state() == "working"
    assert spool(stage.server) == []


def test_what_was_not_written_is_heard_again(stage: Stage) -> None:
    """A helper that is gone before it wrote leaves the event where it was."""
    actor = Actor(stage.server)
    actor.show(WORKING)
    stage.step()
    actor.fire("PermissionRequest", {"session_id": "s1", "tool_name": "Bash"})
    catch_up(stage)
    stage.cycle.judge(stage.cycle.observe()[0])
    assert (actor.state(), len(spool(stage.server))) == ("working", 1)
    stage.cycle = stage.fresh()
    stage.step(10)
    assert (actor.state().split("/")[0], len(spool(stage.server))) == ("blocked", 0)


def test_an_event_that_comes_late_takes_back_what_followed_it(stage: Stage) -> None:
    """The end of a turn, told after the end of its last tool was published."""
    actor = Actor(stage.server)
    said = {"session_id": "s1", "prompt_id": "p1"}
    start = int(time.time() * 1000) - 900
    for event, at_ms in (("UserPromptSubmit", start), ("PostToolUse", start + 800), ("Stop", start + 600)):
        file = actor.fire(event, {**said, "prompt": "go", "background_tasks": []})
        os.utime(file, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
        catch_up(stage)
        stage.step(10)
        assert actor.state() == ("idle" if event == "Stop" else "working")


def test_a_helper_that_starts_again_goes_on_with_what_was_said(stage: Stage) -> None:
    """Subagents and the conversation from what was kept; without it the claim alone stands."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    tell(stage, actor, "SubagentStart", agent_id="a1")
    kept = json.loads(json.dumps(stage.cycle.remember()))
    stage.cycle = stage.fresh()
    stage.cycle.recall(kept, only_voices=True)
    stage.step(500)
    assert (actor.state(), actor.option("@agent_subagents")) == ("working", "1")
    tell(stage, actor, "SubagentStop", agent_id="a1")
    tell(stage, actor, "Stop", background_tasks=[])
    assert (actor.state(), actor.option("@agent_subagents")) == ("idle", "")
    stage.cycle = stage.fresh()
    stage.step(500)
    assert (actor.state(), actor.option("@agent_session_id")) == ("idle", "s1")
    tell(stage, actor, "PostToolUse", tool_name="Bash")
    assert actor.state() == "idle", "still known: that turn is over"


def test_what_one_agent_said_is_not_held_against_the_next(stage: Stage) -> None:
    """Another process in the same pane begins anew."""
    server = stage.server
    Actor(server)
    place = server.base / "actors"
    pane = server.window("exec bash --norc --noprofile -i")
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude UserPromptSubmit\nwhile :; do sleep 0.2; done')
    server.cmd("send-keys", "-t", pane, f"{place}/claude {inner}", "Enter")

    def state() -> str:
        catch_up(stage)
        stage.step(10)
        return server.option(pane, "@agent_state")

    wait_for(lambda: state() == "working", what="working")
    server.cmd("send-keys", "-t", pane, "C-c")
    wait_for(lambda: state() == "", what="stamps gone")
    quiet = around(server, "quiet", "while :; do sleep 0.2; done")
    server.cmd("send-keys", "-t", pane, f"{place}/claude {quiet}", "Enter")
    wait_for(lambda: state() != "", what="the next one")
    assert server.option(pane, "@agent_state") == "unknown"


def test_case_158_two_servers_take_their_own(stage: Stage, tmp_path: Path) -> None:
    """One spool, the same pane ids: each takes what comes from its own panes."""
    (tmp_path / "second").mkdir()
    other = Server(stage.server.binary, tmp_path / "second", label="u")
    other.env["HOME"], other.home = stage.server.env["HOME"], stage.server.home
    try:
        other.start()
        second = Stage(other)
        here, there = Actor(stage.server), Actor(other)
        assert here.pane == there.pane
        here.fire("UserPromptSubmit", {"session_id": "a", "prompt": "go"})
        there.fire("PermissionRequest", {"session_id": "b", "tool_name": "Bash"})
        for place in (stage, second, stage):
            catch_up(place)
            place.step(10)
        assert (here.state(), there.state()) == ("working", "blocked/permission")
        assert spool(other) == []
    finally:
        other.kill()


def test_case_010_old_events_go_by_themselves(stage: Stage) -> None:
    """Ten minutes, then nobody wants them any more."""
    actor = Actor(stage.server)
    file = actor.fire("UserPromptSubmit", {"session_id": "s1", "prompt": "go"})
    os.utime(file, (time.time() - 700, time.time() - 700))
    catch_up(stage)
    stage.step(10)
    assert (actor.state(), file.exists()) == ("unknown", False)
