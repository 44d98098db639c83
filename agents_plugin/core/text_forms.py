"""The forms a text of others may leave us in, each made here and nowhere else. Pure.

Inside, a text is the original. `for_format` is what stands in a tmux option and is drawn by somebody's format,
`for_program` what another program gets in its environment, `for_json` what it reads, `for_person` what a terminal
shows.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agents_plugin.core.text import INVISIBLE, clip, strip_controls, strip_escapes

#: Cells of a published text.
TEXT_CELLS = 32
#: Characters a cell may have: combining marks take none, and a thousand of them are no text.
_PER_CELL = 4
_PAIR = re.compile("##?")
_RUN = re.compile("#+")
# What a terminal acts upon or hides: C0 but tab and line feed, DEL, C1, line and paragraph separators, surrogates.
_UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff" + INVISIBLE
_ACTIVE = re.compile(f"[{_UNSEEN}]")
_MARKS = re.compile(f"[{INVISIBLE}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def for_format(text: str, cells: int = TEXT_CELLS) -> str:
    """A text as the value of an option: one line of at most `cells` cells, every `#` doubled.

    tmux draws two of them as one wherever a format puts the value, whatever follows it there: a single one at the end
    would swallow what follows (`C#` before `#[default]`), and one before `[` begin a style.
    """
    return for_person(text, cells)[: cells * _PER_CELL].rstrip().replace("#", "##")


def from_format(value: str) -> str:
    """The text of an option's value, also of one that its writer did not double."""
    return _PAIR.sub("#", value)


def even(value: str) -> str:
    """An option's value in which no `#` stands alone; one of `for_format` stays as it is."""
    return _RUN.sub(lambda run: run[0] + "#" * (len(run[0]) % 2), value)


def for_program(text: str, characters: int = 4096) -> str:
    """A text as an environment variable: one line without control characters, `#` as it was."""
    return strip_controls(text[:characters])


def for_json(data: Any) -> str:
    """Data as one line of JSON: texts stay the originals, and what a terminal would act upon or hide is escaped.

    Bytes that are no UTF-8 become U+FFFD, for which JSON has a way to say them.
    """
    text = _SURROGATE.sub("\ufffd", json.dumps(data, ensure_ascii=False, default=str))
    return _ACTIVE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def for_person(text: str, cells: int = 400) -> str:
    """A text for a terminal: one line without control characters, clipped to `cells`."""
    return clip(strip_controls(text[: cells * 16 + 4096]), cells)


def row_for_person(text: str, cells: int) -> str:
    """A row of a screen for a terminal: as `for_person`, but every blank stays where it is."""
    return clip("".join(char if char.isprintable() else " " for char in text[: cells * 16]), cells)


def lines_for_person(text: str) -> str:
    """Lines for a terminal: blanks, tabs and line breaks stay, nothing else that moves or hides anything does."""
    if not _ACTIVE.search(text):
        return text
    return "\n".join(_ACTIVE.sub(" ", _MARKS.sub("", strip_escapes(line))) for line in text.split("\n"))
