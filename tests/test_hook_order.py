"""Subagents, background work, foreign conversations and the order of events, as stories."""

from __future__ import annotations

import pytest

from agents_plugin.core.fold import Facts, Sight
from tests.lane import ALL, NOTHING
from tests.stories import COMPOSER, DIALOG, SPINNER, Story, asking, resting

# --- E: subagents and background work

SHELL = {"id": "b1", "type": "shell", "status": "running"}


@pytest.mark.parametrize("background", [True, False], ids=["case-060-on", "case-060-off"])
def test_a_background_shell_is_nobodys_move(background: bool) -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    story.lane.background = background
    story.say("Stop", background_tasks=[SHELL])
    assert story.look(1_000, COMPOSER) == "idle/background"


@pytest.mark.parametrize("background", [True, False], ids=["on", "off"])
def test_a_live_background_agent_has_the_move_unless_the_user_says_otherwise(background: bool) -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    story.lane.background = background
    story.say("Stop", background_tasks=[{"id": "a1", "type": "subagent", "status": "running"}, SHELL])
    assert story.look(1_000, NOTHING) == ("working/background" if background else "idle/background")
    assert story.memory.subagents == ("a1",)


def test_a_task_notification_is_work_but_nobodys_prompt() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("Stop", background_tasks=[])
    person = story.memory.person_ms
    story.say("UserPromptSubmit", prompt="<task-notification>\n<task-id>x</task-id>", prompt_id="p2")
    assert story.claimed == "working"
    assert story.memory.person_ms == person > 0


def test_case_063_a_scheduled_wake_up_is_marked() -> None:
    assert Story().say("Stop", background_tasks=[], session_crons=[{"id": 1}]).claimed == "idle/scheduled"


def test_case_064_the_stop_of_a_subagent_is_not_the_panes() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("Stop", agent_id="x", background_tasks=[])
    assert story.claimed == "working"


def test_case_065_the_end_of_a_subagent_ends_no_turn() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Task", tool_input={})
    story.say("SubagentStart", agent_id="x")
    assert len(story.memory.subagents) == 1
    story.say("SubagentStop", agent_id="x")
    assert (story.claimed, len(story.memory.subagents)) == ("working", 0)
    assert story.say("Stop", background_tasks=[]).claimed == "idle"


def test_case_066_a_subagent_that_ends_late_revives_nothing() -> None:
    story = resting()
    story.lane.now += 5_000
    story.say("SubagentStop", agent_id="x")
    assert story.look(1_000, COMPOSER) == "idle"


@pytest.mark.parametrize("end", ["Stop", "SessionStart"])
def test_case_067_ghosts_go_with_the_turn_and_with_the_session(end: str) -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    for agent in ("a", "b", "c"):
        story.say("SubagentStart", agent_id=agent)
    story.say("SubagentStop", agent_id="a")
    assert story.memory.subagents == ("b", "c")
    if end == "Stop":
        story.say("Stop", background_tasks=[])
    else:
        story.say("SessionStart", source="clear", session_id="s2")
    assert (len(story.memory.subagents), story.claimed) == (0, "idle")


def test_case_069_an_end_that_overtakes_its_start() -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    story.say("SubagentStop", agent_id="x").say("SubagentStart", agent_id="x")
    assert not story.memory.subagents
    story.lane.now += 60_000
    assert story.say("SubagentStart", agent_id="x").memory.subagents == ("x",), "the same one, woken again"


def test_case_070_a_childs_rest_is_not_the_roots_and_a_strangers_is_nobodys() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("session.created", sessionID="kid", info={"id": "kid", "parentID": "root"})
    assert len(story.memory.subagents) == 1
    assert story.say("session.idle", sessionID="kid").claimed == "working"
    assert not story.memory.subagents
    assert story.say("session.idle", sessionID="stranger").claimed == "working"
    assert story.say("session.idle").claimed == "idle"


@pytest.mark.parametrize("event", ["permission.asked", "permission.updated", "permission.ask"])
def test_case_071_all_spellings_of_a_request(event: str) -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    assert story.say(event, id="per_1", title="touch x").claimed == "blocked/permission"


def test_case_072_a_turn_that_ends_with_agents_alive_works_on() -> None:
    story = Story("qwen").say("UserPromptSubmit", prompt="go")
    story.say("Stop", background_tasks=[{"id": "g", "status": "running", "agent_type": "general-purpose"}])
    story.say("Notification", notification_type="idle_prompt", prompt_id=None)
    assert story.claimed == "working/background"
    story.say("SubagentStop", agent_id="g", prompt_id=None).say("MessageDisplay", prompt_id="p2")
    assert story.claimed == "working"
    assert story.say("Stop", prompt_id="p2", background_tasks=[]).claimed == "idle"


# --- F, headless and foreign conversations


def test_case_079_another_conversation_changes_nothing() -> None:
    story = Story().say("SessionStart", source="startup").say("UserPromptSubmit", prompt="go")
    for event in ("UserPromptSubmit", "Stop", "PermissionRequest", "SessionEnd"):
        story.say(event, session_id="other", prompt_id="o1")
    assert (story.claimed, story.memory.session) == ("working", "s1")


def test_case_096_an_event_without_its_conversation_is_that_of_the_only_one() -> None:
    story = Story().say("SessionStart", source="startup").say("UserPromptSubmit", session_id=None, prompt="go")
    assert (story.claimed, story.memory.session) == ("working", "s1")
    story.say("Stop", session_id=None, background_tasks=[])
    assert (story.claimed, story.memory.session) == ("idle", "s1")


def test_case_096_of_two_conversations_it_ends_neither_and_a_request_counts() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("session.created", sessionID="kid", info={"id": "kid", "parentID": "root"})
    story.say("session.idle", sessionID=None).say("session.error", sessionID=None, error={"name": "APIError"})
    assert (story.claimed, story.memory.subagents) == ("working", ("kid",))
    assert story.say("permission.asked", sessionID=None, id="per_1").claimed == "blocked/permission"
    story.say("permission.replied", sessionID=None, requestID="per_1").say("session.idle", sessionID="kid")
    assert story.claimed == "working"
    assert story.say("session.idle", sessionID=None).claimed == "idle", "one is left"


# --- order


def test_a_session_that_starts_late_undoes_nothing() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("SessionStart", source="startup")
    assert story.claimed == "working"
    story = Story().say("UserPromptSubmit", prompt="go").say("SessionStart", ago=5, source="startup")
    assert story.claimed == "working"


def test_two_channels_tell_one_end() -> None:
    story = Story("codex").say("UserPromptSubmit", prompt="go").say("Stop")
    story.look(100, COMPOSER)
    turn, raised = story.verdict.turn_at_ms, story.lane.raised
    story.lane.now += 400
    for _ in range(2):
        story.say(
            "notify",
            type="agent-turn-complete",
            session_id=None,
            turn_id=None,
            ago=0,
            **{"thread-id": "s1", "turn-id": "t1"},
        )
        story.look(100, COMPOSER)
    assert (story.verdict.turn_at_ms, story.lane.raised) == (turn, raised)


def test_a_hidden_thread_ends_no_turn() -> None:
    story = Story("codex").say("SessionStart").say("UserPromptSubmit", prompt="go")
    title = ["Generate a concise, single-line task title of at most 36 characters"]
    more = {"thread-id": "t9", "turn-id": "x", "input-messages": title}
    assert (
        story.say("notify", type="agent-turn-complete", session_id=None, turn_id=None, ago=0, **more).claimed
        == "working"
    )


def test_the_second_of_two_queued_turns_ends_too() -> None:
    story = Story().say("UserPromptSubmit", prompt="one").say("UserPromptSubmit", prompt="two")
    story.say("Stop", background_tasks=[])
    first = story.memory.claim
    story.say("Stop", prompt_id="p2", background_tasks=[])
    assert story.memory.claim and first and story.memory.claim.at_ms > first.at_ms


def test_an_event_older_than_the_claim_changes_nothing() -> None:
    story = asking()
    story.say("PostToolUse", ago=60_000, tool_name="Read")
    assert story.look(10, DIALOG) == "blocked/permission"
    story.say("Stop", background_tasks=[])
    story.look(10, COMPOSER)
    assert story.say("PermissionRequest", ago=30_000, tool_name="Bash").claimed == "idle"


def test_rules_that_see_nothing_hold_what_was_said() -> None:
    story = Story(sight=Sight(ALL, frozenset())).say("UserPromptSubmit", prompt="go")
    story.lane.facts = Facts()
    assert {story.look(60_000, NOTHING) for _ in range(20)} == {"working"}


def test_a_request_outside_a_turn_was_opened_by_the_user() -> None:
    story = Story("pi").say("session_start", reason="startup")
    assert story.say("ui_prompt_start", kind="select", title="Theme?").claimed == "idle"
    story.say("agent_start").say("ui_prompt_start", kind="select", title="Allow?")
    assert story.claimed == "blocked"
    assert story.say("ui_prompt_end", kind="select").claimed == "working"


def test_other_work_beside_a_request_leaves_it_open() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("permission.asked", id="per_1", permission="bash").say("tool.execute.after")
    assert story.claimed == "blocked/permission"
    story.say("permission.asked", id="per_2", permission="edit").say("permission.replied", requestID="per_1")
    assert story.claimed == "blocked/permission"
    assert story.say("permission.replied", requestID="per_2").claimed == "working"


def test_an_interrupt_that_is_told_raises_no_mark() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.look(1_000, SPINNER)
    story.say("session.error", error={"name": "MessageAbortedError"}).say("session.idle").say("session.idle")
    assert story.look(100, COMPOSER) == "idle/interrupted"
    assert not story.lane.marked


def test_a_request_delivered_twice_is_one_request() -> None:
    """Two hook entries of one plugin: the second copy comes when the answer is already there."""
    story = asking()
    story.lane.now += 500
    story.say("PostToolUse", tool_name="Bash")
    story.lane.now += 400
    story.say("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    assert story.claimed == "working"
    story.lane.now += 5_000
    story.say("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    assert story.claimed == "blocked/permission", "asked again"
