"""What the fold remembers of a pane between passes: ages on the monotonic clock, and the verdict before a prompt.

It survives in memory (monitor) or as JSON (one-shot passes); losing it only starts the windows again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agents_plugin.core.evidence import Claim, Verdict
from agents_plugin.core.numbers import MAX, parse_int
from agents_plugin.core.states import Source, State

#: Evidence stamped this far ahead of the clock is still believed (two clocks of one machine, rounding).
SKEW_MS = 1_500


@dataclass(frozen=True)
class Memory:
    """`chrome` is the state the screen has shown without a break since `chrome_mono`; `claim_mono` is when the claim
    named `claim_key` had age 0 (both monotonic ms). `before` is the last working or idle verdict, `beaten` names the
    claim that the screen overruled.
    """

    chrome: State | None = None
    chrome_mono: int = 0
    claim_key: str = ""
    claim_mono: int = 0
    before: Verdict | None = None
    beaten: str = ""

    def fresh(self) -> Memory:
        """What still holds when nothing of this agent process is published: only the age of its claim."""
        return Memory(claim_key=self.claim_key, claim_mono=self.claim_mono)

    def seeing(self, chrome: State | None, mono_ms: int) -> Memory:
        """The memory after a look that shows `chrome` (None: nothing, or the screen is nobody's evidence)."""
        if chrome == self.chrome and self.chrome_mono <= mono_ms:
            return self
        return replace(self, chrome=chrome, chrome_mono=mono_ms)

    def hearing(self, claim: Claim | None, now_ms: int, mono_ms: int) -> Memory:
        """The memory with this claim's age. A claim met for the first time is as old as its stamp says."""
        key = claim_key(claim)
        if key == self.claim_key and self.claim_mono <= mono_ms:
            return self
        age = max(0, now_ms - claim.at_ms) if claim else 0
        return replace(self, claim_key=key, claim_mono=mono_ms - age)


def claim_key(claim: Claim | None) -> str:
    """What makes a claim the same claim in the next pass."""
    return f"{claim.state}.{claim.at_ms}.{claim.source}" if claim else ""


def believable(at_ms: int, now_ms: int) -> int:
    """An evidence time, or 0 (older than anything) when the wall clock was set back below it."""
    return at_ms if at_ms <= now_ms + SKEW_MS else 0


def dump(memory: Memory) -> dict[str, object]:
    """The memory as JSON data."""
    before = memory.before
    return {
        "chrome": memory.chrome and memory.chrome.value,
        "chrome_mono": memory.chrome_mono,
        "claim": memory.claim_key,
        "claim_mono": memory.claim_mono,
        "before": before and _plain(before),
        "beaten": memory.beaten,
    }


def load(data: object) -> Memory:
    """The memory from JSON data; anything that does not fit gives an empty one."""
    if not isinstance(data, Mapping):
        return Memory()
    try:
        chrome, before = data["chrome"], data["before"]
        return Memory(
            State(chrome) if chrome else None,
            _ms(data["chrome_mono"]),
            str(data["claim"]),
            _ms(data["claim_mono"]),
            _verdict(before) if before else None,
            str(data["beaten"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return Memory()


def _plain(verdict: Verdict) -> list[object]:
    state, source = verdict.state.value, verdict.source.value
    return [state, verdict.detail, source, verdict.evidence_at_ms, verdict.since_ms, verdict.why]


def _verdict(data: list[object]) -> Verdict:
    state, detail, source, evidence_at, since, why = data
    return Verdict(
        State(state),
        str(detail) if detail else None,
        Source(source),
        _ms(evidence_at),
        _ms(since),
        str(why),
    )


def _ms(value: object) -> int:
    """A time on either clock; monotonic ones of what began before the machine did are negative."""
    number = parse_int(value, -MAX)
    if number is None:
        raise ValueError("not a time")
    return number
