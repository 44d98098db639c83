"""Reported faults of tools that listen to agents, as stories: events and screens in, the right answer out."""

from __future__ import annotations

import pytest

from agents_plugin.core.evidence import Reading
from tests.lane import NOTHING
from tests.stories import COMPOSER, DIALOG, INTERRUPTED, SPINNER, Story, asking, resting

# --- A: working that never ends


@pytest.mark.parametrize("agent", ["claude", "codex"], ids=["case-001-claude", "case-003-codex"])
def test_interrupted_without_an_event(agent: str) -> None:
    story = Story(agent).say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    assert story.look(1_000, SPINNER) == "working"
    shown = [story.look(1_000, INTERRUPTED) for _ in range(4)]
    assert shown[-1] == "idle/interrupted"
    assert not story.lane.marked


def test_case_002_five_minutes_after_an_interrupt_the_screen_has_long_decided() -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    assert story.look(1_000, SPINNER) == "working"
    assert [story.look(1_000, COMPOSER) for _ in range(5)][-1] == "idle"
    assert story.look(300_000, COMPOSER) == "idle"


@pytest.mark.parametrize(
    ("reading", "state"), [(INTERRUPTED, "idle/interrupted"), (SPINNER, "working")], ids=["at-rest", "spinner"]
)
def test_case_004_a_dialog_dismissed_with_esc(reading: Reading, state: str) -> None:
    story = asking()
    assert [story.look(1_000, reading) for _ in range(3)][-1] == state


@pytest.mark.parametrize("error", ["rate_limit", "api_error"])
def test_case_006_an_error_ends_the_turn(error: str) -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    story.look(1_000, SPINNER)
    story.say("StopFailure", error=error, last_assistant_message="API Error: 429")
    assert story.look(1_000, COMPOSER) == ("idle/rate_limit" if error == "rate_limit" else "idle/error")
    assert story.lane.marked and story.verdict.text == "API Error: 429"


def test_case_007_failures_of_helpers_change_nothing() -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    story.look(1_000, SPINNER)
    story.say("Stop", background_tasks=[{"id": str(n), "type": "subagent", "status": "running"} for n in range(9)])
    assert story.look(100, NOTHING) == "working/background"
    for number in range(3):
        story.say("StopFailure", error="rate_limit", prompt_id=f"p{number}")
        assert story.look(1_000, NOTHING) == "working/background"
    assert story.lane.raised == 0


def test_case_007_a_failure_in_the_middle_of_a_turn_is_taken_back_by_the_next_tool() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("StopFailure", error="x")
    assert story.look(1_000, NOTHING) == "idle/error"
    story.say("PreToolUse", tool_name="Bash", tool_input={})
    assert story.look(1_000, SPINNER) == "working"


def test_case_008_nine_prompts_that_bounce_are_told() -> None:
    story = resting()
    story.lane.marked = False
    for number in range(9):
        story.say("UserPromptSubmit", prompt="scheduled", prompt_id=f"q{number}")
        story.say("StopFailure", error="rate_limit", prompt_id=f"q{number}")
    assert story.look(1_000, COMPOSER) == "idle/rate_limit"
    assert story.lane.marked


def test_case_009_compaction_ends_at_rest() -> None:
    story = resting()
    story.say("PreCompact", trigger="manual", prompt_id="p2")
    assert story.look(500, NOTHING) == "working/compacting"
    story.say("UserPromptSubmit", prompt="This session is being continued from a previous conversation …")
    story.say("SessionStart", source="compact", prompt_id="p2").say("PostCompact", trigger="manual", prompt_id="p2")
    assert story.look(1_000, COMPOSER) == "idle"


def test_case_009_compaction_within_a_turn_goes_on() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreCompact", trigger="auto")
    story.say("SessionStart", source="compact").say("PostCompact", trigger="auto")
    assert story.look(1_000, NOTHING) == "working"


def test_case_009_clear_is_idle_and_was_done_by_a_person() -> None:
    story = resting()
    since = story.verdict.since_ms
    story.say("SessionEnd", reason="clear").say("SessionStart", source="clear", session_id="s2")
    assert story.look(1_000, COMPOSER) == "idle"
    assert story.verdict.since_ms == since
    assert story.memory.person_ms > since, "the mark comes down"
    assert story.memory.session == "s2"


def test_case_010_the_end_of_a_compaction_revives_no_session() -> None:
    story = Story().say("SessionEnd", reason="prompt_input_exit").say("PostCompact", trigger="auto")
    assert story.claimed == "idle"
    assert Story().say("SessionEnd", reason="other").say("PreToolUse", tool_name="Bash").claimed == "idle"


def test_case_012_a_turn_without_its_end_is_ended_by_the_screen() -> None:
    story = Story("gemini").say("BeforeAgent", prompt="hello")
    assert story.look(1_000, SPINNER) == "working"
    assert [story.look(1_000, COMPOSER) for _ in range(4)][-1] == "idle"
    story.say("BeforeAgent", prompt="")
    assert story.look(1_000, COMPOSER) == "idle"


def test_case_017_a_late_tool_end_revives_nothing() -> None:
    story = resting()
    story.lane.now += 200
    story.say("PostToolUse", tool_name="Bash")
    assert story.look(10, NOTHING) == "idle"
    story.say("PreToolUse", tool_name="Bash", prompt_id="p2")
    assert story.look(10, NOTHING) == "working", "another turn: a message that was queued"


def test_case_018_events_that_overtake_each_other() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("session.status", status={"type": "idle"}).say("session.status", ago=2, status={"type": "busy"})
    assert story.claimed == "idle"
    same = story.lane.now
    for kind in ("idle", "busy"):
        story.tell("session.status", {"sessionID": "root", "status": {"type": kind}, "n": 2}, same)
    assert story.claimed == "idle"


def test_case_019_thinking_is_work_from_the_prompt_on() -> None:
    story = Story().say("UserPromptSubmit", prompt="think")
    assert story.look(10, NOTHING) == "working"
    assert story.look(60_000, SPINNER) == "working"
    story.say("Stop", background_tasks=[])
    assert story.look(10, NOTHING) == "idle"


@pytest.mark.parametrize(
    ("reading", "state"), [(DIALOG, "blocked/permission"), (SPINNER, "working"), (COMPOSER, "idle")]
)
def test_case_020_silence_is_read_from_the_screen(reading: Reading, state: str) -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    story.look(600_000, NOTHING)
    assert [story.look(1_000, reading) for _ in range(4)][-1] == state


def test_case_021_work_comes_back_after_idle() -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    assert [story.look(1_000, COMPOSER) for _ in range(6)][-1] == "idle"
    assert story.look(1_000, SPINNER) == "working"


def test_case_022_a_tool_that_runs_for_45_minutes_works() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    assert {story.look(60_000, NOTHING) for _ in range(45)} == {"working"}


# --- B: blocked that is not shown


def test_case_023_a_late_notification_is_no_news() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    assert story.look(500, DIALOG) == "blocked/permission"
    since, raised = story.verdict.since_ms, story.lane.raised
    story.lane.now += 7_500
    story.say("Notification", notification_type="permission_prompt")
    assert story.look(10, DIALOG) == "blocked/permission"
    assert (story.verdict.since_ms, story.lane.raised) == (since, raised)


def test_case_023_a_notification_after_the_answer_does_not_block() -> None:
    story = asking()
    assert story.look(1_000, SPINNER) == "blocked/permission"
    assert story.look(1_500, SPINNER) == "working"
    story.say("Notification", notification_type="permission_prompt")
    assert story.look(1_000, SPINNER) == "working"
    story.say("PostToolUse", tool_name="Bash").say("Notification", notification_type="permission_prompt")
    assert story.look(1_000, SPINNER) == "working"


def test_case_024_without_a_notification_the_screen_tells() -> None:
    story = Story().say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name="Bash", tool_input={})
    assert story.look(1_000, DIALOG) == "blocked/permission"


def test_case_025_a_question_in_plan_mode() -> None:
    story = Story().say("UserPromptSubmit", prompt="go", permission_mode="plan")
    ask = {"questions": [{"question": "Which database?"}]}
    story.say("PreToolUse", permission_mode="plan", tool_name="AskUserQuestion", tool_input=ask)
    assert story.look(100, NOTHING) == "blocked/question"
    assert story.verdict.text == "Which database?"
    story.say("PostToolUse", tool_name="AskUserQuestion").say("PermissionRequest", tool_name="ExitPlanMode")
    assert story.look(100, NOTHING) == "blocked/plan"


def test_case_031_codex_asks_by_its_hook_and_by_its_screen() -> None:
    assert asking("codex").claimed == "blocked/permission"
    story = Story("codex").say("notify", type="agent-turn-complete", session_id=None, ago=0, **{"thread-id": "s1"})
    assert story.look(1_000, DIALOG) == "blocked/permission"


@pytest.mark.parametrize(
    ("kind", "state"),
    [("plan-mode-prompt", "blocked/plan"), ("user-input", "blocked/question"), ("brand-new", "working")],
)
@pytest.mark.parametrize("named", [True, False], ids=["notify", "by-its-type"])
def test_case_032_kinds_of_notify(kind: str, state: str, named: bool) -> None:
    story = Story("codex").say("UserPromptSubmit", prompt="go").say("notify" if named else "", type=kind)
    assert story.claimed == state


def test_case_033_a_subagents_request_blocks_the_pane_its_end_does_not_end_it() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("session.created", sessionID="kid", info={"id": "kid", "parentID": "root"})
    story.say("permission.asked", sessionID="kid", id="per_1", permission="bash", metadata={"command": "rm x"})
    assert story.look(10, NOTHING) == "blocked/permission"
    assert story.verdict.text == "approve bash: rm x"
    story.say("permission.replied", sessionID="kid", requestID="per_1", reply="once")
    assert story.look(10, NOTHING) == "working"
    story.say("session.status", sessionID="kid", status={"type": "idle"})
    assert story.look(10, NOTHING) == "working"
    story.say("session.status", status={"type": "idle"})
    assert story.look(10, NOTHING) == "idle"


# --- C, as far as events can do it


def test_case_044_a_turn_that_is_over_blocks_nobody() -> None:
    story = Story("pi").say("session_start", reason="startup").say("agent_start")
    story.look(1_000, SPINNER)
    story.say("agent_settled", aborted=False)
    assert story.look(100, COMPOSER) == "idle"
    assert story.lane.marked


def test_case_046_an_error_of_a_subagent_is_not_the_panes() -> None:
    story = Story("opencode").say("session.created", info={"id": "root"}).say("chat.message")
    story.say("session.created", sessionID="kid", info={"id": "kid", "parentID": "root"})
    story.look(1_000, SPINNER)
    story.say("session.error", sessionID="kid", error={"name": "APIError", "data": {"message": "retry"}})
    assert story.look(1_000, SPINNER) == "working"
    assert story.lane.raised == 0


@pytest.mark.parametrize("kind", ["idle_prompt", "auth_success", "something_new"])
def test_case_049_a_reminder_is_no_request(kind: str) -> None:
    story = resting()
    story.lane.marked = False
    since = story.verdict.since_ms
    story.lane.now += 60_000
    story.say("Notification", notification_type=kind)
    assert story.look(1_000, COMPOSER) == "idle"
    assert (story.verdict.since_ms, story.lane.marked) == (since, False)


# --- D: blocked that does not clear


def test_case_053_an_approved_tool_works_before_it_ends() -> None:
    story = asking()
    assert [story.look(1_000, SPINNER) for _ in range(3)][-1] == "working"
    story.say("PostToolUse", tool_name="Bash")
    assert story.look(100, SPINNER) == "working"


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_case_054_an_answer_needs_no_id(agent: str) -> None:
    tool = "AskUserQuestion" if agent == "claude" else "request_user_input"
    story = Story(agent).say("UserPromptSubmit", prompt="go").say("PreToolUse", tool_name=tool, tool_use_id="1")
    story.say("PermissionRequest", tool_name=tool)
    assert story.claimed.startswith("blocked/")
    story.say("PostToolUse", tool_name=tool, tool_use_id="1")
    assert story.claimed == "working"


def test_case_055_three_requests_and_one_end() -> None:
    story = Story().say("UserPromptSubmit", prompt="go")
    for command in ("a", "b", "c"):
        story.say("PreToolUse", tool_name="Bash", tool_input={"command": command}, tool_use_id=command)
        story.say("PermissionRequest", tool_name="Bash", tool_input={"command": command})
    assert story.claimed == "blocked/permission"
    assert story.say("PostToolUse", tool_name="Bash", tool_use_id="a").claimed == "working"


def test_case_056_a_denial_says_nothing() -> None:
    story = asking()
    assert [story.look(1_000, COMPOSER) for _ in range(3)][-1] == "idle"


def test_case_059_the_end_of_a_subagents_tool_leaves_the_dialog() -> None:
    story = asking()
    story.say("PostToolUse", tool_name="Bash", agent_id="x").say("Stop", agent_id="x", background_tasks=[])
    assert story.look(1_000, DIALOG) == "blocked/permission"
    assert story.look(10, NOTHING) == "blocked/permission"
