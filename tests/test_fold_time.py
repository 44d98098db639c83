"""The fold over time: dwell, holds, background, clocks, and what may never happen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents_plugin.core.evidence import Identity, Reading
from agents_plugin.core.fold import Sight
from agents_plugin.core.memory import Memory, dump, load
from agents_plugin.core.states import Source, State
from tests.lane import (
    ALL,
    BLIND,
    BLOCKED,
    COMPOSER,
    DIALOG,
    IDLE,
    INTERRUPTED,
    MENU,
    NOTHING,
    SPINNER,
    UNKNOWN,
    WORKING,
    Lane,
    showing,
    working_lane,
)

# --- working and idle by the screen (7, 8), holds (9)


def test_working_to_idle_waits_for_the_dwell_case_113() -> None:
    lane = working_lane()
    assert lane.steps(3, COMPOSER) == [WORKING] * 3
    assert lane.last and lane.last.due_mono == lane.mono + 1_000
    assert lane.steps(1, COMPOSER) == [IDLE]
    assert lane.verdict and lane.verdict.since_ms == lane.now - 3_000, "the run began when the chrome came"


def test_one_idle_frame_between_tools_is_nothing_case_113() -> None:
    lane = working_lane()
    for _ in range(5):
        assert lane.steps(1, COMPOSER) == [WORKING]
        assert lane.steps(2, SPINNER) == [WORKING, WORKING]
    assert not lane.raised


def test_an_interrupted_turn_is_over_before_the_dwell() -> None:
    lane = working_lane()
    assert lane.steps(3, INTERRUPTED, 500) == [State.WORKING, State.WORKING, State.IDLE]
    lane = working_lane(sight=Sight(ALL, ALL, dwell_ms=500))
    assert lane.steps(2, INTERRUPTED, 500) == [State.WORKING, State.IDLE]


def test_a_manifest_sets_its_own_dwell() -> None:
    lane = Lane(sight=Sight(ALL, ALL, dwell_ms=0))
    lane.step(0, SPINNER)
    assert lane.steps(1, COMPOSER) == [IDLE]


def test_dwell_memory_survives_between_processes_case_011() -> None:
    lane = working_lane()
    lane.step(1_000, COMPOSER)
    assert lane.state is WORKING
    lane.memory = load(dump(lane.memory))
    lane.step(15_000, COMPOSER)
    assert lane.state is IDLE


def test_a_lost_memory_only_starts_the_dwell_again() -> None:
    lane = working_lane()
    lane.step(1_000, COMPOSER)
    lane.restart()
    assert lane.steps(4, COMPOSER) == [WORKING, WORKING, WORKING, IDLE]


def test_a_restart_does_not_bring_back_an_overruled_claim_case_115() -> None:
    lane = Lane(sight=BLIND)
    lane.hear(WORKING)
    lane.steps(70, COMPOSER)
    assert lane.state is IDLE
    raised = lane.raised
    lane.restart()
    assert lane.steps(5, COMPOSER) == [IDLE] * 5
    assert lane.raised == raised


@pytest.mark.parametrize("reading", [SPINNER, COMPOSER], ids=["working", "idle"])
def test_silence_on_the_screen_holds(reading: Reading) -> None:
    lane = Lane()
    lane.step(0, reading)
    before = lane.verdict
    assert lane.steps(3, NOTHING, ms=900_000) == [before and before.state] * 3
    assert lane.verdict == before


def test_no_turn_at_rest_counts_a_changing_screen_as_work_case_180() -> None:
    lane = Lane()
    lane.step(0, COMPOSER)
    frames = [showing(IDLE, None, "composer"), showing(IDLE, None, "draft")]
    assert {lane.steps(1, frames[i % 2])[0] for i in range(60)} == {IDLE}


def test_idle_after_a_timeout_turns_to_working_again_case_021() -> None:
    lane = working_lane()
    lane.steps(5, COMPOSER)
    assert lane.state is IDLE
    assert lane.steps(1, SPINNER) == [WORKING]


def test_a_first_silent_screen_is_unknown() -> None:
    assert Lane().steps(2, NOTHING) == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("progress", [None, WORKING], ids=["none", "shown"])
def test_progress_speaks_when_nothing_else_does(progress: State | None) -> None:
    lane = Lane(progress=progress)
    lane.step(0, NOTHING)
    assert lane.state is (progress or UNKNOWN)
    lane.step(1_000, COMPOSER)
    lane.progress = None
    assert lane.steps(4, COMPOSER)[-1] is IDLE


def test_progress_that_ends_holds_nothing() -> None:
    lane = Lane(progress=WORKING)
    lane.step(0, NOTHING)
    lane.progress = None
    assert lane.steps(1, NOTHING) == [UNKNOWN]


@pytest.mark.parametrize(("background", "state"), [(True, WORKING), (False, IDLE)], ids=["on", "off"])
@pytest.mark.parametrize("by", ["screen", "hook", "record-and-screen"])
def test_background_work_case_060_061(background: bool, state: State, by: str) -> None:
    lane = Lane(background=background)
    reading = showing(WORKING, "background", "agents")
    if by == "hook":
        lane.hear(WORKING, detail="background")
    elif by == "record-and-screen":
        lane.hear(WORKING, Source.RECORD)
    lane.steps(5, reading)
    assert lane.state is state


# --- times


def test_since_is_written_once_per_run() -> None:
    lane = working_lane()
    first = lane.verdict and lane.verdict.since_ms
    for _ in range(4):
        lane.hear(WORKING)
        lane.step(1_000, SPINNER)
        assert lane.verdict and lane.verdict.since_ms == first


def test_since_of_a_claim_is_the_time_of_its_event() -> None:
    lane = Lane()
    lane.hear(BLOCKED, ago=700)
    lane.step(300, NOTHING)
    assert lane.verdict and lane.verdict.since_ms == lane.now - 1_000


def test_suspend_expires_nothing_case_178() -> None:
    lane = Lane(sight=BLIND)
    lane.hear(WORKING)
    lane.step(1_000, COMPOSER)
    lane.jump(8 * 3_600_000)
    assert set(lane.steps(2, COMPOSER)) == {WORKING}


def test_a_clock_set_back_gives_no_negative_age_and_the_newest_event_wins_case_178() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.step(1_000, SPINNER)
    lane.jump(-3_600_000)
    lane.steps(2, SPINNER)
    assert lane.state is WORKING
    lane.hear(IDLE, turn_end=True)
    lane.step(100, NOTHING)
    assert lane.state is IDLE
    assert lane.verdict and lane.verdict.since_ms <= lane.now
    lane.hear(BLOCKED)
    lane.step(100, NOTHING)
    assert lane.state is BLOCKED
    assert lane.last and all(
        "-" not in line.split("ms old")[0].split(",")[-1] for line in lane.last.trace if "old" in line
    )


def test_a_clock_set_back_does_not_stop_the_screen_case_178() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.step(1_000, NOTHING)
    lane.jump(-3_600_000)
    assert IDLE in lane.steps(5, COMPOSER)


# --- agents that only send some events (case part A)


def test_an_interrupt_without_any_event_case_001_002() -> None:
    lane = Lane()
    lane.hear(WORKING, why="UserPromptSubmit")
    lane.step(1_000, SPINNER)
    lane.hear(WORKING, why="PreToolUse")
    lane.steps(3, SPINNER)
    assert IDLE in lane.steps(4, INTERRUPTED)
    assert not lane.marked


def test_a_turn_that_ends_in_an_error_raises_with_its_reason_case_006() -> None:
    lane = working_lane()
    lane.hear(IDLE, detail="error", turn_end=True, why="StopFailure")
    lane.step(500, COMPOSER)
    assert lane.shown == "idle/error" and lane.marked


def test_a_repeated_failure_report_raises_once_case_007() -> None:
    lane = working_lane()
    for _ in range(3):
        lane.hear(IDLE, detail="error", turn_end=True, why="StopFailure")
        lane.step(500, COMPOSER)
    assert lane.raised == 1


def test_a_long_tool_is_not_timed_out_case_022() -> None:
    lane = Lane()
    lane.hear(WORKING, why="PreToolUse")
    assert set(lane.steps(5, SPINNER, ms=540_000)) == {WORKING}


def test_a_quiet_dialog_is_not_idle_case_020() -> None:
    lane = Lane()
    lane.hear(WORKING, why="PreToolUse")
    assert set(lane.steps(10, DIALOG, ms=60_000)) == {BLOCKED}


def test_gemini_with_only_its_first_event_case_012() -> None:
    lane = Lane()
    lane.hear(WORKING, why="BeforeAgent")
    assert IDLE in lane.steps(4, COMPOSER)


def test_three_prompts_and_one_end_case_055() -> None:
    lane = Lane()
    for _ in range(3):
        lane.hear(BLOCKED, why="PermissionRequest")
        lane.step(10, NOTHING)
    lane.hear(WORKING, why="PostToolUse")
    lane.step(10, NOTHING)
    assert lane.state is WORKING


def test_a_subagents_event_does_not_clear_the_parents_dialog_case_059() -> None:
    lane = Lane()
    lane.hear(BLOCKED, why="PermissionRequest")
    lane.step(500, DIALOG)
    lane.hear(WORKING, why="PostToolUse of a subagent")
    lane.step(500, DIALOG)
    assert lane.state is BLOCKED


def test_visited_but_not_answered_stays_blocked_case_035() -> None:
    lane = Lane()
    lane.step(0, DIALOG)
    lane.marked = False
    assert set(lane.steps(10, DIALOG)) == {BLOCKED}


# --- another agent, memory


def test_a_verdict_of_another_process_is_not_held() -> None:
    lane = working_lane()
    lane.identity, lane.verdict = Identity("claude", "tree", 200), None
    lane.step(1_000, DIALOG)
    lane.step(1_000, NOTHING)
    assert lane.state is UNKNOWN


@pytest.mark.parametrize(
    "data", [None, 3, [], {}, {"chrome": "x"}, {"chrome": "idle", "chrome_mono": "a"}, {"before": [1]}], ids=repr
)
def test_a_damaged_memory_is_an_empty_one(data: object) -> None:
    assert load(data) == Memory()


def test_memory_round_trip() -> None:
    lane = working_lane()
    lane.step(1_000, COMPOSER)
    lane.step(1_000, DIALOG)
    kept = load(dump(lane.memory))
    assert replace(kept, before=None) == replace(lane.memory, before=None)
    assert kept.before and lane.memory.before and kept.before.state is lane.memory.before.state


def test_every_decision_names_what_decided() -> None:
    lane = Lane()
    for reading in (NOTHING, SPINNER, COMPOSER, DIALOG, MENU):
        lane.step(1_000, reading)
        assert lane.verdict and lane.verdict.why
        assert lane.last and lane.last.trace[-1].startswith(f"=> {lane.verdict.state}")
