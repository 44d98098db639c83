"""Numbers that others wrote: within bounds, or none. Pure.

Python's own `int` raises beyond 4,300 digits, takes other scripts' digits, spaces and underscores; `float` takes `nan`.
"""

from __future__ import annotations

import re

#: What JSON and every tool that reads ours can hold; as milliseconds that is the year 287,396.
MAX = 2**53 - 1
#: More than any system gives: Linux stops at 2**22.
MAX_PID = 2**31 - 1
_MAX_CHARS = 64
_INT = re.compile(r"-?[0-9]{1,19}")
#: Some locales write the fraction of `$EPOCHREALTIME` behind a comma.
_FLOAT = re.compile(r"-?[0-9]{1,16}(?:[.,][0-9]{0,32})?")


def parse_int(value: object, low: int = 0, high: int = MAX) -> int | None:
    """A whole number from `low` to `high`, from a text, bytes or an int; None for anything else, `True` too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if low <= value <= high else None
    text = _text(value)
    if text is None or not _INT.fullmatch(text):
        return None
    number = int(text)
    return number if low <= number <= high else None


def parse_float(value: object, low: float = 0.0, high: float = float(MAX)) -> float | None:
    """A number from `low` to `high`, from a plain decimal text, bytes, an int or a float; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if low <= value <= high else None
    text = _text(value)
    if text is None or not _FLOAT.fullmatch(text):
        return None
    number = float(text.replace(",", "."))
    return number if low <= number <= high else None


def parse_pid(value: object) -> int | None:
    """A process id other than 0 and 1, which are nobody's agent; None for anything else."""
    return parse_int(value, 2, MAX_PID)


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("ascii", "replace") if len(value) <= _MAX_CHARS else None
    return value if isinstance(value, str) and len(value) <= _MAX_CHARS else None
