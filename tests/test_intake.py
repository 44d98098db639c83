"""Events of agents in real panes: who may speak for a pane, what is published of it, and that nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.actor import HOOK, Actor
from tests.stage import BLOCKED, IDLE, WORKING, Stage
from tests.support import ROOT, Server, wait_for

SESSION = "01a22e10-50ac-7901-944a-bd161a85cc22"


@pytest.fixture
def stage(server: Server) -> Stage:
    """A stage whose clock is behind no process: events are stamped by the machine's own."""
    return Stage(server)


def catch_up(stage: Stage) -> None:
    """Let the clock by hand be the machine's again: spool files carry its time."""
    stage.clock.wall = max(stage.clock.wall, int(time.time() * 1000))


def tell(stage: Stage, actor: Actor, event: str, hook: Path = HOOK, agent: str = "", **payload: Any) -> None:
    """Fire an event and pass once."""
    data = {"session_id": "s1", "prompt_id": "p1", **payload}
    actor.fire(event, data, agent, hook)
    catch_up(stage)
    stage.step(10)


def spool(server: Server) -> list[Path]:
    return list((server.home / ".local/state/agents.tmux/spool").glob("*"))


def around(server: Server, name: str, text: str) -> Path:
    """A program that stands between an agent and the hook."""
    file = server.base / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


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


def test_ls_tells_how_to_go_on(stage: Stage) -> None:
    """`resume`, quoted for a shell; a hostile id stays an argument."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go", session_id="x; touch P")
    done = subprocess.run(
        [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "ls", "--json"],
        env=stage.server.inside() | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    row = json.loads(done.stdout)["agents"][0]
    assert (row["session_id"], row["resume"]) == ("x; touch P", "claude --resume 'x; touch P'")
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


# --- who may speak for a pane


@pytest.mark.parametrize(
    "text",
    [
        'exec "{hook}" "$@"',
        'unset TMUX TMUX_PANE\nexec "{hook}" "$@"',
        'TMUX_PANE=%0 exec "{hook}" "$@"',
        '"{hook}" "$@"\n:',
        'bash -c \'"$0" "$@"; :\' "{hook}" "$@"\n:',
    ],
    ids=["plain", "case-073-077-stripped", "inherited-pane", "through-sh", "through-sh-and-bash"],
)
def test_the_processes_above_the_hook_say_whose_it_is(stage: Stage, text: str) -> None:
    if "bash" in text and not shutil.which("bash"):
        pytest.skip("no bash")
    actor = Actor(stage.server)
    hook = around(stage.server, "around", text.replace("{hook}", str(HOOK)))
    tell(stage, actor, "UserPromptSubmit", hook, prompt="go")
    assert actor.state() == "working"


def test_case_074_two_agents_in_one_directory_keep_apart(stage: Stage) -> None:
    first, second = Actor(stage.server), Actor(stage.server)
    tell(stage, first, "UserPromptSubmit", prompt="go", session_id="a")
    tell(stage, second, "SessionStart", source="startup", session_id="b")
    tell(stage, first, "PermissionRequest", tool_name="Bash", session_id="a")
    assert (first.state(), second.state()) == ("blocked/permission", "idle")
    assert (first.option("@agent_session_id"), second.option("@agent_session_id")) == ("a", "b")


@pytest.mark.parametrize("named", [True, False], ids=["case-130-names-the-pane", "case-075-names-none"])
def test_nobody_speaks_for_a_pane_from_outside(stage: Stage, named: bool) -> None:
    """The variable alone proves nothing; the event stays for whoever it belongs to."""
    actor = Actor(stage.server)
    actor.show(IDLE)
    stage.step()
    env = stage.server.inside(actor.pane) if named else {**stage.server.env, "TMUX": "", "TMUX_PANE": ""}
    payload = json.dumps({"session_id": "s1", "tool_name": "Bash"})
    subprocess.run([HOOK, "claude", "PermissionRequest"], env=env, input=payload, text=True, timeout=20, check=True)
    catch_up(stage)
    stage.step(10)
    assert actor.state() == "idle"
    assert len(spool(stage.server)) == 1


@pytest.mark.parametrize("alive", [True, False], ids=["running", "ended"])
def test_case_079_an_agent_run_by_the_agent_does_not_speak_for_it(stage: Stage, alive: bool) -> None:
    """`claude -p` in a tool call: its start and its end are not the owner's, whether it still runs or not."""
    actor = Actor(stage.server)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    child = stage.server.base / "actors" / "claude"
    told = stage.server.base / "told"
    inner = around(stage.server, "inner", f'shift\n"{HOOK}" "$@"\n: > {told}\n{"sleep 30" if alive else ":"}')
    run = f'"{child}" "{inner}" -p "$@" < {stage.server.base}/said'
    wait = f"& while [ ! -e {told} ]; do sleep 0.02; done; rm {told}" if alive else ""
    hook = around(stage.server, "around", f"cat > {stage.server.base}/said\n{run} {wait}")
    for event in ("SessionStart", "Stop"):
        tell(stage, actor, event, hook, session_id="other", source="startup", background_tasks=[])
    assert (actor.state(), actor.option("@agent_session_id")) == ("working", "s1")


def test_case_080_a_headless_run_in_a_pane_is_no_agent(stage: Stage) -> None:
    actor = Actor(stage.server, args=("-p",))
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    assert actor.state() == ""


def test_a_program_nobody_knows_is_an_agent_while_its_events_come_from_it(stage: Stage) -> None:
    """Registered by its own word; gone with its process."""
    actor = Actor(stage.server, name="wrapped", folder="claude")
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == ""
    tell(stage, actor, "UserPromptSubmit", agent="claude", prompt="go")
    assert actor.option("@agent_name") == "claude"
    assert actor.state() == "blocked/permission", "from now on its screen is read too"
    actor.quit()
    wait_for(lambda: actor.pane not in stage.server.cmd("list-panes", "-a", "-F", "#{pane_id}").split(), what="gone")
    stage.step()
    assert stage.server.global_option("@agents_summary") == ""


def test_what_an_agent_left_behind_registers_no_shell(stage: Stage) -> None:
    """SessionEnd is heard after its process ended: only the shell it ran in is still there (case 81)."""
    server = stage.server
    Actor(server)  # the script and the program
    place = server.base / "actors"
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude SessionEnd')
    pane = server.window("exec bash --norc --noprofile -i")
    server.cmd("send-keys", "-t", pane, f"{place}/claude {inner}", "Enter")
    wait_for(lambda: spool(server), what="the event")
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "bash", what="shell back")
    catch_up(stage)
    stage.step(10)
    assert server.option(pane, "@agent_state") == ""


# --- Codex: hooks of every window run in the first one's daemon


def daemon(server: Server) -> Path:
    """A hook that runs below `codex app-server`."""
    program = server.base / "actors" / "codex"
    inner = around(server, "inner", f'shift\n"{HOOK}" "$@"\n: > {server.base}/told\nsleep 30')
    return around(
        server,
        "daemon",
        f"cat > {server.base}/said\nrm -f {server.base}/told\n"
        f'"{program}" "{inner}" app-server "$@" < {server.base}/said &\n'
        f"while [ ! -e {server.base}/told ]; do sleep 0.02; done",
    )


def test_events_of_a_shared_daemon_are_nobodys_without_the_conversation(stage: Stage) -> None:
    """Not the pane's whose environment the daemon has."""
    actor = Actor(stage.server, name="codex")
    actor.draw("nothing we know")
    stage.step()
    tell(stage, actor, "PermissionRequest", daemon(stage.server), session_id=SESSION, turn_id="t1", tool_name="Bash")
    assert actor.state() == "unknown"


def test_events_of_a_shared_daemon_go_where_the_conversation_is(stage: Stage) -> None:
    """The first window's daemon tells of the second one, which names the conversation itself."""
    first = Actor(stage.server, name="codex")
    second = Actor(stage.server, name="codex", args=("resume", SESSION))
    for actor in (first, second):
        actor.draw("nothing we know")
    stage.step()
    hook = daemon(stage.server)
    tell(stage, first, "UserPromptSubmit", hook, session_id=SESSION, turn_id="t1", prompt="go")
    tell(stage, first, "PermissionRequest", hook, session_id=SESSION, turn_id="t1", tool_name="Bash")
    assert (first.state(), second.state()) == ("unknown", "blocked/permission")
    tell(stage, first, "Stop", hook, session_id="other", turn_id="t9")
    assert (first.state(), second.state()) == ("unknown", "blocked/permission")


def test_a_conversation_in_two_panes_is_in_neither(stage: Stage) -> None:
    both = [Actor(stage.server, name="codex", args=("resume", SESSION)) for _ in range(2)]
    for actor in both:
        actor.draw("nothing we know")
    stage.step()
    tell(stage, both[0], "UserPromptSubmit", daemon(stage.server), session_id=SESSION, turn_id="t1", prompt="go")
    assert [actor.state() for actor in both] == ["unknown", "unknown"]


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
