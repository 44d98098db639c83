"""Standard output and error as a person may see them: nothing anybody wrote can act upon the terminal.

Only what is painted here carries an escape sequence through.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO, cast

from agents_plugin.core.text_forms import for_person, lines_for_person

_COLOURED = re.compile(r"\x1b\[[0-9;]+m[^\x1b]*\x1b\[0m")
#: What was painted in this run: the same text in the same colour is all that could be forged.
_painted: set[str] = set()


def painted(text: str, code: str) -> str:
    """A text in a colour, `code` as a terminal numbers it (`31`, `38;5;208`), that a `Cleaned` stream lets through."""
    made = f"\x1b[{code}m{lines_for_person(text)}\x1b[0m"
    _painted.add(made)
    return made


class Cleaned:
    """A text stream in front of another one, which gets every line cleaned; all else is the other stream's."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")

    def write(self, text: str) -> int:
        """Write the text, cleaned; how much of it was taken."""
        last = 0
        for found in _COLOURED.finditer(text) if "\x1b" in text else ():
            if found[0] in _painted:
                self._stream.write(lines_for_person(text[last : found.start()]) + found[0])
                last = found.end()
        self._stream.write(lines_for_person(text[last:]))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def cleaned(stream: TextIO) -> TextIO:
    """The stream, cleaning what it is given; one that does already stays as it is."""
    return stream if isinstance(stream, Cleaned) else cast(TextIO, Cleaned(stream))


def install() -> None:
    """From here on whatever prints (a command, an argument parser, a traceback) prints cleaned."""
    sys.stdout, sys.stderr = cleaned(sys.stdout), cleaned(sys.stderr)


def note(message: str) -> None:
    """One line on standard error."""
    print(for_person(message, 1000), file=sys.stderr)


def complain(command: str, message: str) -> None:
    """Say on standard error what went wrong, in one line; `command` is empty when there is none."""
    note(f"agents {command}: {message}" if command else f"agents: {message}")
