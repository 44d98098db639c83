"""When a capture may be skipped, and that skipping never hides a prompt."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.core.evidence import Look, PaneRow, Reading, Screen
from agents_plugin.core.look import Seen, plan_look
from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.runner import Runner
from tests.lane import BLOCKED, IDLE, NOTHING, START_MS, WORKING, Lane, showing
from tests.support import Server

ROW = PaneRow(
    pane_id="%1",
    pane_pid=10,
    tty="/dev/pts/1",
    session_id="$0",
    window_id="@0",
    window_index=0,
    pane_index=0,
    active=True,
    dead=False,
    width=80,
    height=24,
    cursor_x=0,
    cursor_y=0,
    cursor_shown=True,
    alternate=False,
    scroll_position=0,
    in_mode=False,
    window_activity=START_MS // 1000,
    command="claude",
    title="✳ Claude Code",
)
DIALOG = showing(BLOCKED, "permission")
LOOKED = START_MS + 3_000  # three seconds after the last output


def seen(at_ms: int = LOOKED, row: PaneRow = ROW) -> Seen:
    return Seen(Look(DIALOG, at_ms), row, True, "claude:1")


def ask(last: Seen | None, row: PaneRow = ROW, now: int = LOOKED + 1_000, **more: Any) -> tuple[bool, int | None]:
    plan = plan_look(last, row, now, **{"foreground": True, "rules": "claude:1", **more})
    return plan.capture, plan.look.at_ms if plan.look else None


def test_a_quiet_window_counts_as_seen_now() -> None:
    assert ask(seen()) == (False, LOOKED + 1_000)


@pytest.mark.parametrize(
    ("last", "row", "more"),
    [
        pytest.param(None, ROW, {}, id="never-seen"),
        pytest.param(seen(), replace(ROW, window_activity=ROW.window_activity + 4), {}, id="output"),
        pytest.param(seen(), replace(ROW, window_activity=ROW.window_activity - 3600), {}, id="activity-went-back"),
        pytest.param(seen(START_MS + 999), ROW, {}, id="look-in-the-second-of-the-output"),
        pytest.param(seen(START_MS), ROW, {}, id="look-at-the-start-of-that-second"),
        pytest.param(seen(), replace(ROW, width=60), {}, id="resized"),
        pytest.param(seen(), replace(ROW, title="other"), {}, id="title"),
        pytest.param(seen(), replace(ROW, cursor_y=3), {}, id="cursor"),
        pytest.param(seen(), replace(ROW, alternate=True), {}, id="alternate-screen"),
        pytest.param(seen(), replace(ROW, command="less"), {}, id="case-179-command"),
        pytest.param(seen(), replace(ROW, pane_pid=11), {}, id="respawned"),
        pytest.param(seen(), ROW, {"foreground": False}, id="case-179-foreground"),
        pytest.param(seen(), ROW, {"rules": "claude:2"}, id="manifest-changed"),
        pytest.param(seen(), ROW, {"claim_at_ms": LOOKED}, id="claim-at-the-time-of-the-look"),
        pytest.param(seen(), ROW, {"claim_at_ms": LOOKED + 500}, id="newer-claim"),
        pytest.param(seen(), ROW, {"due": True}, id="dwell-settle-or-decay"),
        pytest.param(seen(), ROW, {"now": LOOKED - 10_000}, id="case-178-clock-set-back"),
    ],
)
def test_what_forces_a_capture(last: Seen | None, row: PaneRow, more: dict[str, Any]) -> None:
    assert ask(last, row, **more) == (True, None)


def test_an_older_claim_forces_nothing() -> None:
    assert ask(seen(), claim_at_ms=LOOKED - 1)[0] is False


@dataclass
class Watched:
    """A pane with a screen, its window's activity, and a monitor that looks only when it must."""

    lane: Lane = field(default_factory=Lane)
    screen: Reading = NOTHING
    activity: int = 0
    last: Seen | None = None
    captures: int = 0

    def draw(self, screen: Reading) -> None:
        """The agent draws; tmux notes the second."""
        self.screen, self.activity = screen, self.lane.now // 1000

    def wait(self, ms: int) -> None:
        self.lane.now += ms
        self.lane.mono += ms

    def work(self) -> None:
        """One pass of the monitor."""
        lane = self.lane
        row = replace(ROW, window_activity=self.activity)
        claim_at = max((claim.at_ms for claim in lane.claims), default=None)
        due = bool(lane.last and lane.last.due_mono is not None)
        plan = plan_look(self.last, row, lane.now, foreground=True, rules="r", claim_at_ms=claim_at, due=due)
        look = plan.look or Look(self.screen, lane.now)
        if plan.capture:
            self.captures += 1
            self.last = Seen(look, row, True, "r")
        lane.step(0, look.reading)


@pytest.mark.parametrize("claim_after", [0, 300, 1_500, 5_000], ids="{}ms".format)
@pytest.mark.parametrize("known_after", [0, 700, 20_000], ids="known-{}ms-later".format)
def test_a_dialog_then_an_unrelated_event_then_silence_is_blocked(claim_after: int, known_after: int) -> None:
    """The prompt is drawn, another event says working, and nothing is ever drawn again: it must still show."""
    pane = Watched()
    pane.draw(showing(WORKING))
    pane.work()
    pane.wait(1_000)
    pane.draw(DIALOG)
    pane.wait(claim_after)
    pane.work()
    stamp = pane.lane.now
    pane.wait(known_after)
    pane.lane.hear(WORKING, ago=pane.lane.now - stamp, why="PostToolUse of another tool")
    states = []
    for _ in range(30):
        pane.work()
        states.append(pane.lane.state)
        pane.wait(1_000)
    assert set(states[1:]) == {BLOCKED}
    assert pane.captures < 8, "and the quiet window is not captured again and again"


def test_a_quiet_pane_is_captured_no_more() -> None:
    pane = Watched()
    pane.draw(showing(IDLE))
    for _ in range(60):
        pane.work()
        pane.wait(1_000)
    assert pane.captures <= 2


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([NOTHING, showing(WORKING), showing(IDLE), DIALOG, None]),
            st.integers(0, 2_500),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_skipping_never_changes_a_verdict(history: list[tuple[Reading | None, int, bool]]) -> None:
    """A monitor that skips proven looks says at every pass what one that always captures says."""
    lazy, eager = Watched(), Watched()
    for drawn, ms, event in history:
        for pane in (lazy, eager):
            if drawn is not None:
                pane.draw(drawn)
            if event:
                pane.lane.hear(WORKING)
            pane.wait(ms)
        eager.last = None
        lazy.work()
        eager.work()
        assert lazy.lane.verdict == eager.lane.verdict


# --- the facts this rests on, on a real tmux


_NOISE = (
    'sh -c \'n=0; while :; do n=$((n+1)); printf "line %s " $n; [ $((n % 3)) = 0 ] && printf "\\033]2;t%s\\007" $n;'
    " sleep 0.$((n % 7))3; [ $((n % 5)) = 0 ] && sleep 1.7; done'"
)


@pytest.mark.versions
def test_a_look_that_is_skipped_would_have_seen_the_same_screen(server: Server) -> None:
    """Seconds of activity, titles and cursor are enough: what is called unchanged has not changed."""
    pane = server.window(_NOISE)
    runner = Runner(server.socket)
    runner.binary = server.binary.path
    kept: tuple[Seen, Screen] | None = None
    skipped = captured = 0
    until = time.monotonic() + 6

    def listed() -> tuple[PaneRow, int]:
        at = time.time_ns() // 1_000_000
        return next(row for row in observe(runner).panes if row.pane_id == pane), at

    def may_skip(row: PaneRow, at: int) -> bool:
        return not plan_look(kept[0] if kept else None, row, at, foreground=True, rules="r").capture

    while time.monotonic() < until and skipped < 12:
        row, at = listed()
        if not may_skip(row, at):
            screen = capture(runner, [pane])[pane]
            kept = (Seen(Look(NOTHING, at), row, True, "r"), screen)
            captured += 1
            continue
        screen = capture(runner, [pane])[pane]
        if kept and may_skip(*listed()):  # still quiet after the capture: nothing came between
            assert screen.lines == kept[1].lines
            skipped += 1
    assert skipped and captured
