"""One line of doctor's report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum


class Level(str, Enum):
    """`problem`: something is broken; `warn`: it may not be what you want; `ok`: as it should be."""

    OK = "ok"
    WARN = "warn"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What was found about a topic, and what to do about it. `text` is raw: whoever prints it cleans it."""

    level: Level
    topic: str
    text: str


def ok(topic: str, text: str) -> Finding:
    """As it should be."""
    return Finding(Level.OK, topic, text)


def warn(topic: str, text: str) -> Finding:
    """It works, perhaps not as you want."""
    return Finding(Level.WARN, topic, text)


def problem(topic: str, text: str) -> Finding:
    """Broken."""
    return Finding(Level.PROBLEM, topic, text)


def careful(topic: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a check; one that fails itself is a finding, and the next still runs."""
    try:
        yield from check()
    except Exception as error:
        yield problem(topic, f"this check failed: {type(error).__name__}: {error}")
