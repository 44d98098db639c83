"""A pane in virtual time: feeds the fold pass after pass, as the monitor does, and keeps what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents_plugin.core.attention import Mark, mark
from agents_plugin.core.evidence import Claim, Identity, Look, Match, Reading, Verdict
from agents_plugin.core.fold import Decision, Facts, Sight, Situation, Windows, fold
from agents_plugin.core.memory import Memory
from agents_plugin.core.states import Source, State

WORKING, BLOCKED, IDLE, UNKNOWN = State.WORKING, State.BLOCKED, State.IDLE, State.UNKNOWN
ALL = frozenset((WORKING, BLOCKED, IDLE))
START_MS = 1_800_000_000_000
AGENT = Identity("claude", "tree", 100)
NOTHING = Reading()


def showing(state: State, detail: str | None = None, rule: str = "chrome", weak: bool = False) -> Reading:
    """A screen with chrome of one state."""
    chrome: dict[str, Any] = {state.value: Match(rule, state, detail, weak=weak)}
    return Reading(**chrome)


def claim(state: State, at_ms: int, source: Source = Source.HOOK, detail: str | None = None, **more: Any) -> Claim:
    """A claim; `more` are its other fields."""
    return Claim(state, at_ms, source, detail, **{"why": "event", **more})


@dataclass
class Lane:
    """One pane. Times of a step are milliseconds that pass on both clocks; `jump` moves the wall clock alone."""

    sight: Sight = field(default_factory=lambda: Sight(ALL, ALL))
    windows: Windows = field(default_factory=Windows)
    identity: Identity | None = AGENT
    facts: Facts = field(default_factory=Facts)
    now: int = START_MS
    mono: int = 50_000
    verdict: Verdict | None = None
    memory: Memory = field(default_factory=Memory)
    claims: tuple[Claim, ...] = ()
    marked: bool = False
    raised: int = 0
    last: Decision | None = None
    precedence: tuple[str, ...] = ()
    background: bool = True
    progress: State | None = None

    def step(self, ms: int = 1_000, reading: Reading | None = None, look_age: int = 0) -> Verdict | None:
        """Let time pass, then pass once with this screen (None: no look is possible)."""
        self.now += ms
        self.mono += ms
        look = None if reading is None else Look(reading, self.now - look_age)
        decision = fold(
            Situation(
                self.identity,
                self.verdict,
                self.claims,
                look,
                self.now,
                self.mono,
                self.memory,
                self.facts,
                self.sight,
                self.windows,
                self.progress,
                self.precedence,
                self.background,
            )
        )
        self.last, self.memory = decision, decision.memory
        if decision.verdict:
            change = mark(self.verdict, decision.verdict, decision.came_from, self.marked)
            self.raised += change is Mark.RAISE and not self.marked
            self.marked = self.marked if change is Mark.KEEP else change is Mark.RAISE
        self.verdict = decision.verdict
        self.claims = (decision.claim,) if decision.claim else ()
        return self.verdict

    def steps(self, count: int, reading: Reading | None, ms: int = 1_000) -> list[State | None]:
        """Several passes; the states that came out."""
        return [verdict.state if (verdict := self.step(ms, reading)) else None for _ in range(count)]

    def hear(self, state: State, source: Source = Source.HOOK, ago: int = 0, **more: Any) -> Claim:
        """A claim that is known from the next pass on."""
        heard = claim(state, self.now - ago, source, **more)
        self.claims = (*self.claims, heard)
        return heard

    def jump(self, ms: int) -> None:
        """The wall clock is set; the monotonic clock is not."""
        self.now += ms

    def restart(self) -> None:
        """The helper starts again and has lost its memory; what is published stands."""
        self.memory = Memory()

    @property
    def state(self) -> State | None:
        """The state that stands."""
        return self.verdict.state if self.verdict else None

    @property
    def shown(self) -> str:
        """`state/detail`."""
        return "" if not self.verdict else "/".join(filter(None, (self.verdict.state.value, self.verdict.detail)))


DIALOG = showing(BLOCKED, "permission", "permission")
SPINNER = showing(WORKING, None, "spinner")
COMPOSER = showing(IDLE, None, "composer")
INTERRUPTED = showing(IDLE, "interrupted", "interrupted")
MENU = Reading(skip="model-menu")
BLIND = Sight(ALL, frozenset())  # the rules see every state, none is proven


def working_lane(**more: object) -> Lane:
    """A pane whose agent has been seen working."""
    lane = Lane(**more)  # type: ignore[arg-type]
    lane.step(1_000, SPINNER)
    assert lane.state is WORKING
    return lane
