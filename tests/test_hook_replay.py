"""Recorded events of real agents: through the pure fold, and through spool, passes and a real tmux with screens."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin.core.hookfold import HookLog, HookMemory, apply
from agents_plugin.core.hooks import Signal
from agents_plugin.core.states import State
from tests.actor import Actor
from tests.file_times import date, written_as_dated
from tests.hooklogs import LOGS, Check, Entry, agent_of, checks, hooks_of, load, signal_of
from tests.stage import Stage
from tests.support import Server, wait_for

IDLE, WORKING, BLOCKED = State.IDLE, State.WORKING, State.BLOCKED
#: What an agent fires nothing for, so that its events alone are wrong: how many of the log's checks, by kind of action.
HOLES = {
    "claude": {"deny": 4, "interrupt": 4, "answer": 1, "dialog": 1},
    "claude-2.1.197": {"deny": 1, "interrupt": 1},
    "codex": {"deny": 1, "interrupt": 2, "answer": 1, "over": 1},
    "copilot": {"deny": 2, "interrupt": 1, "over": 3},
    "gemini": {"deny": 2, "answer": 1, "dialog": 1},
}
#: Screens of each agent: at rest, at work, and what asks.
SCREENS = {
    "claude": ("idle__fresh", "working__streaming_2s", "blocked__bash_permission", "blocked__ask_user_question"),
    "codex": (
        "idle__after_exec_allowed",
        "working__streaming_2s",
        "blocked__exec_approval_longbash",
        "blocked__request_user_input_down",
    ),
    "gemini": ("idle__after_deny", "working__streaming", "blocked__shell", "blocked__question"),
    "qwen": ("idle__after_reject", "working__thinking", "blocked__edit", "blocked__question"),
    "opencode": ("idle__fresh", "working__streaming", "blocked__write", "blocked__question_two_1"),
    "kilo": ("idle__fresh", "working__streaming", "blocked__edit", "blocked__edit"),
    "copilot": ("idle__after-turn", "working__streaming-3s", "blocked__shell-rm", "blocked__question"),
    "pi": ("idle__fresh", "working__plain-streaming", "blocked__shell-permission-gate-ext", "blocked__question-ext"),
}
#: What is left on the screen by an action, where it differs from a finished turn.
LEFT = {
    ("codex", "deny"): "idle__after_exec_denied_esc",
    ("codex", "interrupt"): "idle__after_exec_denied_esc",
    ("codex", "error shown"): "idle__error_400",
    ("opencode", "deny"): "idle__after_reject",
    ("opencode", "interrupt"): "idle__after_interrupt",
    ("qwen", "interrupt"): "idle__after_interrupt",
    ("copilot", "interrupt"): "idle__after-interrupt",
    ("copilot", "cancelled on screen"): "idle__after-interrupt",
}


def name(path: Path) -> str:
    return path.name.split(".jsonl")[0]


def test_there_are_logs() -> None:
    assert {agent_of(path) for path in LOGS} == set(SCREENS)
    assert sum(len(list(checks(path))) for path in LOGS) > 150


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_events_alone_are_right_but_for_the_holes(path: Path) -> None:
    """At each action of the driver, by the events until then."""
    signals = list(signals_of(path))
    wrong: Counter[str] = Counter()
    for check in checks(path):
        memory = HookMemory()
        for signal in signals:
            if signal.at_ms <= check.t_ms:
                memory = apply(memory, signal)
        state = memory.claim.state if memory.claim else None
        if state is not check.state:
            wrong[check.action.kind] += 1
    assert wrong == HOLES.get(name(path), {})


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_what_is_blocked_was_asked_for(path: Path) -> None:
    """Never by an event whose rule does not say so."""
    memory = HookMemory()
    for signal in signals_of(path):
        memory = apply(memory, signal)
        if memory.claim and memory.claim.state is BLOCKED:
            assert any(rule.state is BLOCKED and memory.claim.why in rule.on for rule in hooks_of(path).events)


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_every_event_delivered_twice_changes_nothing(path: Path) -> None:
    """The same again, at once and a second later."""
    once, twice = HookMemory(), HookMemory()
    for signal in signals_of(path):
        once = apply(once, signal)
        twice = apply(apply(twice, signal), signal)
        assert twice.claim == once.claim
        assert (twice.subagents, twice.turn, twice.session) == (once.subagents, once.turn, once.session)


@pytest.mark.parametrize("path", LOGS, ids=name)
def test_delivery_in_any_order_adds_up_to_the_same(path: Path) -> None:
    """The last events of a log, forwards, backwards and interleaved."""
    signals = list(signals_of(path))[-60:]
    orders = (signals, signals[::-1], signals[::2] + signals[1::2])
    assert len({HookLog().hearing(order).folded() for order in orders}) == 1
    bit_by_bit = HookLog()
    for signal in signals[::-1]:
        bit_by_bit = bit_by_bit.hearing([signal])
    assert bit_by_bit.folded() == HookLog().hearing(signals).folded()


def signals_of(path: Path) -> Iterator[Signal]:
    hooks = hooks_of(path)
    for number, entry in enumerate(load(path)):
        signal = signal_of(hooks, entry, number) if entry.event else None
        if signal:
            yield signal


# --- through spool, passes and screens


class Play:
    """A log played in virtual time: its events by `scripts/agent-hook` from a pane that shows what the agent showed."""

    def __init__(self, server: Server, path: Path) -> None:
        self.path, self.hooks = path, hooks_of(path)
        self.agent = agent_of(path)
        self.stage = Stage(server)
        # Processes of this test must have begun before the events they fire, however slow the machine is.
        self.stage.clock.advance(3_600_000)
        self.start = self.stage.clock.wall
        self.actor: Actor | None = None
        self.screen = ""
        self.wrong: list[str] = []
        self.checked = 0

    def run(self) -> None:
        planned: list[tuple[int, int, Entry | Check]] = [(entry.t_ms, 0, entry) for entry in load(self.path)]
        planned += [(check.t_ms, 1, check) for check in checks(self.path)]
        for t_ms, _, item in sorted(planned, key=lambda step: step[:2]):
            self.wait(t_ms)
            if isinstance(item, Check):
                self.check(item)
            elif item.event:
                self.fire(item)
            else:
                self.act(item)

    def wait(self, t_ms: int) -> None:
        """Let virtual time pass; as the monitor does, look a few times while something may still change."""
        left = self.start + t_ms - self.stage.clock.wall
        for pause in (300, 1_000, 1_000, 1_200):
            if left > pause + 200:
                self.stage.step(pause)
                left -= pause
        if left > 0:
            self.stage.clock.advance(left)

    def show(self, kind: int, left: str = "") -> None:
        fixture = (left or SCREENS[self.agent][kind]) + "__w100"
        if self.actor is None:
            self.actor = Actor(self.stage.server, self.agent)
            self.screen = ""
        if fixture != self.screen:
            self.screen = fixture
            self.actor.show(fixture)
            for mind in self.stage.cycle._minds.values():
                mind.seen = None  # the clock of tmux and ours differ here: a quiet window proves nothing

    def fire(self, entry: Entry) -> None:
        signal = signal_of(self.hooks, entry)
        if signal is None:
            return
        if self.actor is None:
            self.show(0)
        assert self.actor
        at(self.actor.fire(entry.text, entry.payload), self.stage.clock.wall)
        if not signal.actor and signal.session not in self.children():
            if signal.turn in ("end", "fail") and not signal.agents:
                self.show(0)
            elif signal.state is WORKING or signal.answers:
                self.show(1)
        self.stage.step(20)

    def children(self) -> tuple[str, ...]:
        voices = (mind.voice for mind in self.stage.cycle._minds.values())
        return tuple(child for voice in voices if voice for child in voice.memory.children)

    def act(self, entry: Entry) -> None:
        if entry.kind == "gone":
            if self.actor:
                self.actor.quit()
                pane, self.actor = self.actor.pane, None
                panes = ("list-panes", "-a", "-F", "#{pane_id}")
                wait_for(lambda: pane not in self.stage.server.cmd(*panes).split(), what="pane gone")
        elif entry.kind == "dialog":
            self.show(3 if "question" in self.claim_detail() else 2)
        elif entry.kind == "answer":
            self.show(1)
        elif entry.kind in ("deny", "interrupt", "over"):
            self.show(0, LEFT.get((self.agent, entry.kind), LEFT.get((self.agent, entry.text), "")))
        self.stage.step(20)

    def claim_detail(self) -> str:
        voices = [mind.voice for mind in self.stage.cycle._minds.values() if mind.voice]
        return (voices[-1].memory.claim.detail or "") if voices and voices[-1].memory.claim else ""

    def check(self, check: Check) -> None:
        self.stage.step(10)
        self.checked += 1
        state = self.actor.state() if self.actor else "no agent"
        if not state.startswith(check.state.value):
            action = check.action
            self.wrong.append(f"{check.t_ms} ms, {action.kind} ({action.text}): {state}, not {check.state}")


def at(file: Path, wall_ms: int) -> None:
    """Let a spool file be written at another time."""
    lines = file.read_bytes().split(b"\n")
    head = lines.index(b"")
    kept = [line for number, line in enumerate(lines) if number > head or not line.startswith((b"uptime=", b"time="))]
    file.write_bytes(b"\n".join(kept))
    date(file, wall_ms)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("path", LOGS, ids=name)
def test_events_and_screens_together_are_right_at_every_action(server: Server, path: Path) -> None:
    """Blocked at the latest with its dialog, working and idle within 3.5 s of what made them so."""
    play = Play(server, path)
    began = time.monotonic()
    with written_as_dated():
        play.run()
    print(f"{name(path)}: {play.checked} checks, {len(play.wrong)} wrong, {time.monotonic() - began:.0f} s")
    assert play.checked == len(list(checks(path)))
    assert not play.wrong
