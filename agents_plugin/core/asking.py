"""What a dialog asks for, taken out of the rows a rule looked at: `touch hello.txt` of a box about a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any as Value

from agents_plugin.core.regions import Block
from agents_plugin.core.schema import ManifestError, Path, as_bool, as_mapping, regex, text_of
from agents_plugin.core.text import strip_border, width

#: Characters of the asked-for text that are kept.
MAX_TEXT = 500
#: Columns at the right of a wrapped row that a dialog leaves free: its margin and frame.
MARGIN = 5
_KEYS = frozenset({"flow", "rows", "as", "but_last"})
_PLACE = re.compile(r"\{([a-z_]\w*)\}")


@dataclass(frozen=True)
class Asking:
    """One way to read it. `rows`: the expression is for the rows as they stand, and what it finds is unwrapped.

    `form` holds the groups of the expression in braces. `but_last`: of several paragraphs the last one is left off, the
    description below a command.
    """

    regex: re.Pattern[str]
    rows: bool = False
    form: str = "{text}"
    but_last: bool = False

    def read(self, block: Block, cols: int) -> str:
        """On one line; empty when it is not there. `cols`: of the pane."""
        found = self.regex.search(block.rows if self.rows else block.flow)
        return _PLACE.sub(lambda place: self._group(found, place[1], cols), self.form) if found else ""

    def _group(self, found: re.Match[str], name: str, cols: int) -> str:
        text = found[name] or ""
        if not self.rows:
            return text
        begin = found.string.rfind("\n", 0, found.start(name)) + 1
        parts = unwrap(text.split("\n"), cols - MARGIN, width(found.string[begin : found.start(name)]))
        if self.but_last and len(parts) > 1:
            parts.pop()
        return " ".join(" ".join(parts).split())


def read_asked(ways: tuple[Asking, ...], block: Block, cols: int) -> str:
    """What the first way that finds something says, at most `MAX_TEXT` characters."""
    for way in ways:
        said = way.read(block, cols).strip()
        if said:
            return said[:MAX_TEXT].rstrip()
    return ""


def unwrap(rows: list[str], limit: int, begin: int = 0) -> list[str]:
    """Paragraphs of wrapped rows, borders gone. `limit`: columns up to which a row may have been filled; `begin`: the
    column where the first row begins.

    A word that had room on the row above begins a paragraph, and so does what follows an empty row. A word longer than
    a row was cut in two.
    """
    parts: list[str] = []
    edge = 0  # where the row above ends; 0 when there is none
    for row in rows:
        text = strip_border(row)
        if not text:
            edge = 0
            continue
        end = begin + width(row[: row.index(text) + len(text)])
        first = text.split(None, 1)[0]
        if not edge or edge + 1 + width(first) <= limit:
            parts.append(text)
        else:
            word = width(parts[-1].rsplit(None, 1)[-1]) + width(first)
            cut = edge >= limit - 1 and word > limit - (end - width(text))
            parts[-1] += text if cut else " " + text
        edge, begin = end, 0
    return parts


def build_asked(value: object, path: Path, ignore_case: bool) -> tuple[Asking, ...]:
    """From `text:` of a rule: an expression for the flow, or a list of such and of mappings. Raises `ManifestError`."""
    if not isinstance(value, list):
        return (_asking({"flow": value}, path, path, ignore_case),)
    if not value:
        raise ManifestError("must not be empty", path)
    found = []
    for index, item in enumerate(value):
        here: Path = (*path, index)
        if isinstance(item, str):
            found.append(_asking({"flow": item}, here, here, ignore_case))
            continue
        data = as_mapping(item, here, _KEYS)
        if ("flow" in data) == ("rows" in data):
            raise ManifestError("needs exactly one of flow, rows", here)
        found.append(_asking(data, here, (*here, "rows" if "rows" in data else "flow"), ignore_case))
    return tuple(found)


def _asking(data: Mapping[str, Value], path: Path, place: Path, ignore_case: bool) -> Asking:
    rows = "rows" in data
    found = regex(data["rows" if rows else "flow"], place, ignore_case, re.MULTILINE if rows else 0)
    form = text_of(data, "as", path, "{text}")
    for name in _PLACE.findall(form):
        if name not in found.groupindex:
            raise ManifestError(f"needs a group named {name}", place)
    return Asking(found, rows, form, as_bool(data, "but_last", path) or False)
