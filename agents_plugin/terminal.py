"""What commands print: lines, tables cut to the width, colour on a terminal only, JSON, complaints."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents_plugin.core.text import clip, width
from agents_plugin.core.text_forms import for_json
from agents_plugin.streams import cleaned, painted

#: Columns where there is no terminal: a pipe, or tmux's view mode.
COLUMNS = 100
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_INDEXED = re.compile(r"colou?r(\d{1,3})")
_RGB = re.compile(r"#([0-9A-Fa-f]{2})([0-9A-Fa-f]{2})([0-9A-Fa-f]{2})")


def columns() -> int:
    """The width to write for: COLUMNS, the terminal we write to, or the one behind a pager."""
    found = COLUMNS
    with contextlib.suppress(OSError):
        found = os.get_terminal_size(0).columns or COLUMNS
    return max(20, shutil.get_terminal_size((found, 24)).columns)


def unicode_output() -> bool:
    """Whether standard output can show more than ASCII."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf8mb4")


def colourful(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR is set or it is a dumb one."""
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def coloured(text: str, colour: str) -> str:
    """Text in a colour as tmux names it; as it is when the colour is unknown or `default`."""
    code = _code(colour.strip().lower())
    return painted(text, code) if code and text else text


def _code(colour: str) -> str:
    indexed, rgb = _INDEXED.fullmatch(colour), _RGB.fullmatch(colour)
    if indexed:
        return f"38;5;{indexed[1]}"
    if rgb:
        return "38;2;" + ";".join(str(int(part, 16)) for part in rgb.groups())
    bright = colour.removeprefix("bright")
    return str((90 if bright != colour else 30) + _NAMES.index(bright)) if bright in _NAMES else ""


def table(rows: Sequence[Sequence[str]], room: int, caps: Sequence[int]) -> list[list[str]]:
    """Cells padded to columns; `caps` are the most cells each may have, the last column takes what is left.

    Cells must be plain. No line is wider than `room`, columns joined by two blanks.
    """
    if not rows:
        return []
    last = len(rows[0]) - 1
    widths = [min(max(width(row[i]) for row in rows), caps[i]) for i in range(last)]
    done = []
    for row in rows:
        left, cells = room, []
        for i, cell in enumerate(row):
            text = clip(cell, min(left, widths[i] if i < last else left))
            padded = text + " " * (min(left, widths[i]) - width(text)) if i < last else text
            cells.append(padded)
            left = max(0, left - width(padded) - 2)
        done.append(cells)
    return done


def emit(lines: Iterable[str]) -> None:
    """Print lines, each as one; what the terminal's encoding cannot say is replaced, never an error."""
    out = cleaned(sys.stdout)
    for line in lines:
        print(" ".join(line.splitlines()).rstrip(), file=out)


def emit_json(data: Any) -> None:
    """Print JSON data on one line, as UTF-8."""
    out = cleaned(sys.stdout)
    if hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", errors="replace")
    print(for_json(data), file=out)
