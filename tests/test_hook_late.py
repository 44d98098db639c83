"""Events that tell of what was a while ago: a reminder of a dialog that was left, the end of the turn before."""

from __future__ import annotations

from typing import Any

import pytest

from agents_plugin.core.evidence import Reading
from agents_plugin.core.fold import Facts, Sight
from agents_plugin.core.states import Source
from tests.lane import ALL, IDLE, MENU, NOTHING, Lane
from tests.stories import COMPOSER, DIALOG, INTERRUPTED, SPINNER, Story


def unheard_request() -> Story:
    """A tool whose request is not heard: an agent's configuration that leaves it out."""
    story = Story().say("UserPromptSubmit", prompt="go")
    story.look(1_000, SPINNER)
    return story.say("PreToolUse", tool_name="Bash", tool_input={"command": "make"})


def remind(story: Story) -> None:
    """What Claude Code says six seconds after a dialog opened."""
    story.say("Notification", notification_type="permission_prompt")


@pytest.mark.parametrize("after_ms", [6_000, 7_000, 30_000])
@pytest.mark.parametrize("left", [COMPOSER, INTERRUPTED], ids=["composer", "interrupted"])
def test_a_reminder_of_a_dialog_that_was_left_does_not_block(left: Reading, after_ms: int) -> None:
    story = unheard_request()
    assert story.look(500, DIALOG) == "blocked/permission"
    for _ in range(after_ms // 1_000):
        story.look(1_000, left)
    rested, raised = story.lane.shown, story.lane.raised
    assert rested.startswith("idle")
    remind(story)
    for ms in (10, 250, 250, 500, 1_000, 3_000):
        assert story.look(ms, left) == rested
    assert story.lane.raised == raised


def test_a_reminder_of_a_dialog_that_was_answered_does_not_block() -> None:
    story = unheard_request()
    story.look(500, DIALOG)
    assert [story.look(1_000, SPINNER) for _ in range(6)][-1] == "working"
    remind(story)
    assert {story.look(300, SPINNER) for _ in range(10)} == {"working"}


def test_a_reminder_that_comes_while_a_menu_hides_the_composer_does_not_block() -> None:
    story = unheard_request()
    for _ in range(3):
        story.look(1_000, DIALOG)
    for _ in range(3):
        story.look(1_000, INTERRUPTED)
    assert story.lane.shown == "idle/interrupted"
    remind(story)
    assert {story.look(300, MENU) for _ in range(5)} == {"idle/interrupted"}


def test_a_reminder_in_the_next_turn_is_about_the_one_before() -> None:
    story = unheard_request()
    story.look(500, DIALOG)
    for _ in range(3):
        story.look(1_000, COMPOSER)
    story.say("UserPromptSubmit", prompt="again", prompt_id="p2")
    story.look(500, NOTHING)
    story.say("PreToolUse", tool_name="Read", prompt_id="p2")
    story.look(1_000, NOTHING)
    remind(story)
    assert {story.look(300, NOTHING) for _ in range(5)} == {"working"}


def test_a_record_that_heard_of_the_end_counts() -> None:
    """The agent's own file says that it rests, since three seconds before the reminder; no rule knows the screen."""
    story = unheard_request()
    story.look(3_500, NOTHING)
    rests = story.lane.hear(IDLE, Source.RECORD)
    assert story.look(3_000, NOTHING) == "idle"
    remind(story)
    story.lane.claims = (rests,)
    assert story.look(10, NOTHING) == "idle"


@pytest.mark.parametrize("sight", [Sight(ALL, ALL), Sight(ALL, frozenset()), Sight()], ids=["proven", "seen", "blind"])
@pytest.mark.parametrize("before", [NOTHING, SPINNER, COMPOSER], ids=["nothing", "working", "idle"])
def test_a_dialog_that_no_rule_knows_is_told_by_its_reminder(before: Reading, sight: Sight) -> None:
    story = unheard_request()
    story.lane.sight = sight
    story.look(500, before)
    for _ in range(6):
        story.look(1_000, NOTHING)
    remind(story)
    assert {story.look(1_000, NOTHING) for _ in range(5)} == {"blocked/permission"}
    assert story.lane.marked


def test_a_reminder_is_believed_where_the_screen_cannot_be_seen() -> None:
    story = unheard_request()
    story.lane.facts = Facts(frozen=True)
    story.look(6_500, COMPOSER)
    remind(story)
    assert story.look(300, COMPOSER) == "blocked/permission"


def test_a_dialog_on_the_screen_blocks_whatever_else_is_said() -> None:
    story = unheard_request()
    story.look(6_500, SPINNER)
    remind(story)
    assert story.look(300, DIALOG) == "blocked/permission"
    lane: Lane = story.lane
    assert lane.marked


# --- the end of the turn before


@pytest.mark.parametrize(("agent", "event", "turn"), [("claude", "Stop", "prompt_id"), ("codex", "Stop", "turn_id")])
@pytest.mark.parametrize("late_ms", [0, 400, 1_900])
def test_an_end_that_crosses_the_next_prompt_ends_nothing(agent: str, event: str, turn: str, late_ms: int) -> None:
    story = Story(agent)
    one: dict[str, Any] = {turn: "one"}
    two: dict[str, Any] = {turn: "two"}
    story.say("UserPromptSubmit", prompt="one", **one)
    story.look(1_000, SPINNER)
    story.say("UserPromptSubmit", prompt="two", **two)
    story.lane.now += late_ms
    story.say(event, **one)
    assert story.claimed == "working"
    story.say(event, **two)
    assert story.claimed == "idle"


def test_a_second_word_on_the_same_end_does_not_end_the_next_turn() -> None:
    """Codex calls its notifier a moment after its hook."""
    story = Story("codex").say("UserPromptSubmit", prompt="one", turn_id="one").say("Stop", turn_id="one")
    story.say("UserPromptSubmit", prompt="two", turn_id="two")
    story.lane.now += 400
    notify: dict[str, Any] = {
        "type": "agent-turn-complete",
        "thread-id": "s1",
        "turn-id": "one",
        "input-messages": ["one"],
    }
    story.say("notify", **{"session_id": None, "turn_id": None, **notify})
    assert story.claimed == "working"
    story.say("Stop", turn_id="two")
    assert story.claimed == "idle"


def test_an_end_of_a_turn_nobody_knows_ends_what_runs() -> None:
    """A queued prompt is told in the turn before, and its own turn has an id that was never heard."""
    story = Story().say("UserPromptSubmit", prompt="one", prompt_id="one").say("Stop", prompt_id="two")
    assert story.claimed == "idle"
