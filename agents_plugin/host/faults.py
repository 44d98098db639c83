"""What became of one bad input: dropped, named where doctor shows it, and nothing else goes without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents_plugin.core.text import strip_controls

#: How many inputs are named, and for how long after they were last met: as long as a hook event lives.
NAMED = 8
STAYS_S = 600.0
_KEPT = 64
_NAME_CHARS, _SAID_CHARS = 100, 160


class Faults:
    """Inputs whose reading raised, each noted once. `passing` are errors that are about more than one input."""

    def __init__(self, *passing: type[Exception]) -> None:
        self._passing = passing
        self._noted: dict[str, float] = {}

    @contextmanager
    def item(self, name: str) -> Iterator[None]:
        """Whatever the body raises is noted under `name`, and goes no further. What the body assigns may be missing."""
        try:
            yield
        except Exception as error:
            if isinstance(error, self._passing):
                raise
            self.note(name, error)

    def note(self, name: str, error: BaseException) -> None:
        """Name an input that was dropped."""
        line = f"{_line(name)[:_NAME_CHARS]} was left out: {described(error)}"
        self._noted.pop(line, None)
        self._noted[line] = time.monotonic()
        while len(self._noted) > _KEPT:
            del self._noted[next(iter(self._noted))]

    @property
    def problems(self) -> list[str]:
        """One line per input that was dropped lately, and how many more there were."""
        since = time.monotonic() - STAYS_S
        self._noted = {line: at for line, at in self._noted.items() if at >= since}
        # In the order of their names: a list that changes its order would be written anew by every pass.
        lines = sorted(self._noted)
        more = [f"and {len(lines) - NAMED} more"] if len(lines) > NAMED else []
        return [*lines[:NAMED], *more]


def described(error: BaseException) -> str:
    """An unforeseen error on one bounded line: its type, what it says, and the place it comes from."""
    said = _line(str(error))[:_SAID_CHARS]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}" + (f" ({said})" if said else "")


def _line(text: str) -> str:
    return " ".join(strip_controls(text[:1000]).split())
