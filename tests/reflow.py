"""Redraws a saved screen at another width, about as an agent would: rules re-drawn, text wrapped, footers cut."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace

from agents_plugin.core.evidence import Screen
from agents_plugin.core.text import width

_RULE = re.compile(r"^( *)([─━╌▔])\2{9,}.*$")
_FOOTER = re.compile(r"^  (?:⏸|⏵⏵|\? for|esc to interrupt|1 shell|← for|mock-model|\d+ shell)")
_BOX = re.compile(r"^( *)[╭│╰]")
_STATUS_ROW = re.compile(r"^[•◦] .*\(\d")


def reflow(screen: Screen, cols: int) -> Screen:
    """The screen at `cols` columns. Cursor rows are dropped: they are not where they were."""
    old = screen.cols or max(map(width, screen.lines))
    lines: list[str] = []
    for line in screen.lines:
        lines += _row(line, old, cols)
    return replace(screen, lines=tuple(lines), cols=cols, cursor_x=None, cursor_y=None)


def _row(line: str, old: int, cols: int) -> list[str]:
    rule = _RULE.match(line)
    if rule:
        missing = max(0, old - len(line))
        return [rule[1] + rule[2] * max(3, cols - len(rule[1]) - missing)]
    if width(line) <= cols:
        return [line]
    if _FOOTER.match(line) or _STATUS_ROW.match(line):
        return [line[: cols - 1] + "…"]
    if _BOX.match(line):
        return [line[: cols - 1] + line[-1]]
    bare = line.lstrip(" ")
    indent = " " * (len(line) - len(bare))
    hang = indent + "  " if re.match(r"(?:[❯›] )?\d+\. |[❯›] ", bare) else indent
    return textwrap.wrap(
        bare, cols, initial_indent=indent, subsequent_indent=hang, drop_whitespace=True, break_on_hyphens=False
    ) or [""]
