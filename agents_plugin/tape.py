"""Recordings of an agent's screen: JSON lines of frames, events and truths. Reads them and replays them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents_plugin.core.attention import Mark, mark
from agents_plugin.core.claims import newest
from agents_plugin.core.evidence import Claim, Identity, Look, PaneRow, Screen, Verdict
from agents_plugin.core.fold import Decision, Facts, Sight, Situation, Windows, fold
from agents_plugin.core.guard import Guard
from agents_plugin.core.look import Seen, plan_look
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.memory import Memory
from agents_plugin.core.numbers import parse_float
from agents_plugin.core.report import parse_report
from agents_plugin.core.screen import read
from agents_plugin.core.states import Source, State
from agents_plugin.host.records import claude_record
from agents_plugin.saved import screen_of

#: How often the monitor passes while something can change.
PASS_MS = 1_000
#: A poke (an event, a record that changed) is followed by a pass this soon.
POKE_MS = 50


class TapeError(ValueError):
    """A line that is no frame, event or truth; `str()` names it."""


@dataclass(frozen=True)
class Frame:
    """The screen from `t_ms` on. `activity` is tmux's `window_activity`, whole seconds."""

    t_ms: int
    screen: Screen
    activity: int
    foreground: bool = True


@dataclass(frozen=True)
class Tape:
    """A recording, each part in order of time (epoch ms)."""

    frames: tuple[Frame, ...]
    claims: tuple[tuple[int, Claim], ...] = ()  # when it became known, and what it says
    truths: tuple[tuple[int, State], ...] = ()


@dataclass(frozen=True)
class Transition:
    """A verdict that differs visibly from the one before, and when it was published."""

    t_ms: int
    verdict: Verdict
    attention: bool

    def row(self) -> dict[str, object]:
        """As `agents replay --json` prints it."""
        verdict = self.verdict
        return {
            "t_ms": self.t_ms,
            "state": str(verdict.state),
            "detail": verdict.detail,
            "source": str(verdict.source),
            "why": verdict.why,
            "attention": self.attention,
        }


def open_tape(path: Path) -> Tape:
    """A tape from a file, `.gz` or plain. Raises `OSError` or `TapeError`."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
                return load(lines)
        with path.open(encoding="utf-8", errors="replace") as lines:
            return load(lines)
    except EOFError:
        raise TapeError("it is cut short") from None


def load(lines: Iterable[str]) -> Tape:
    """A tape from JSON lines. Lines that only note something else are left out. Raises `TapeError`."""
    frames: list[Frame] = []
    claims: list[tuple[int, Claim]] = []
    truths: list[tuple[int, State]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            t_ms = _ms(data["t_ms"])
            if "screen" in data:
                frames.append(_frame(t_ms, data, frames[-1] if frames else None))
            elif "truth" in data:
                if data["truth"] in set(map(str, State)):
                    truths.append((t_ms, State(data["truth"])))
            elif "event" in data:
                claims += [(t_ms, claim) for claim in _claims(t_ms, data)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TapeError(f"line {number}: {error}") from None
    if not frames:
        raise TapeError("there is no frame on it")
    frames.sort(key=lambda frame: frame.t_ms)
    claims.sort(key=lambda pair: pair[0])
    truths.sort(key=lambda pair: pair[0])
    return Tape(tuple(frames), tuple(claims), tuple(truths))


def _frame(t_ms: int, data: Mapping[str, Any], last: Frame | None) -> Frame:
    screen = screen_of(data["screen"], data)
    changed = last is None or screen != last.screen
    activity = _ms(data.get("window_activity") or (t_ms // 1000 if changed or last is None else last.activity))
    if changed and last is not None:
        # A recorder sees a change up to a poll late: here the screen changes when the frame was taken.
        activity = max(activity, t_ms // 1000)
    return Frame(t_ms, screen, activity, bool(data.get("foreground", True)))


def _claims(t_ms: int, data: Mapping[str, Any]) -> Iterator[Claim]:
    """The claims of an event line: `report` (value), `record` (a Claude session record), `claim` (spelled out)."""
    event = data["event"]
    if event == "report":
        report = parse_report(str(data["value"]), t_ms)
        if report and report.claim:
            yield report.claim
    elif event == "record":
        claim = claude_record(data["record"], _ms(data.get("mtime_ms", t_ms))).claim
        if claim:
            yield replace(claim, pid=None)
    elif event == "claim":
        at, detail = _ms(data.get("at_ms", t_ms)), data.get("detail")
        source = Source(data.get("source", "hook"))
        yield Claim(State(data["state"]), at, source, detail, bool(data.get("turn_end")), why=str(data.get("why", "")))


def _ms(value: object) -> int:
    number = parse_float(value)
    if number is None:
        raise ValueError("not a time")
    return int(number)


@dataclass
class Replay:
    """The whole fold over a tape in virtual time, passing as the monitor does."""

    manifest: Manifest
    tape: Tape
    windows: Windows = field(default_factory=Windows)
    guard: Guard | None = None
    pass_ms: int = PASS_MS
    captures: int = 0
    passes: int = 0

    def run(self) -> Iterator[Transition]:
        """Every published transition, in order."""
        self._sight = Sight(self.manifest.visible, self.manifest.proven, self.manifest.dwell_ms)
        self._seen: Seen | None = None
        self._claim: Claim | None = None
        self._decision: Decision | None = None
        frames, events = self.tape.frames, list(self.tape.claims)
        verdict: Verdict | None = None
        start, end = frames[0].t_ms, frames[-1].t_ms
        now, current, marked = start, 0, False
        while now <= end:
            while current + 1 < len(frames) and frames[current + 1].t_ms <= now:
                current += 1
            arrived = [claim for at, claim in events if at <= now]
            events = events[len(arrived) :]
            decision = self._pass(frames[current], arrived, verdict, now, now - start)
            self._decision, self._claim = decision, decision.claim
            if decision.verdict and _differs(verdict, decision.verdict):
                change = mark(verdict, decision.verdict, decision.came_from, marked)
                marked = marked if change is Mark.KEEP else change is Mark.RAISE
                yield Transition(now, decision.verdict, marked)
            verdict = decision.verdict
            now = self._next(now, start, decision, events)

    def _pass(self, frame: Frame, arrived: list[Claim], previous: Verdict | None, now: int, mono: int) -> Decision:
        self.passes += 1
        claims = tuple(arrived) + ((self._claim,) if self._claim else ())
        claim = newest(claims, now)
        look = self._look(frame, claim, now)
        memory = self._decision.memory if self._decision else Memory()
        facts = Facts(foreground=frame.foreground)
        identity = Identity(self.manifest.id, "replay")
        return fold(Situation(identity, previous, claims, look, now, mono, memory, facts, self._sight, self.windows))

    def _look(self, frame: Frame, claim: Claim | None, now: int) -> Look:
        row = _row(frame)
        due = self._decision is not None and self._decision.due_mono is not None
        claim_at = claim.at_ms if claim else None
        plan = plan_look(self._seen, row, now, foreground=frame.foreground, rules="tape", claim_at_ms=claim_at, due=due)
        look = plan.look
        if look is None:
            self.captures += 1
            look = Look(read(self.manifest, frame.screen, self.guard), now)
        self._seen = Seen(look, row, frame.foreground, "tape") if plan.capture or not self._seen else self._seen
        return look

    def _next(self, now: int, start: int, decision: Decision, events: list[tuple[int, Claim]]) -> int:
        times = [now + self.pass_ms]
        if decision.due_mono is not None and start + decision.due_mono > now:
            times.append(start + decision.due_mono)
        if events:
            times.append(max(events[0][0] + POKE_MS, now + 1))
        return min(times)


def _differs(old: Verdict | None, new: Verdict) -> bool:
    return old is None or (old.state, old.detail) != (new.state, new.detail)


def _row(frame: Frame) -> PaneRow:
    screen = frame.screen
    return PaneRow(
        pane_id="%0",
        pane_pid=1,
        tty="",
        session_id="$0",
        window_id="@0",
        window_index=0,
        pane_index=0,
        active=True,
        dead=False,
        width=screen.cols or 0,
        height=len(screen.lines),
        cursor_x=screen.cursor_x or 0,
        cursor_y=screen.cursor_y or 0,
        cursor_shown=bool(screen.cursor_shown),
        alternate=bool(screen.alternate),
        scroll_position=0,
        in_mode=False,
        window_activity=frame.activity,
        title=screen.title,
    )
