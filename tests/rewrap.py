"""Redraws a saved screen at another width, rules re-drawn and text wrapped inside its frame."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace

from agents_plugin.core.evidence import Screen
from agents_plugin.core.text import width

_TOP = re.compile(r"^( {0,2})([╭┌])(─+(?: .*? ─+)?)[╮┐]$")
_BOTTOM = re.compile(r"^ {0,2}[╰└]─+[╯┘]$")
_RULE = re.compile(r"^ ?[─━▀▄]{20,}$")
_LABELLED_RULE = re.compile(r"^[─╌]{2} .*? [─╌]+$")
_LABEL_AT_THE_END = re.compile(r"^─{10,}( .*? ─)$")
# oh-my-pi's status row: segments, then a rule; what does not fit is cut.
_STATUS_RULE = re.compile(r"^ \S+ .*▶─")
_INNER_RULE = re.compile(r"^├─+┤$")
_COMPOSER_EDGE = re.compile(r"^(\s*╹)▀+$")
_BAR = re.compile(r"^( {0,4}┃ {0,2})(.*)$")
_SCROLLBAR = re.compile(r" +[┃│█]$")
_CORNERS = {"╭": ("╮", "╰", "╯"), "┌": ("┐", "└", "┘")}


def rewrap(screen: Screen, cols: int) -> Screen:
    """The screen at `cols` columns, as tall as it gets. Cursor rows are dropped: they are not where they were."""
    lines = list(screen.lines)
    while lines and not lines[-1]:
        lines.pop()
    return replace(screen, lines=tuple(_rows(lines, cols)), cols=cols, cursor_x=None, cursor_y=None)


def _rows(lines: list[str], cols: int) -> list[str]:
    out: list[str] = []
    row = 0
    while row < len(lines):
        line = lines[row].rstrip()
        top = _TOP.match(line)
        end = next((n for n in range(row + 1, len(lines)) if _BOTTOM.match(lines[n].rstrip())), 0) if top else 0
        if top and end:
            out += _box(lines[row + 1 : end], top, cols)
            row = end + 1
            continue
        out += _plain(line, cols)
        row += 1
    return out


def _box(inside: list[str], top: re.Match[str], cols: int) -> list[str]:
    pad, corner, label = top[1], top[2], top[3].rstrip("─")
    room = cols - 2 * len(pad)
    right, low, last = _CORNERS[corner]
    inside = ["─" * 20 if _INNER_RULE.match(line.strip()) else line for line in inside]
    bare = [line[len(pad) :].strip().removeprefix("│").removesuffix("│").removeprefix(" ").rstrip() for line in inside]
    body = [f"{pad}│ {line}{' ' * (room - 4 - width(line))} │" for line in _rows(bare, room - 4)]
    rule = "─" * (room - 2)
    return [f"{pad}{corner}{(label + rule)[: room - 2]}{right}", *body, f"{pad}{low}{rule}{last}"]


def _plain(line: str, cols: int) -> list[str]:
    if _RULE.match(line):
        return [(" " if line[0] == " " else line[0]) + line[-1] * (cols - 1)]
    if _LABELLED_RULE.match(line):
        return [(line.rstrip("─╌") + line[-1] * 400)[:cols]]
    label = _LABEL_AT_THE_END.match(line)
    if label:
        return ["─" * (cols - len(label[1])) + label[1]]
    if _STATUS_RULE.match(line):
        return [line[:cols]]
    edge = _COMPOSER_EDGE.match(line)
    if edge:
        return [edge[1] + "▀" * max(4, cols - len(edge[1]) - 2)]
    bar = _BAR.match(line)
    if bar:
        return [(bar[1] + text).rstrip() for text in _wrapped(bar[2], cols - len(bar[1]) - 1)]
    return _wrapped(re.sub(r"(\S) {8,}", r"\1    ", _SCROLLBAR.sub("", line)), cols)


def _wrapped(line: str, cols: int) -> list[str]:
    if width(line) <= cols:
        return [line]
    bare = line.lstrip(" ")
    indent = " " * min(len(line) - len(bare), max(0, cols - 12))
    return textwrap.wrap(bare, cols, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
