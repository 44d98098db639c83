"""The events of one pane in order: what is kept of them, and the claim they add up to. Pure.

Events are delivered late, doubled and out of order. A short log of the last ones is kept in order of their times and
folded anew whenever one arrives, so that the order of delivery does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agents_plugin.core.evidence import Claim
from agents_plugin.core.hooks import Signal
from agents_plugin.core.states import Source, State

#: The same content this close together is one event: two hook entries, two copies of a plugin. An agent that asks for
#: the same thing again needs longer, because somebody has to answer first.
DOUBLE_MS = 1_500
#: A subagent's start and stop, or the end of a turn and the next one's start, are written by hooks side by side.
CROSSED_MS = 2_000
#: The log: at most so many events, of the last so many milliseconds. What leaves it is folded for good.
KEPT_SIGNALS, KEPT_MS = 64, 120_000
_KEPT_IDS = 64
_ANY = "*"  # which turn is over is not known any more

OPEN, OVER, REST, FAILED = "open", "over", "rest", "failed"


@dataclass(frozen=True)
class Ask:
    """A request that waits for an answer of its own."""

    id: str
    session: str
    claim: Claim


@dataclass(frozen=True)
class HookMemory:
    """What the events so far add up to.

    `turn` is open, over (the agent said so), rest (it is back at its prompt), failed (an error ended it) or unknown
    (empty). `closed` is the id of the turn that is over. `subagents` are alive, `children` were ever seen, `gone`
    stopped lately. `claim` is what the agent says of itself, `before` what it said before it asked (`asks`).
    `person_ms`: when somebody last sat at the keyboard for certain.
    """

    session: str = ""
    ended: str = ""
    turn: str = ""
    turn_id: str = ""
    closed: str = ""
    last: str = ""
    claim: Claim | None = None
    before: Claim | None = None
    asks: tuple[Ask, ...] = ()
    subagents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    recent: tuple[tuple[str, int], ...] = ()
    at_ms: int = 0
    person_ms: int = 0


@dataclass(frozen=True)
class HookLog:
    """The last signals in order, and what those before them added up to."""

    base: HookMemory = field(default_factory=HookMemory)
    signals: tuple[Signal, ...] = ()

    def hearing(self, signals: Iterable[Signal]) -> HookLog:
        """The log with more signals, however they come. Those older than what was folded for good change nothing."""
        known = {_place(signal): signal for signal in self.signals}
        fresh = {_place(s): s for s in signals if s.at_ms >= self.base.at_ms and _place(s) not in known}
        if not fresh:
            return self
        log = sorted({**known, **fresh}.values(), key=_place)
        keep_from = log[-1].at_ms - KEPT_MS
        settled = max(len(log) - KEPT_SIGNALS, sum(signal.at_ms < keep_from for signal in log))
        base = self.base
        for signal in log[:settled]:
            base = apply(base, signal)
        return HookLog(base, tuple(log[settled:]))

    def folded(self) -> HookMemory:
        """What all events add up to."""
        memory = self.base
        for signal in self.signals:
            memory = apply(memory, signal)
        return memory


def starting_from(claim: Claim | None, session: str = "") -> HookLog:
    """A log for a pane of which only what is published is known: the claim kept from before, and the session."""
    if claim is None:
        return HookLog(HookMemory(session=session))
    turn = OVER if claim.state is State.IDLE else OPEN
    return HookLog(HookMemory(session=session, turn=turn, closed=_ANY, claim=claim, at_ms=claim.at_ms))


#: Of events of one time and rank the one that needs you counts last, as among claims.
_WEIGHT = {State.WORKING: 1, State.IDLE: 2, State.BLOCKED: 3}


def _place(signal: Signal) -> tuple[int, int, int, str, str]:
    weight = _WEIGHT.get(signal.state, 0) if signal.state else 0
    return (signal.at_ms, signal.rank, weight, signal.event, signal.key)


def apply(memory: HookMemory, signal: Signal) -> HookMemory:
    """The memory after one more event; events come in order of time."""
    if signal.unique and any(key == signal.key and signal.at_ms - at_ms <= DOUBLE_MS for key, at_ms in memory.recent):
        return memory
    recent = tuple(item for item in memory.recent if signal.at_ms - item[1] <= DOUBLE_MS)
    memory = replace(memory, at_ms=signal.at_ms, recent=(*recent, (signal.key, signal.at_ms))[-_KEPT_IDS:])
    if signal.lifecycle == "start" and not _from_child(memory, signal):
        return _begin(memory, signal)
    if signal.session and signal.session == memory.ended:
        return memory
    memory = _adopt(memory, signal)
    child = _from_child(memory, signal)
    announced = bool(signal.starts or signal.stops)  # a child's own session, or its id
    if not child and not announced and signal.session and memory.session and signal.session != memory.session:
        return memory  # another conversation's
    memory = _count(memory, signal, child)
    if signal.asks or signal.answers:
        return _ask(memory, signal)
    if child:
        return memory
    if signal.lifecycle == "end":
        return _end_session(memory, signal)
    return _speak(memory, signal)


def _from_child(memory: HookMemory, signal: Signal) -> bool:
    """Whether a subagent says this. What announces a subagent carries its id too, but speaks of it."""
    if signal.session and signal.session in memory.children and signal.session != memory.session:
        return True
    return bool(signal.actor) and not (signal.starts or signal.stops)


def _adopt(memory: HookMemory, signal: Signal) -> HookMemory:
    if not signal.session or signal.session == memory.session or _from_child(memory, signal):
        return memory
    if signal.adopts or (not memory.session and not (signal.starts or signal.stops)):
        return replace(memory, session=signal.session, ended="")
    return memory


def _count(memory: HookMemory, signal: Signal, child: bool) -> HookMemory:
    """Subagents that begin and end. One that is known to have stopped does not begin by an event that crossed it."""
    stopped = signal.stops
    if child and signal.turn == "end":
        stopped = signal.actor or signal.session
    if stopped:
        gone = (*memory.gone, (stopped, signal.at_ms))[-_KEPT_IDS:]
        alive = tuple(one for one in memory.subagents if one != stopped)
        asks = tuple(ask for ask in memory.asks if ask.session != stopped)
        memory = _answered(replace(memory, gone=gone, subagents=alive), asks, signal)
    started = signal.starts
    crossed = any(one == started and signal.at_ms - at_ms <= CROSSED_MS for one, at_ms in memory.gone)
    if started and not crossed and started not in memory.subagents:
        memory = replace(memory, subagents=(*memory.subagents, started)[-_KEPT_IDS:])
    known = tuple(one for one in (started, stopped) if one and one not in memory.children)
    return replace(memory, children=(*memory.children, *known)[-_KEPT_IDS:]) if known else memory


def _begin(memory: HookMemory, signal: Signal) -> HookMemory:
    """A conversation begins. Said late, after its first prompt, it undoes nothing."""
    if signal.session and signal.session == memory.session and memory.turn == OPEN:
        return memory
    claim = memory.claim
    if signal.state and not (claim and claim.state is signal.state and not claim.detail):
        claim = _claim(signal, signal.state, signal.detail)
    return HookMemory(
        session=signal.session,
        turn=OVER,
        last=signal.event,
        claim=claim,
        recent=memory.recent,
        at_ms=signal.at_ms,
        person_ms=signal.at_ms if signal.person else memory.person_ms,
    )


def _end_session(memory: HookMemory, signal: Signal) -> HookMemory:
    claim = memory.claim
    if signal.state and not (claim and claim.state is signal.state):
        claim = _claim(signal, signal.state, signal.detail)
    return HookMemory(
        ended=signal.session or memory.session,
        turn=OVER,
        last=signal.event,
        claim=claim,
        recent=memory.recent,
        at_ms=signal.at_ms,
        person_ms=signal.at_ms if signal.person else memory.person_ms,
    )


def _ask(memory: HookMemory, signal: Signal) -> HookMemory:
    """Requests with ids of their own, whoever of the pane's agents makes them: all of them use its one screen."""
    if signal.asks:
        if any(ask.id == signal.asks for ask in memory.asks):
            return memory
        asked = Ask(signal.asks, signal.session, _claim(signal, State.BLOCKED, signal.detail))
        before = memory.before if memory.asks else memory.claim
        return replace(
            memory, asks=(*memory.asks, asked)[-_KEPT_IDS:], before=before, claim=asked.claim, last=signal.event
        )
    left = tuple(ask for ask in memory.asks if ask.id != signal.answers)
    return _answered(replace(memory, person_ms=signal.at_ms if signal.person else memory.person_ms), left, signal)


def _answered(memory: HookMemory, left: tuple[Ask, ...], signal: Signal) -> HookMemory:
    if len(left) == len(memory.asks):
        return memory
    if left:
        return replace(memory, asks=left, claim=replace(left[-1].claim, at_ms=signal.at_ms))
    before = memory.before
    state, detail = (before.state, before.detail) if before else (State.WORKING, None)
    return replace(memory, asks=(), before=None, claim=_claim(signal, state, detail), last=signal.event)


def _speak(memory: HookMemory, signal: Signal) -> HookMemory:
    """The agent itself speaks of its own turn."""
    if signal.after and memory.last not in signal.after:
        return memory
    if signal.state is State.IDLE and _nobodys(memory, signal):
        return memory
    if signal.turn == "fail":
        # Helpers and subagents fail under their parent's name while no turn of it is open.
        if memory.turn in (OVER, FAILED):
            return memory
    elif signal.turn == "end":
        if (memory.turn == OVER and _same_turn(memory, signal)) or _crossed(memory, signal):
            return memory
    elif not signal.turn and signal.state is not None and memory.turn in (OVER, REST):
        # A prompt's return is told by a notification, which may be late itself: soon after it, nothing revives.
        settled = memory.turn == REST and memory.claim and signal.at_ms - memory.claim.at_ms > DOUBLE_MS
        if signal.state is State.IDLE or (_same_turn(memory, signal) and not settled):
            return memory
    if signal.person:
        memory = replace(memory, person_ms=signal.at_ms)
    if signal.state is None:
        return memory
    if signal.turn in ("end", "fail"):
        return _end_turn(memory, signal)
    if memory.asks and signal.state is State.WORKING:
        # Something else went on beside the request, which still waits for its answer.
        return replace(memory, before=_claim(signal, signal.state, signal.detail), turn=OPEN)
    if signal.state is State.IDLE:
        turn, turn_id, closed = REST, "", signal.turn_id or memory.turn_id
    else:
        turn, turn_id, closed = OPEN, signal.turn_id or memory.turn_id, memory.closed
        if signal.turn == "start":
            if memory.turn == OPEN and memory.turn_id != signal.turn_id:
                closed = memory.turn_id
            turn_id = signal.turn_id
    claim = _claim(signal, signal.state, signal.detail)
    if claim.state is State.BLOCKED and not claim.text and memory.claim and memory.claim.state is not State.IDLE:
        claim = replace(claim, text=memory.claim.text)  # of the tool that asks
    return replace(
        memory,
        turn=turn,
        turn_id=turn_id,
        closed=closed,
        last=signal.event,
        claim=claim,
        asks=() if signal.state is State.IDLE else memory.asks,
    )


def _nobodys(memory: HookMemory, signal: Signal) -> bool:
    """Whether one of several conversations says this, and not which."""
    return bool(memory.session and memory.subagents) and not signal.session and signal.agents is None


def _same_turn(memory: HookMemory, signal: Signal) -> bool:
    """Whether an event may belong to the turn that is over: the ids say otherwise, or nothing does."""
    return not signal.turn_id or memory.closed in (_ANY, signal.turn_id)


def _crossed(memory: HookMemory, signal: Signal) -> bool:
    """Whether this is the end of the turn before the one that has just begun: hooks that run side by side, or twice."""
    if memory.turn != OPEN or not memory.claim or signal.at_ms - memory.claim.at_ms > CROSSED_MS:
        return False
    return bool(memory.turn_id) and signal.turn_id not in ("", memory.turn_id) and signal.turn_id == memory.closed


def _end_turn(memory: HookMemory, signal: Signal) -> HookMemory:
    """The turn is over; live background agents keep the move with the agent, other background work does not."""
    agents = signal.agents or ()
    detail, others = signal.detail, signal.others
    working = bool(agents) and signal.turn == "end"
    if working or (others and detail is None):
        detail = "background"
    claim = _claim(
        signal, State.WORKING if working else State.IDLE, detail, turn_end=not working and detail != "interrupted"
    )
    failed = memory.turn == FAILED and signal.turn_id in ("", memory.turn_id)
    if failed and memory.claim:
        claim = memory.claim  # the end of what has failed already
    return replace(
        memory,
        turn=FAILED if signal.turn == "fail" else OVER,
        turn_id=(signal.turn_id or memory.turn_id) if signal.turn == "fail" else "",
        closed="" if signal.turn == "fail" else signal.turn_id or memory.turn_id,
        last=signal.event,
        claim=claim,
        before=None,
        asks=(),
        subagents=agents,
        children=tuple(dict.fromkeys((*memory.children, *agents)))[-_KEPT_IDS:],
    )


def _claim(signal: Signal, state: State, detail: str | None, turn_end: bool = False) -> Claim:
    return Claim(state, signal.at_ms, Source.HOOK, detail, turn_end, signal.text, signal.event, proven=signal.proven)
