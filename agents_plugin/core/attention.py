"""The attention mark: when it goes up, what takes it down, and who comes first in the queue. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from agents_plugin.core.evidence import ClientRow, Verdict
from agents_plugin.core.states import SUSPENDED, State

#: Attaching counts as input for tmux, so activity this close to a client's creation proves nothing.
ATTACH_MS = 1_000


class Mark(Enum):
    """What happens to `@agent_attention` in this transition."""

    KEEP = "keep"
    RAISE = "raise"
    CLEAR = "clear"


def mark(previous: Verdict | None, verdict: Verdict, came_from: State | None, marked: bool) -> Mark:
    """Raise or clear for a verdict. `came_from` is `Decision.came_from`, `marked` whether the mark is up.

    A fresh start raises nothing (no state before), nor does a turn the user interrupted; if the interruption is only
    learned after the mark went up, the mark comes down again. Who stops an agent by hand has seen it.
    """
    if verdict.state is State.BLOCKED:
        fresh = previous is None or previous.state is not State.BLOCKED
        return Mark.RAISE if fresh else Mark.KEEP
    if verdict.state is not State.IDLE:
        return Mark.KEEP
    if verdict.detail == SUSPENDED:
        return Mark.CLEAR if marked else Mark.KEEP
    if verdict.detail == "interrupted":
        if not marked or previous is None:
            return Mark.KEEP
        learned = previous.state is State.IDLE and previous.detail != verdict.detail
        dismissed = previous.state is State.BLOCKED  # a prompt that was denied was seen by who denied it
        return Mark.CLEAR if dismissed or (learned and previous.since_ms == verdict.since_ms) else Mark.KEEP
    if came_from is State.WORKING and not (previous and previous.state is State.IDLE):
        return Mark.RAISE
    turn, last = verdict.turn_at_ms or 0, (previous.turn_at_ms or 0) if previous else 0
    return Mark.RAISE if turn > last else Mark.KEEP


def seen(clients: Iterable[ClientRow], pane_id: str, since_ms: int, turn_at_ms: int | None = None) -> bool:
    """Whether a client that shows this pane as its current one got input after the mark went up.

    An order, not a window of time: the input must be later than the run's start and the last turn end, and later than
    the client's own attaching. Control-mode clients never show input.
    """
    raised = max(since_ms, turn_at_ms or 0)
    return any(
        client.pane_id == pane_id
        and not client.control
        and client.activity * 1000 > raised
        and (client.activity - client.created) * 1000 > ATTACH_MS
        for client in clients
    )


def shown(clients: Iterable[ClientRow], pane_id: str) -> bool:
    """Whether a person has this pane before them: it is what a client shows, and that client has the focus."""
    return any(client.pane_id == pane_id and client.focused and not client.control for client in clients)


def needs_you(state: State | str, detail: str | None, marked: bool) -> bool:
    """Whether the pane waits for its user: blocked, or a turn that ended in an error and was not seen."""
    return state == State.BLOCKED or (state == State.IDLE and detail == "error" and marked)


def done(state: State | str, marked: bool) -> bool:
    """Whether the pane is shown as done: idle and not seen yet."""
    return state == State.IDLE and marked


@dataclass(frozen=True)
class Waiting:
    """What the queue needs of one pane."""

    pane_id: str
    state: State | str
    detail: str | None
    marked: bool
    since_ms: int


def queue(panes: Iterable[Waiting]) -> tuple[str, ...]:
    """Pane ids in order of need: blocked, then errors unseen, then finished unseen; the longest waiting first."""

    def need(pane: Waiting) -> int:
        if pane.state == State.BLOCKED:
            return 0
        return 1 if pane.detail == "error" else 2

    waiting = [pane for pane in panes if pane.state == State.BLOCKED or done(pane.state, pane.marked)]
    return tuple(pane.pane_id for pane in sorted(waiting, key=lambda p: (need(p), p.since_ms, int(p.pane_id[1:]))))


def alert_due(
    verdict: Verdict, notified_at_ms: int | None, mute_until_ms: int | None, now_ms: int, settle_ms: int = 0
) -> bool:
    """Whether a blocked run still owes its one alert: not fired since the run began, not muted, and not a flicker.

    A prompt that something answers within `settle_ms` rings for nobody.
    """
    if verdict.state is not State.BLOCKED or (mute_until_ms or 0) > now_ms:
        return False
    settled = now_ms - verdict.since_ms >= settle_ms or now_ms < verdict.since_ms
    return settled and (notified_at_ms is None or notified_at_ms < verdict.since_ms)
