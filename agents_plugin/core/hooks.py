"""What an agent's own events mean: the `hooks:` section of a manifest, and one event read by it.

An event becomes a `Signal`, which says what it means by itself; `core/hookfold.py` puts the signals of a pane in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from agents_plugin.core.guard import Guard, RunawayError
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.states import State
from agents_plugin.core.text import strip_controls

PLACE = re.compile(r"\{([^{}]*)\}")
#: Text that is looked at: a command or a question may be a whole file.
_MAX_TEXT = 400
_MAX_TASKS = 64
_MAX_ID = 200

Steps = tuple[str, ...]  # a path into a payload: `tool_input.command`, `messages.0`


@dataclass(frozen=True)
class Condition:
    """A test of one payload field. `present` means: there, and neither null nor empty."""

    steps: Steps
    test: str
    value: Any

    def holds(self, payload: object) -> bool:
        """Whether the payload passes."""
        found = _at(payload, self.steps)
        if self.test == "present":
            return (found not in (None, "", [], {})) is self.value
        if self.test == "equals":
            return type(found) is type(self.value) and bool(found == self.value)
        if self.test == "in":
            return any(type(found) is type(value) and found == value for value in self.value)
        return isinstance(found, str) and self.value.search(found[:_MAX_TEXT]) is not None


@dataclass(frozen=True)
class HookRule:
    """What one kind of event means; the first rule that fits an event counts.

    `turn` start: a turn begins, whatever came before. end: it is over. fail: it ended in an error, if one was open.
    Without it a state counts only inside a turn: what belongs to a turn that is over changes nothing.
    `session` start and end: of the conversation. `adopts`: what a session we do not know says counts, and it is ours.
    `starts`, `stops`: where the id of a subagent stands. `asks`, `answers`: where the id of a request stands.
    `after`: counts only when the last event that counted is one of these. `person`: somebody sat at the keyboard.
    `late_ms`: it tells of what was so long ago at least, and counts as said then.
    """

    on: tuple[str, ...]
    when: tuple[Condition, ...] = ()
    ignore: bool = False
    state: State | None = None
    detail: str | None = None
    text: tuple[str, ...] = ()
    turn: str = ""
    session: str = ""
    adopts: bool = False
    starts: tuple[Steps, ...] = ()
    stops: tuple[Steps, ...] = ()
    asks: tuple[Steps, ...] = ()
    answers: tuple[Steps, ...] = ()
    after: tuple[str, ...] = ()
    person: bool = False
    late_ms: int = 0


@dataclass(frozen=True)
class Tasks:
    """Where a payload lists all background work: of the running items, those that are agents and the others."""

    steps: Steps
    id: Steps = ("id",)
    running: tuple[Condition, ...] = ()
    agents: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Hooks:
    """The `hooks:` section of a manifest. Paths with alternatives: the first that leads to something counts.

    `actor` is the id of the subagent an event comes from. `turn` is what all events of one turn share. `unique` are
    further fields that make a payload the only one of its kind, so that the same one again is the same event.
    `session_command` finds the session's id (group `id`) in the agent's command line. `origin` names the manifest.
    """

    events: tuple[HookRule, ...]
    covers: frozenset[State] = frozenset()
    precedence: tuple[str, ...] = ()
    session: tuple[Steps, ...] = ()
    actor: tuple[Steps, ...] = ()
    turn: tuple[Steps, ...] = ()
    unique: tuple[Steps, ...] = ()
    event: tuple[Steps, ...] = ()
    tasks: Tasks | None = None
    session_command: re.Pattern[str] | None = None
    origin: str = ""


@dataclass(frozen=True)
class Signal:
    """What one event says by itself. `key` names its content; `unique`: nothing else says exactly this.

    `agents` are the live background agents by id and `others` the number of other live background jobs, when the
    event lists them (None: it does not).
    """

    at_ms: int
    event: str
    key: str
    rank: int = 0
    unique: bool = False
    session: str = ""
    actor: str = ""
    turn_id: str = ""
    state: State | None = None
    detail: str | None = None
    text: str = ""
    turn: str = ""
    lifecycle: str = ""
    adopts: bool = False
    starts: str = ""
    stops: str = ""
    asks: str = ""
    answers: str = ""
    after: tuple[str, ...] = ()
    person: bool = False
    agents: tuple[str, ...] | None = None
    others: int = 0
    proven: bool = True  # the hook saw the process that speaks


def interpret(
    hooks: Hooks, event: str, payload: object, at_ms: int, key: str, guard: Guard | None = None
) -> Signal | None:
    """What an event says; None when the manifest gives it no meaning. `payload` is whatever the agent sent.

    Also None when the guard stops a rule, or has stopped it lately: which of the next ones held nobody knows.
    """
    running: HookRule | None = None
    try:
        with guard.limit() if guard else nullcontext():
            event = event or _id(payload, hooks.event)
            for rule in hooks.events:
                if event not in rule.on:
                    continue
                running = rule
                if guard and guard.barred(rule):
                    return None
                if all(condition.holds(payload) for condition in rule.when):
                    break
            else:
                return None
            if rule.ignore:
                return None
            return _signal(hooks, rule, event, payload, at_ms, key)
    except RunawayError:
        if guard:
            guard.stopped(running or hooks, f"{hooks.origin}: hooks of {strip_controls(event[:60])}")
        return None


def _signal(hooks: Hooks, rule: HookRule, event: str, payload: object, at_ms: int, key: str) -> Signal:
    asks, answers, turn_id = (_id(payload, paths) for paths in (rule.asks, rule.answers, hooks.turn))
    agents, others = _tasks(hooks.tasks, payload)
    return Signal(
        at_ms=at_ms - rule.late_ms,
        event=event,
        key=key,
        rank=hooks.precedence.index(event) + 1 if event in hooks.precedence else 0,
        unique=bool(turn_id or asks or answers or _id(payload, hooks.unique)),
        session=_id(payload, hooks.session),
        actor=_id(payload, hooks.actor),
        turn_id=turn_id,
        state=rule.state,
        detail=rule.detail,
        text=_text(rule.text, payload),
        turn=rule.turn,
        lifecycle=rule.session,
        adopts=rule.adopts,
        starts=_id(payload, rule.starts),
        stops=_id(payload, rule.stops),
        asks=asks,
        answers=answers,
        after=rule.after,
        person=rule.person,
        agents=agents,
        others=others,
    )


def session_in(hooks: Hooks | None, command: str, guard: Guard | None = None) -> str:
    """The session's id that an agent's command line names, or empty."""
    wanted = hooks.session_command if hooks else None
    if wanted is None or (guard and guard.barred(wanted)):
        return ""
    try:
        with guard.limit() if guard else nullcontext():
            found = wanted.search(command)
    except RunawayError:
        if guard:
            guard.stopped(wanted, f"{hooks.origin if hooks else ''}: hooks.session_command")
        return ""
    return (found["id"] or "") if found else ""


def _at(value: object, steps: Steps) -> Any:
    for step in steps:
        if isinstance(value, Mapping):
            value = next(iter(value.values()), None) if step == "*" else value.get(step)
        elif isinstance(value, list) and (place := parse_int(step, high=len(value) - 1)) is not None:
            value = value[place]
        else:
            return None
    return value


def _id(payload: object, paths: Iterable[Steps]) -> str:
    """The first id there is, as text; ids are opaque, but not any text is one."""
    for steps in paths:
        found = _at(payload, steps)
        if isinstance(found, int) and not isinstance(found, bool):
            found = str(found)
        if isinstance(found, str) and found.strip():
            return strip_controls(found[:_MAX_ID])
    return ""


def _tasks(tasks: Tasks | None, payload: object) -> tuple[tuple[str, ...] | None, int]:
    listed = _at(payload, tasks.steps) if tasks else None
    if tasks is None or not isinstance(listed, list):
        return None, 0
    live = [item for item in listed if all(condition.holds(item) for condition in tasks.running)]
    agents = [item for item in live if all(condition.holds(item) for condition in tasks.agents)]
    names = (_id(item, (tasks.id,)) or str(number) for number, item in enumerate(agents[:_MAX_TASKS]))
    return tuple(names), len(live) - len(agents)


def _text(templates: Iterable[str], payload: object) -> str:
    """The first template all of whose places can be filled."""
    for template in templates:
        found: dict[str, str] = {place: _shown(payload, place) for place in PLACE.findall(template)}
        if all(found.values()):
            return PLACE.sub(lambda place, found=found: found[place[1]], template)[:_MAX_TEXT]  # type: ignore[misc]
    return ""


def _shown(payload: object, place: str) -> str:
    for path in place.split("|"):
        value = _at(payload, steps_of(path))
        if isinstance(value, str) and value.strip():
            line = strip_controls(value[:_MAX_TEXT])
            # 32 cells are few: of a path the last component says most.
            name = line.rstrip("/").rsplit("/", 1)[-1]
            return name if line.startswith("/") and " " not in line and name else line
    return ""


def steps_of(path: str) -> Steps:
    """A path into a payload, from the text people write."""
    return tuple(path.split("."))
