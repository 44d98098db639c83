"""Self-reports in `@agent_state`, and the claim as one hidden environment value. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents_plugin.core.evidence import Claim
from agents_plugin.core.numbers import MAX_PID, parse_int
from agents_plugin.core.states import Source, State

#: word -> (state, detail, ends a turn). `done` and `errored` are turn ends: idle, and worth a look.
WORDS: dict[str, tuple[State, str | None, bool]] = {
    "working": (State.WORKING, None, False),
    "blocked": (State.BLOCKED, None, False),
    "idle": (State.IDLE, None, False),
    "unknown": (State.UNKNOWN, None, False),
    "done": (State.IDLE, None, True),
    "needs_input": (State.BLOCKED, None, False),
    "errored": (State.IDLE, "error", True),
}
_REPORT = re.compile(r"\s*([A-Za-z_]+)(?::([0-9]{1,16}))?\s*")
_SECONDS_BELOW = 100_000_000_000  # as milliseconds that is 1973; as seconds the year 5138
_UNSAFE = re.compile(r"[^A-Za-z0-9_.:-]+")
_MAX_WHY = 64
_FIELDS = 8


@dataclass(frozen=True)
class Report:
    """A self-report: a claim, or `clear` (the word `none`)."""

    claim: Claim | None
    clear: bool = False


def parse_report(raw: str, now_ms: int, pid: int | None = None) -> Report | None:
    """The report in a raw `@agent_state` value; None when it is not one (unknown word, stray text).

    Without a stamp it counts as made now; a stamp in seconds or milliseconds is taken, never one in the future.
    `pid` is the process whose end ends the report, when it is known.
    """
    found = _REPORT.fullmatch(raw)
    if not found:
        return None
    word = found[1].lower()
    if word == "none":
        return Report(None, clear=True)
    if word not in WORDS:
        return None
    state, detail, turn_end = WORDS[word]
    at = min(_stamp(found[2], now_ms), now_ms)
    return Report(Claim(state, at, Source.REPORT, detail, turn_end, why=f"@agent_state {word}", pid=pid))


def foreign(raw: str, published: str | None) -> bool:
    """Whether somebody else wrote this `@agent_state`: it is there and differs from the token we published last."""
    return bool(raw) and raw != (published or "")


def serialise_claim(claim: Claim) -> str:
    """The claim as `state|at|source|detail|turn end|why|pid|until`, of harmless characters only, without its text."""
    fields = (
        claim.state.value,
        str(claim.at_ms),
        claim.source.value,
        claim.detail or "",
        "1" if claim.turn_end else "",
        _UNSAFE.sub("_", claim.why)[:_MAX_WHY],
        "" if claim.pid is None else str(claim.pid),
        "" if claim.until_ms is None else str(claim.until_ms),
    )
    return "|".join(_UNSAFE.sub("_", field) for field in fields)


def parse_claim(value: str) -> Claim | None:
    """The claim in a hidden environment value; None when it is absent or damaged."""
    fields = value.split("|")
    if len(fields) != _FIELDS:
        return None
    state, at, source, detail, turn_end, why, pid, until = fields
    at_ms, owner, until_ms = parse_int(at), parse_int(pid, 1, MAX_PID), parse_int(until)
    if at_ms is None or (pid and owner is None) or (until and until_ms is None):
        return None
    try:
        return Claim(
            State(state),
            at_ms,
            Source(source),
            detail or None,
            turn_end == "1",
            why=why,
            pid=owner,
            until_ms=until_ms,
        )
    except ValueError:
        return None


def _stamp(digits: str | None, now_ms: int) -> int:
    value = parse_int(digits)
    if value is None:
        return now_ms
    return value * 1000 if value < _SECONDS_BELOW else value
