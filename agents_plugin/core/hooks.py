"""What an agent's own events mean: the `hooks:` section of a manifest, and one event read by it.

An event becomes a `Signal`, which says what it means by itself; `core/hookfold.py` puts the signals of a pane in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from agents_plugin.core.guard import Guard, RunawayError
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.schema import (
    ManifestError,
    Path,
    as_bool,
    as_list,
    as_mapping,
    choice,
    one_or_many,
    optional,
    regex,
    seconds,
    texts,
    word,
)
from agents_plugin.core.states import State
from agents_plugin.core.text import strip_controls

_TOP = frozenset(
    ("covers", "precedence", "session", "session_command", "actor", "turn", "unique", "event", "tasks", "events")
)
_RULE = frozenset(
    (
        *("on", "when", "ignore", "state", "detail", "text", "turn", "session", "adopts"),
        *("starts", "stops", "asks", "answers", "after", "person", "late"),
    )
)
_TASKS = frozenset({"path", "id", "running", "agents"})
_TESTS = frozenset({"equals", "in", "regex", "present"})
TURNS = ("start", "end", "fail")
SESSIONS = ("start", "end")
_TOKEN = re.compile(r"[a-z0-9][a-z0-9_]*")
_PLACE = re.compile(r"\{([^{}]*)\}")
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
        found: dict[str, str] = {place: _shown(payload, place) for place in _PLACE.findall(template)}
        if all(found.values()):
            return _PLACE.sub(lambda place, found=found: found[place[1]], template)[:_MAX_TEXT]  # type: ignore[misc]
    return ""


def _shown(payload: object, place: str) -> str:
    for path in place.split("|"):
        value = _at(payload, _steps(path))
        if isinstance(value, str) and value.strip():
            line = strip_controls(value[:_MAX_TEXT])
            # 32 cells are few: of a path the last component says most.
            name = line.rstrip("/").rsplit("/", 1)[-1]
            return name if line.startswith("/") and " " not in line and name else line
    return ""


# --- the section in a manifest


def build_hooks(value: object, origin: str = "") -> Hooks:
    """The section from plain data; `origin` names it in messages. Raises `ManifestError` with the path of the key."""
    top: Path = ("hooks",)
    data = as_mapping(value, top, _TOP)
    events = as_list(data, "events", top)
    if not events:
        raise ManifestError("names no event", (*top, "events"))
    covers = {choice({"covers": item}, "covers", top, State, None) for item in as_list(data, "covers", top)}
    command = regex(data["session_command"], (*top, "session_command"), False) if "session_command" in data else None
    if command and "id" not in command.groupindex:
        raise ManifestError("needs a group named id", (*top, "session_command"))
    return Hooks(
        events=tuple(_rule(item, (*top, "events", index)) for index, item in enumerate(events)),
        covers=frozenset(covers),
        precedence=texts(data, "precedence", top),
        **{key: _paths(data, key, top) for key in ("session", "actor", "turn", "unique", "event")},
        tasks=_tasks_of(data["tasks"], (*top, "tasks")) if "tasks" in data else None,
        session_command=command,
        origin=origin,
    )


def _rule(value: object, path: Path) -> HookRule:
    data = as_mapping(value, path, _RULE)
    if "on" not in data:
        raise ManifestError("on is missing", path)
    ignore = as_bool(data, "ignore", path) or False
    if ignore and data.keys() - {"on", "when", "ignore"}:
        raise ManifestError("what is ignored means nothing else", (*path, "ignore"))
    state = choice(data, "state", path, State, None) if "state" in data else None
    detail = optional(data, "detail", path)
    if detail is not None and (not _TOKEN.fullmatch(detail) or state is None):
        raise ManifestError("must be lower case letters, digits and underscores, beside a state", (*path, "detail"))
    turn, session = word(data, "turn", path, TURNS), word(data, "session", path, SESSIONS)
    if turn in ("end", "fail") and state is not State.IDLE:
        raise ManifestError("a turn that ends leaves the agent idle", (*path, "turn"))
    asks = _paths(data, "asks", path)
    if asks and state is not State.BLOCKED:
        raise ManifestError("who asks is blocked", (*path, "asks"))
    for template in texts(data, "text", path):
        if not _PLACE.search(template) and " " not in template.strip():
            raise ManifestError("names no field: a place is written {like.this}", (*path, "text"))
    return HookRule(
        on=one_or_many(data["on"], (*path, "on")),
        when=tuple(_conditions(data.get("when", {}), (*path, "when"))),
        ignore=ignore,
        state=state,
        detail=detail,
        text=texts(data, "text", path),
        turn=turn,
        session=session,
        adopts=as_bool(data, "adopts", path) or session == "start",
        starts=_paths(data, "starts", path),
        stops=_paths(data, "stops", path),
        asks=asks,
        answers=_paths(data, "answers", path),
        after=texts(data, "after", path),
        person=as_bool(data, "person", path) or False,
        late_ms=seconds(data, "late", path) or 0,
    )


def _conditions(value: object, path: Path) -> Iterator[Condition]:
    for field, wanted in as_mapping(value, path).items():
        here = (*path, field)
        test, operand = "equals", wanted
        if isinstance(wanted, dict):
            tests = as_mapping(wanted, here, _TESTS)
            if len(tests) != 1:
                raise ManifestError("needs exactly one of " + ", ".join(sorted(_TESTS)), here)
            test, operand = next(iter(tests.items()))
        if test == "present" and not isinstance(operand, bool):
            raise ManifestError("must be true or false", (*here, test))
        if test == "in" and not (isinstance(operand, list) and operand):
            raise ManifestError("must be a list", (*here, test))
        if test == "equals" and not isinstance(operand, (str, int, bool)):
            raise ManifestError("must be a text, a number, true or false", here)
        if test == "regex":
            operand = regex(operand, (*here, test), False)
        yield Condition(_steps(field), test, tuple(operand) if test == "in" else operand)


def _tasks_of(value: object, path: Path) -> Tasks:
    data = as_mapping(value, path, _TASKS)
    where = optional(data, "path", path)
    if where is None:
        raise ManifestError("path is missing", path)
    return Tasks(
        _steps(where),
        _steps(optional(data, "id", path) or "id"),
        tuple(_conditions(data.get("running", {}), (*path, "running"))),
        tuple(_conditions(data.get("agents", {}), (*path, "agents"))),
    )


def _paths(data: Mapping[str, Any], key: str, path: Path) -> tuple[Steps, ...]:
    return tuple(_steps(text) for text in texts(data, key, path))


def _steps(path: str) -> Steps:
    return tuple(path.split("."))
