"""When the mark goes up, what takes it down, who is first in the queue."""

from __future__ import annotations

import pytest

from agents_plugin.core.attention import Mark, Waiting, alert_due, done, mark, needs_you, queue, seen
from agents_plugin.core.evidence import ClientRow, Verdict
from agents_plugin.core.states import Source, State
from tests.lane import BLOCKED, IDLE, NOTHING, START_MS, UNKNOWN, WORKING, Lane, showing

SINCE = START_MS


def verdict(state: State, detail: str | None = None, since: int = SINCE, turn_at: int | None = None) -> Verdict:
    return Verdict(state, detail, Source.SCREEN, since, since, "rule", turn_at_ms=turn_at)


@pytest.mark.parametrize(
    ("before", "after", "came_from", "expected"),
    [
        pytest.param(None, verdict(IDLE), None, Mark.KEEP, id="case-104-fresh-start"),
        pytest.param(verdict(UNKNOWN), verdict(IDLE), None, Mark.KEEP, id="case-104-start-by-way-of-unknown"),
        pytest.param(verdict(WORKING), verdict(IDLE), WORKING, Mark.RAISE, id="finished"),
        pytest.param(verdict(UNKNOWN), verdict(IDLE), WORKING, Mark.RAISE, id="finished-behind-a-pager"),
        pytest.param(verdict(WORKING), verdict(IDLE, "error"), WORKING, Mark.RAISE, id="case-006-error"),
        pytest.param(verdict(WORKING), verdict(IDLE, "interrupted"), WORKING, Mark.KEEP, id="case-001-interrupted"),
        pytest.param(verdict(WORKING), verdict(BLOCKED), WORKING, Mark.RAISE, id="blocked"),
        pytest.param(None, verdict(BLOCKED), None, Mark.RAISE, id="blocked-at-first-sight"),
        pytest.param(verdict(BLOCKED), verdict(BLOCKED), BLOCKED, Mark.KEEP, id="case-115-still-blocked"),
        pytest.param(verdict(BLOCKED), verdict(IDLE), BLOCKED, Mark.KEEP, id="denied"),
        pytest.param(verdict(BLOCKED), verdict(WORKING), BLOCKED, Mark.KEEP, id="answered"),
        pytest.param(verdict(IDLE), verdict(IDLE), IDLE, Mark.KEEP, id="still-idle"),
        pytest.param(verdict(IDLE), verdict(IDLE, turn_at=SINCE + 5), IDLE, Mark.RAISE, id="turn-end-idle-to-idle"),
        pytest.param(
            verdict(IDLE, turn_at=SINCE + 5),
            verdict(IDLE, turn_at=SINCE + 5),
            IDLE,
            Mark.KEEP,
            id="case-114-same-end-twice",
        ),
        pytest.param(None, verdict(IDLE, turn_at=SINCE), None, Mark.RAISE, id="reported-done"),
        pytest.param(verdict(IDLE), verdict(WORKING), IDLE, Mark.KEEP, id="starts"),
    ],
)
def test_raise(before: Verdict | None, after: Verdict, came_from: State | None, expected: Mark) -> None:
    assert mark(before, after, came_from, marked=False) is expected


def test_an_interruption_learned_late_takes_the_mark_down_again() -> None:
    assert mark(verdict(IDLE), verdict(IDLE, "interrupted"), IDLE, marked=True) is Mark.CLEAR
    assert mark(verdict(IDLE), verdict(IDLE, "interrupted"), IDLE, marked=False) is Mark.KEEP
    assert mark(verdict(BLOCKED), verdict(IDLE, "interrupted"), BLOCKED, marked=True) is Mark.CLEAR


def test_a_finished_turn_raises_once_however_often_its_footer_ticks_case_111() -> None:
    lane = Lane()
    lane.step(0, showing(WORKING))
    for tick in range(600):
        lane.step(1_000, showing(IDLE, None, f"footer-{tick % 7}"))
    assert lane.raised == 1 and lane.marked


def test_a_fresh_start_raises_nothing_case_104() -> None:
    lane = Lane()
    lane.step(0, NOTHING)
    lane.steps(10, showing(IDLE))
    assert lane.raised == 0


def test_a_trust_dialog_at_the_start_does_not_make_the_first_prompt_done() -> None:
    lane = Lane()
    lane.step(0, showing(BLOCKED, "trust"))
    lane.marked = False
    lane.step(1_000, NOTHING)
    lane.steps(5, showing(IDLE))
    assert not lane.marked


def test_the_same_event_twice_counts_once_case_114() -> None:
    lane = Lane()
    lane.step(0, showing(WORKING))
    for _ in range(2):
        lane.hear(IDLE, turn_end=True)
    lane.step(50, NOTHING)
    first = lane.raised
    lane.marked = False
    lane.step(50, NOTHING)
    assert (first, lane.marked) == (1, False)


# --- coming down by input


def client(pane: str = "%1", activity: int = 0, created: int = -100, control: bool = False) -> ClientRow:
    base = SINCE // 1000
    return ClientRow("c", "$0", pane, base + activity, base + created, control)


@pytest.mark.parametrize(
    ("clients", "expected"),
    [
        pytest.param([client(activity=1)], True, id="typed-here"),
        pytest.param([client(activity=0)], False, id="typed-in-the-second-of-the-raise"),
        pytest.param([client(activity=-5)], False, id="typed-before"),
        pytest.param([client("%2", 5)], False, id="neighbouring-split"),
        pytest.param([client(activity=5, control=True)], False, id="control-mode"),
        pytest.param([client(activity=5, created=5)], False, id="attaching-is-no-input"),
        pytest.param([client(activity=6, created=5)], False, id="within-a-second-of-attaching"),
        pytest.param([client(activity=7, created=5)], True, id="typed-after-attaching"),
        pytest.param([client("%2", 9), client(activity=3)], True, id="case-106-two-clients"),
        pytest.param([client(activity=-5), client("%2", 9)], False, id="two-clients-neither-typed-here"),
        pytest.param([], False, id="nobody-attached"),
    ],
)
def test_seen_by_input(clients: list[ClientRow], expected: bool) -> None:
    assert seen(clients, "%1", SINCE) is expected


def test_input_before_the_last_turn_end_has_not_seen_it() -> None:
    assert seen([client(activity=5)], "%1", SINCE, SINCE + 2_000)
    assert not seen([client(activity=5)], "%1", SINCE, SINCE + 5_000)


def test_time_alone_never_takes_it_down() -> None:
    assert not seen([client(activity=-1)], "%1", SINCE - 3_600_000 * 0)
    assert seen([client(activity=3_600_000)], "%1", SINCE)


# --- derived, queue, alert


@pytest.mark.parametrize(
    ("state", "detail", "marked", "needs", "is_done"),
    [
        (BLOCKED, "permission", False, True, False),
        (IDLE, "error", True, True, True),
        (IDLE, "error", False, False, False),
        (IDLE, None, True, False, True),
        (IDLE, None, False, False, False),
        (WORKING, None, True, False, False),
        (UNKNOWN, None, True, False, False),
    ],
)
def test_needs_you_and_done(state: State, detail: str | None, marked: bool, needs: bool, is_done: bool) -> None:
    assert needs_you(state, detail, marked) is needs
    assert done(state, marked) is is_done
    assert needs_you(state.value, detail, marked) is needs, "tokens as read from tmux do as well"


def test_queue_order() -> None:
    panes = [
        Waiting("%1", IDLE, None, True, 10),
        Waiting("%2", BLOCKED, "permission", False, 30),
        Waiting("%3", BLOCKED, "question", True, 20),
        Waiting("%4", WORKING, None, True, 1),
        Waiting("%5", IDLE, "error", True, 50),
        Waiting("%6", IDLE, None, False, 1),
        Waiting("%7", IDLE, None, True, 5),
        Waiting("%10", "blocked", None, True, 20),
    ]
    assert queue(panes) == ("%3", "%10", "%2", "%5", "%7", "%1")


@pytest.mark.parametrize(
    ("state", "notified", "muted", "age", "due"),
    [
        pytest.param(BLOCKED, None, None, 5_000, True, id="first"),
        pytest.param(BLOCKED, SINCE + 1, None, 5_000, False, id="once-per-run"),
        pytest.param(BLOCKED, SINCE - 1, None, 5_000, True, id="new-run"),
        pytest.param(BLOCKED, None, SINCE + 9_000, 5_000, False, id="muted"),
        pytest.param(BLOCKED, None, SINCE + 1_000, 5_000, True, id="mute-over"),
        pytest.param(BLOCKED, None, None, 500, False, id="case-113-answered-by-something-at-once"),
        pytest.param(BLOCKED, None, None, -9_000, True, id="clock-set-back"),
        pytest.param(IDLE, None, None, 5_000, False, id="not-blocked"),
    ],
)
def test_alert(state: State, notified: int | None, muted: int | None, age: int, due: bool) -> None:
    assert alert_due(verdict(state), notified, muted, SINCE + age, settle_ms=1_000) is due
