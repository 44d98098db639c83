"""The `hooks:` section of a manifest: checked, and built from plain data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents_plugin.core.hooks import PLACE, Condition, HookRule, Hooks, Steps, Tasks, steps_of
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
        if not PLACE.search(template) and " " not in template.strip():
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
        yield Condition(steps_of(field), test, tuple(operand) if test == "in" else operand)


def _tasks_of(value: object, path: Path) -> Tasks:
    data = as_mapping(value, path, _TASKS)
    where = optional(data, "path", path)
    if where is None:
        raise ManifestError("path is missing", path)
    return Tasks(
        steps_of(where),
        steps_of(optional(data, "id", path) or "id"),
        tuple(_conditions(data.get("running", {}), (*path, "running"))),
        tuple(_conditions(data.get("agents", {}), (*path, "agents"))),
    )


def _paths(data: Mapping[str, Any], key: str, path: Path) -> tuple[Steps, ...]:
    return tuple(steps_of(text) for text in texts(data, key, path))
