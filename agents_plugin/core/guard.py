"""How long what people write into manifests may run: the shape of the guard, whose clock is `host/guard.py`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class RunawayError(Exception):
    """Raised inside by the guard's alarm: a rule took too long."""


class Guard(Protocol):
    """Bounds a read of a screen, an event, a title, a command line."""

    def barred(self, owner: object) -> bool:
        """Whether a manifest, or a part of one, ran away lately and must not be used now."""

    def limit(self) -> AbstractContextManager[None]:
        """A context that raises `RunawayError` inside when the time is up."""

    def stopped(self, owner: object, what: str) -> None:
        """Told whose rule was running when the time was up, and how people find it: `file: rule name`."""
