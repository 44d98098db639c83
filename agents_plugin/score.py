"""Scores readings of saved screens, and replays of tapes, against what was true. Times in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agents_plugin.core.evidence import Reading
from agents_plugin.core.fold import Windows
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.states import State
from agents_plugin.tape import Replay, Tape, Transition

#: Truth lines come from the driver of the recording: they are late or early by up to this much.
SLACK_MS = 1_000
#: Drivers wrote the end of a turn when they noticed it.
TURN_SLACK_MS = 3_000
BLOCKED_WITHIN_MS = 1_500
BLOCKED_STAYS_MS = 1_000
IDLE_GRACE_MS = 1_000

Span = tuple[int, int, State]


@dataclass
class Score:
    """Per state how many truth spans were judged, and which were missed; `false_blocked`: blocked outside truth.

    `late_ms`: per state how long after the truth each judged span was published, those never published left out.
    """

    judged: dict[str, int] = field(default_factory=dict)
    late_ms: dict[str, list[int]] = field(default_factory=dict)
    missed: list[dict[str, object]] = field(default_factory=list)
    false_blocked: list[dict[str, object]] = field(default_factory=list)
    false_idle_ms: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.missed and not self.false_blocked

    def row(self) -> dict[str, object]:
        """As `agents replay --json` prints it."""
        return {
            "clean": self.clean,
            "judged": self.judged,
            "late_ms": self.late_ms,
            "missed": self.missed,
            "false_blocked": self.false_blocked,
            "false_idle_ms": self.false_idle_ms,
        }


def judge(truth: str, reading: Reading) -> str:
    """What is wrong with a reading of a screen whose truth is known: empty when it is right, else `false-blocked`,
    `missed-blocked`, `wrong` (another state) or `silent` (nothing, or a skip rule).

    Truth `dead` only forbids blocked, `unknown` forbids nothing.
    """
    best = reading.best
    got = str(best.state) if best else ""
    if truth == got:
        return ""
    if got == "blocked":
        return "" if truth == "unknown" else "false-blocked"
    if truth == "blocked":
        return "missed-blocked"
    if truth in ("dead", "unknown"):
        return ""
    return "wrong" if got else "silent"


def scored(manifest: Manifest, tape: Tape) -> Score:
    """A whole tape through the fold as the monitor would see it, with the default windows."""
    dwell = Windows().dwell_ms if manifest.dwell_ms is None else manifest.dwell_ms
    return score(tape, Replay(manifest, tape).run(), dwell, turn_slack_ms=TURN_SLACK_MS)


def score(
    tape: Tape,
    transitions: Iterable[Transition],
    dwell_ms: int,
    slack_ms: int = SLACK_MS,
    turn_slack_ms: int = SLACK_MS,
) -> Score:
    """Compare. A truth span no longer than its limit is not judged; idle gets `turn_slack_ms` at the turn's end."""
    end = tape.frames[-1].t_ms
    truths = list(spans([(at, state) for at, state in tape.truths], end))
    published = list(spans([(item.t_ms, item.verdict.state) for item in transitions], end))
    result = Score()
    if not truths:
        return result
    allowed = {
        State.BLOCKED: BLOCKED_WITHIN_MS,
        State.IDLE: dwell_ms + IDLE_GRACE_MS + turn_slack_ms,
        State.WORKING: dwell_ms + slack_ms,
    }
    for begin, stop, state in truths:
        if state not in allowed or stop - begin <= allowed[state]:
            continue
        result.judged[state.value] = result.judged.get(state.value, 0) + 1
        late = _latency(published, begin, stop, state)
        if late is not None:
            result.late_ms.setdefault(state.value, []).append(late)
        if late is None or late > allowed[state]:
            result.missed.append({"t_ms": begin, "truth": state.value, "for_ms": stop - begin, "late_ms": late})
    for begin, stop, state in published:
        if state is State.BLOCKED:
            lingering = [(a, b + BLOCKED_STAYS_MS, truth) for a, b, truth in truths if truth is state]
            result.false_blocked += [
                {"t_ms": a, "for_ms": b - a} for a, b in _outside(begin, stop, lingering, slack_ms)
            ]
        if state is State.IDLE:
            wrong = _outside(begin, stop, [span for span in truths if span[2] is not State.WORKING], slack_ms)
            result.false_idle_ms += sum(b - a for a, b in wrong if a >= truths[0][0])
    return result


def spans(points: Sequence[tuple[int, State]], end: int) -> Iterator[Span]:
    """(begin, end, state) of a list of changes; repeated states are one span."""
    runs: list[tuple[int, State]] = []
    for at, state in points:
        if not runs or runs[-1][1] is not state:
            runs.append((at, state))
    for index, (at, state) in enumerate(runs):
        stop = runs[index + 1][0] if index + 1 < len(runs) else end
        if stop > at:
            yield at, stop, state


def _latency(published: list[Span], begin: int, stop: int, state: State) -> int | None:
    """How long after `begin` the state was published first, None when it was not before `stop`."""
    for a, b, shown in published:
        if shown is state and b > begin and a < stop:
            return max(0, a - begin)
    return None


def _outside(begin: int, stop: int, truths: Sequence[Span], slack: int) -> list[tuple[int, int]]:
    """The parts of [begin, stop] farther than `slack` from every one of these spans."""
    parts = [(begin, stop)]
    for a, b, _ in truths:
        low, high = a - slack, b + slack
        parts = [piece for x, y in parts for piece in ((x, min(y, low)), (max(x, high), y)) if piece[1] > piece[0]]
    return parts
