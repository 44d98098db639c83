"""The log of a pane's events as JSON data: one-shot passes hand it on, and a monitor that starts again finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from agents_plugin.core.evidence import Claim
from agents_plugin.core.hookfold import Ask, HookLog, HookMemory
from agents_plugin.core.hooks import Signal
from agents_plugin.core.states import Source, State

T = TypeVar("T", Claim, Ask, HookMemory, Signal)


def dump(log: HookLog) -> dict[str, Any]:
    """The log as JSON data; what has its default is left out."""
    return {"base": _plain(log.base), "signals": [_plain(signal) for signal in log.signals]}


def load(data: object) -> HookLog | None:
    """The log from JSON data; None for anything that does not fit."""
    try:
        if not isinstance(data, Mapping):
            return None
        signals = tuple(_made(Signal, item) for item in data["signals"])
        return HookLog(_made(HookMemory, data["base"]), signals)
    except (KeyError, TypeError, ValueError):
        return None


def _plain(value: object) -> Any:
    if isinstance(value, (State, Source)):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, (Claim, Ask, HookMemory, Signal)):
        data = {}
        for spec in fields(value):
            found = getattr(value, spec.name)
            if spec.default is MISSING or found != spec.default:
                data[spec.name] = _plain(found)
        return data
    return value


def _made(kind: type[T], data: Mapping[str, Any]) -> T:
    return kind(**{spec.name: _read(spec.name, data[spec.name]) for spec in fields(kind) if spec.name in data})


def _read(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "state":
        return State(value)
    if name == "source":
        return Source(value)
    if name in ("claim", "before"):
        return _made(Claim, value)
    if name == "asks" and isinstance(value, list):
        return tuple(_made(Ask, item) for item in value)
    if isinstance(value, list):
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    return value
