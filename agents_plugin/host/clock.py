"""The two clocks of a pass: wall time for stamps, monotonic time for windows and dwell."""

from __future__ import annotations

import time
from dataclasses import dataclass


class Clock:
    """The machine's clocks, in whole milliseconds."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may step in either direction."""
        return time.time_ns() // 1_000_000

    def mono_ms(self) -> int:
        """Milliseconds that never run backwards and stand still while the machine sleeps; no common origin."""
        return time.monotonic_ns() // 1_000_000


@dataclass
class FixedClock(Clock):
    """Clocks set by hand, for tests and replays."""

    wall: int = 0
    mono: int = 0

    def wall_ms(self) -> int:
        """The wall time that was set."""
        return self.wall

    def mono_ms(self) -> int:
        """The monotonic time that was set."""
        return self.mono

    def advance(self, ms: int) -> None:
        """Let the same time pass on both."""
        self.wall += ms
        self.mono += ms
