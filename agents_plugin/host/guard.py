"""Stops a rule that runs away (a catastrophic regular expression in somebody's manifest) and names it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from agents_plugin.core.guard import RunawayError

#: A whole read of one screen takes well under 2 ms.
LIMIT_S = 0.05
#: How long a manifest that ran away is not read, so that it cannot cost its limit on every pass.
BAR_S = 60.0


class AlarmGuard:
    """Bounds reads by the CPU time of this process (a loaded machine stops nobody). Works in the main thread only:
    elsewhere reads run unbounded, because Python handles signals nowhere else."""

    def __init__(self, limit_s: float = LIMIT_S, bar_s: float = BAR_S) -> None:
        self.limit_s, self.bar_s = limit_s, bar_s
        self._barred: dict[int, tuple[object, str, float]] = {}

    @property
    def problems(self) -> list[str]:
        """One line per rule that ran away since the manifests were read."""
        return [f"{what} was stopped after {self.limit_s * 1000:.0f} ms" for _, what, _ in self._barred.values()]

    def barred(self, owner: object) -> bool:
        """Whether it ran away less than `bar_s` ago."""
        known = self._barred.get(id(owner))
        return known is not None and time.monotonic() < known[2]

    def stopped(self, owner: object, what: str) -> None:
        """Bars the owner (a manifest, a part of one) and notes what of it ran."""
        # The owner is kept in the value, so its id() is not given to another one.
        self._barred[id(owner)] = (owner, what, time.monotonic() + self.bar_s)

    def forget(self) -> None:
        """The catalog was read again: everything may be tried again."""
        self._barred.clear()

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Raises `RunawayError` inside after `limit_s` of CPU time."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGVTALRM, _alarm)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limit_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)


def _alarm(number: int, frame: FrameType | None) -> None:
    raise RunawayError
