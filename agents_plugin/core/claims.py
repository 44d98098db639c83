"""Which of several claims counts: the newest, with a fixed order for equal times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agents_plugin.core.evidence import Claim
from agents_plugin.core.memory import believable
from agents_plugin.core.states import Source, State

#: Spool files carry 4 ms steps, so a tool's start and its prompt can share a stamp: who needs you wins, then an end.
_RANK = {State.BLOCKED: 3, State.IDLE: 2, State.WORKING: 1, State.UNKNOWN: 0}
_SOURCE = {Source.REPORT: 2, Source.HOOK: 1, Source.RECORD: 0}


def newest(claims: Iterable[Claim], now_ms: int, precedence: tuple[str, ...] = ()) -> Claim | None:
    """The claim that counts, in whatever order they come. `precedence` names events; in a tie the later one wins."""
    ranks = {event: rank for rank, event in enumerate(precedence, 1)}

    def order(claim: Claim) -> tuple[int, int, int, int, bool, str, str, str]:
        at = believable(claim.at_ms, now_ms)
        rank, source = _RANK[claim.state], _SOURCE.get(claim.source, 0)
        return (at, ranks.get(claim.why, 0), rank, source, claim.turn_end, claim.detail or "", claim.why, claim.text)

    return max(claims, key=order, default=None)


def last_turn_end(claims: Iterable[Claim], now_ms: int) -> int | None:
    """When the last reported turn ended, among these claims."""
    ends = [claim.at_ms for claim in claims if claim.turn_end and believable(claim.at_ms, now_ms)]
    return max(ends, default=None)


def without_background(claim: Claim) -> Claim:
    """The claim for people who count live background work as nobody's move (`@agents-background off`)."""
    if claim.state is State.WORKING and claim.detail == "background":
        return replace(claim, state=State.IDLE)
    return claim
