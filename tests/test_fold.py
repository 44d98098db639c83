"""The fold, step by step: what is published at all, claims against chrome."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents_plugin.core.evidence import Reading
from agents_plugin.core.fold import Facts, Sight
from agents_plugin.core.states import Source, State
from tests.lane import (
    AGENT,
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
    START_MS,
    UNKNOWN,
    WORKING,
    Lane,
    showing,
    working_lane,
)

# --- what is published at all (steps 1 to 3)


def test_nothing_identified_and_nothing_reported_publishes_nothing() -> None:
    assert Lane(identity=None).step(0, COMPOSER) is None


def test_a_headless_run_is_no_interactive_agent_case_080() -> None:
    assert Lane(identity=replace(AGENT, headless=True)).step(0, SPINNER) is None


def test_ignored_removes_the_stamps() -> None:
    lane = working_lane()
    lane.facts = Facts(ignored=True)
    assert lane.step(1_000, SPINNER) is None


def test_process_gone_removes_the_stamps_at_once_case_081() -> None:
    lane = working_lane()
    lane.hear(WORKING)
    lane.facts = Facts(agent_alive=False)
    assert lane.step(1_000, SPINNER) is None


@pytest.mark.parametrize("registered", [False, True], ids=["case-165-plain-ssh", "registered"])
def test_remote_publishes_only_what_is_registered(registered: bool) -> None:
    lane = Lane(facts=Facts(remote=True))
    if registered:
        lane.hear(WORKING, Source.REPORT)
    assert (lane.step(0, None) is not None) is registered


def test_a_report_registers_an_unknown_program_for_ten_minutes() -> None:
    lane = Lane(identity=None)
    lane.hear(WORKING, Source.REPORT)
    assert lane.step(0, None) and lane.state is WORKING
    lane.step(599_000, None)
    assert lane.state is WORKING
    assert lane.step(2_000, None) is None


def test_a_report_of_a_living_process_registers_as_long_as_it_lives() -> None:
    lane = Lane(identity=None)
    report = lane.hear(IDLE, Source.REPORT, pid=4711)
    assert lane.steps(3, None, ms=3_600_000) == [IDLE] * 3
    lane.claims = tuple(claim for claim in lane.claims if claim.pid != report.pid)  # the caller saw it end
    assert lane.step(1_000, None) is None


def test_another_program_in_the_foreground_is_unknown_and_flips_back_without_output_case_179() -> None:
    lane = Lane()
    lane.steps(2, COMPOSER)
    since = lane.verdict and lane.verdict.since_ms
    lane.facts = Facts(foreground=False)
    assert lane.steps(2, DIALOG) == [UNKNOWN, UNKNOWN]
    lane.facts = Facts()
    assert lane.steps(1, COMPOSER) == [IDLE]
    assert lane.verdict and lane.verdict.since_ms == since, "the same run goes on"


def test_a_silent_screen_gets_its_old_verdict_back_after_the_pager_case_179() -> None:
    lane = working_lane()
    lane.steps(1, NOTHING)
    lane.facts = Facts(foreground=False)
    lane.steps(1, NOTHING)
    lane.facts = Facts()
    assert lane.steps(1, NOTHING) == [WORKING]


def test_a_claim_is_held_behind_another_program() -> None:
    lane = Lane(facts=Facts(foreground=False))
    lane.hear(BLOCKED, detail="permission")
    assert lane.steps(2, COMPOSER) == [BLOCKED, BLOCKED]


def test_a_claim_the_screen_overruled_does_not_return_behind_another_program() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.steps(6, COMPOSER)
    assert lane.state is IDLE
    lane.facts = Facts(foreground=False)
    assert lane.steps(1, COMPOSER) == [UNKNOWN]
    lane.facts = Facts()
    assert lane.steps(1, NOTHING) == [IDLE]


# --- skip rules (step 4)


@pytest.mark.parametrize("reading", [SPINNER, COMPOSER, DIALOG], ids=["working", "idle", "blocked"])
def test_a_view_the_user_opened_holds_the_verdict_case_034(reading: Reading) -> None:
    lane = Lane()
    lane.step(1_000, reading)
    before = lane.verdict
    assert lane.steps(20, MENU) == [before and before.state] * 20
    assert lane.verdict and before and lane.verdict.since_ms == before.since_ms


def test_a_newer_claim_counts_behind_a_view() -> None:
    lane = working_lane()
    lane.step(1_000, MENU)
    lane.hear(BLOCKED, detail="permission")
    assert lane.step(1_000, MENU) and lane.shown == "blocked/permission"


def test_an_older_claim_does_not_count_behind_a_view() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.steps(6, COMPOSER)
    assert lane.steps(2, MENU) == [IDLE, IDLE]


def test_scrolled_back_and_frozen_holds() -> None:
    lane = working_lane()
    lane.facts = Facts(frozen=True)
    assert lane.steps(5, COMPOSER) == [WORKING] * 5


def test_a_pickers_chrome_is_not_blocked_case_039() -> None:
    lane = Lane()
    lane.step(1_000, COMPOSER)
    assert lane.steps(3, MENU) == [IDLE] * 3


# --- blocked (step 5)


@pytest.mark.parametrize("before", [NOTHING, SPINNER, COMPOSER], ids=["unknown", "working", "idle"])
def test_a_dialog_is_blocked_immediately(before: Reading) -> None:
    lane = Lane()
    lane.step(1_000, before)
    assert lane.step(1_000, DIALOG) and lane.shown == "blocked/permission"


def test_dialog_beats_spinner_case_026() -> None:
    lane = Lane()
    lane.step(0, replace(DIALOG, working=SPINNER.working))
    assert lane.state is BLOCKED


@pytest.mark.parametrize("source", [Source.HOOK, Source.RECORD, Source.REPORT])
def test_a_dialog_overrules_an_older_claim_at_once_case_023_024(source: Source) -> None:
    lane = Lane()
    lane.hear(WORKING, source)
    lane.step(500, DIALOG)
    assert lane.state is BLOCKED


def test_a_look_that_is_older_than_the_claim_proves_nothing() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.step(500, DIALOG, look_age=600)
    assert lane.state is WORKING
    lane.step(500, DIALOG)
    assert lane.state is BLOCKED


def test_a_look_at_the_very_time_of_the_claim_proves_nothing() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.step(0, DIALOG)
    assert lane.state is WORKING


def test_the_rule_names_the_reason() -> None:
    lane = Lane()
    lane.hear(BLOCKED, Source.RECORD, detail="permission")
    lane.step(500, showing(BLOCKED, "plan", "plan"))
    assert lane.shown == "blocked/plan"
    lane.step(500, NOTHING)
    assert lane.shown == "blocked/plan", "silence changes nothing, not even the detail"


def test_an_unrelated_event_after_the_dialog_does_not_hide_it() -> None:
    lane = working_lane()
    lane.step(1_000, DIALOG)
    lane.hear(WORKING, why="PostToolUse of a subagent")
    assert lane.steps(5, DIALOG) == [BLOCKED] * 5
    assert lane.verdict and lane.verdict.since_ms == START_MS + 2_000


def test_blocked_ends_with_its_prompt_even_in_silence() -> None:
    lane = working_lane()
    lane.step(1_000, DIALOG)
    assert lane.steps(2, NOTHING) == [WORKING, WORKING]


def test_a_prompt_that_goes_without_anything_before_it_is_unknown() -> None:
    lane = Lane()
    lane.step(0, DIALOG)
    assert lane.steps(2, NOTHING) == [UNKNOWN, UNKNOWN]


def test_an_overruled_claim_counts_again_when_the_dialog_goes_case_053_055() -> None:
    lane = Lane()
    lane.hear(WORKING, why="PreToolUse")
    lane.step(500, DIALOG)
    lane.step(1_000, NOTHING)
    assert lane.state is WORKING
    assert lane.verdict and lane.verdict.source is Source.HOOK and lane.verdict.since_ms == lane.now


def test_the_newer_of_claim_and_verdict_wins_when_the_chrome_goes() -> None:
    lane = Lane()
    lane.hear(WORKING)
    lane.steps(6, COMPOSER)
    assert lane.steps(3, NOTHING) == [IDLE] * 3, "idle was seen after the claim"
    lane.hear(WORKING)
    assert lane.steps(1, NOTHING) == [WORKING], "this claim is newer than idle"


def test_denied_dialog_goes_to_idle_without_waiting_for_the_decay_case_056() -> None:
    lane = Lane(sight=BLIND)
    lane.hear(WORKING, why="PreToolUse")
    lane.step(1_000, DIALOG)
    assert lane.steps(1, INTERRUPTED) == [IDLE]
    assert lane.shown == "idle/interrupted"


# --- claims (step 6) and when the screen overrules them


@pytest.mark.parametrize("state", [WORKING, BLOCKED, IDLE])
def test_silence_never_expires_a_claim_case_019_022(state: State) -> None:
    lane = Lane()
    lane.hear(state)
    assert lane.steps(5, NOTHING, ms=900_000) == [state] * 5


@pytest.mark.parametrize(
    ("state", "reading", "proven", "blind"),
    [
        pytest.param(WORKING, COMPOSER, 3_000, 60_000, id="case-001-003-working-at-rest"),
        pytest.param(BLOCKED, SPINNER, 2_000, 300_000, id="case-053-approved"),
        pytest.param(BLOCKED, COMPOSER, 2_000, 300_000, id="case-004-denied"),
        pytest.param(IDLE, SPINNER, 2_000, 60_000, id="case-021-idle-is-not-sticky"),
    ],
)
@pytest.mark.parametrize("sight", ["proven", "blind"])
def test_contrary_chrome_overrules_after_its_window(
    state: State, reading: Reading, proven: int, blind: int, sight: str
) -> None:
    lane = Lane(sight=Sight(ALL, ALL) if sight == "proven" else BLIND)
    limit = proven if sight == "proven" else blind
    lane.hear(state)
    shown = reading.best
    assert shown
    held = lane.steps(limit // 1_000 - 1, reading)
    assert set(held) == {state}
    assert shown.state in lane.steps(2, reading)


def test_weak_chrome_overrules_only_after_the_decay() -> None:
    lane = Lane()
    lane.hear(WORKING)
    draft = showing(IDLE, None, "draft", weak=True)
    assert set(lane.steps(59, draft)) == {WORKING}
    assert lane.steps(1, draft) == [IDLE]


def test_a_state_the_rules_cannot_see_is_not_overruled() -> None:
    lane = Lane(sight=Sight(frozenset((WORKING, IDLE)), frozenset((WORKING, IDLE))))
    lane.hear(BLOCKED)
    assert lane.steps(3, COMPOSER, ms=400_000) == [BLOCKED] * 3


def test_a_record_is_not_aged_by_a_long_turn() -> None:
    lane = Lane(sight=BLIND)
    lane.hear(WORKING, Source.RECORD)
    lane.steps(10, SPINNER, ms=30_000)
    draft = lane.steps(20, COMPOSER)
    assert set(draft) == {WORKING}, "typing while text streams looks idle for a while"
    lane.steps(45, COMPOSER)
    assert lane.state is IDLE, "a record that contradicts the screen for a minute is not believed"


def test_the_screen_is_right_within_three_seconds_of_esc_case_004() -> None:
    lane = working_lane()
    lane.hear(WORKING, why="PreToolUse")
    lane.steps(10, SPINNER)
    assert lane.steps(4, INTERRUPTED)[-1] is IDLE
    assert lane.shown == "idle/interrupted" and not lane.marked


def test_a_live_spinner_below_an_old_notice_is_working_case_004() -> None:
    lane = working_lane()
    lane.hear(WORKING)
    assert set(lane.steps(5, replace(INTERRUPTED, working=SPINNER.working))) == {WORKING}


def test_a_claim_that_arrives_late_does_not_undo_what_was_seen_after_it() -> None:
    lane = working_lane()
    lane.hear(IDLE, why="Stop")
    lane.step(1_000, COMPOSER)
    lane.steps(5, SPINNER)
    assert lane.state is WORKING
    lane.hear(IDLE, ago=4_500, why="late")
    assert lane.steps(2, SPINNER) == [WORKING, WORKING]


def test_a_claim_a_little_older_than_the_look_still_gets_its_settle() -> None:
    lane = Lane()
    lane.steps(10, COMPOSER)
    lane.hear(WORKING)
    lane.step(300, COMPOSER)
    assert lane.state is WORKING, "the screen has not been repainted yet"


@pytest.mark.parametrize("first", [0, 1])
def test_out_of_order_claims_case_018_181(first: int) -> None:
    lane = working_lane()
    events = [(BLOCKED, 200), (IDLE, 100)]
    for state, ago in (events[first], events[1 - first]):
        lane.hear(state, ago=ago)
    lane.step(10, NOTHING)
    assert lane.state is IDLE


@pytest.mark.parametrize(
    ("states", "precedence", "winner"),
    [
        pytest.param((WORKING, BLOCKED), (), BLOCKED, id="tool-and-its-prompt"),
        pytest.param((WORKING, IDLE), (), IDLE, id="last-tool-and-stop"),
        pytest.param((WORKING, IDLE), ("idle", "working"), WORKING, id="manifest-order"),
    ],
)
def test_equal_times(states: tuple[State, ...], precedence: tuple[str, ...], winner: State) -> None:
    for order in (states, states[::-1]):
        lane = Lane(precedence=precedence)
        for state in order:
            lane.hear(state, why=state.value)
        lane.step(10, NOTHING)
        assert lane.state is winner


def test_a_screen_that_agrees_adds_the_reason() -> None:
    lane = Lane()
    lane.hear(WORKING, Source.RECORD)
    lane.step(1_000, showing(WORKING, "compacting"))
    assert lane.shown == "working/compacting"
    assert lane.verdict and lane.verdict.source is Source.RECORD


@pytest.mark.parametrize("age", [599_000, 601_000])
def test_a_foreign_report_loses_its_rank_after_ten_minutes(age: int) -> None:
    lane = Lane(sight=Sight())  # rules that could not overrule anything else
    lane.hear(BLOCKED, Source.REPORT)
    lane.step(0, None)
    lane.step(age, SPINNER)
    assert lane.state is (WORKING if age > 600_000 else BLOCKED)


def test_a_foreign_report_is_held_without_screen_evidence() -> None:
    lane = Lane()
    lane.hear(WORKING, Source.REPORT)
    assert lane.steps(3, NOTHING, ms=900_000) == [WORKING] * 3


def test_a_report_of_unknown_lets_the_screen_speak() -> None:
    lane = Lane()
    lane.hear(UNKNOWN, Source.REPORT)
    assert lane.steps(2, SPINNER) == [WORKING, WORKING]
