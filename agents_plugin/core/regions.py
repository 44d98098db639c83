"""The parts of a screen that rules look at, cut once per screen and shared by every rule and manifest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from agents_plugin.core.evidence import Screen
from agents_plugin.core.text import flow, squash, width

#: A real pane is narrower and shorter; saved files and hostile input are not.
MAX_COLS = 2000
MAX_ROWS = 1000

_TOP_LEFT = re.compile("[\u256d\u250c\u2554\u250f]")
_TOP = re.compile("[\u256d\u250c\u2554\u250f](?P<border>[^\u256e\u2510\u2557\u2513]*)[\u256e\u2510\u2557\u2513]")
_BOTTOM_LEFT = frozenset("╰└╚┗")
_SIDES = frozenset("│┃║╎┆┊╏┇┋├╠┣┝┠▌▐▏▎▍█")
_FRAME_SIDES = frozenset("│┃║╎┆┊╏┇┋├╠┣┝┠")
_BAR = re.compile("^[ \xa0]*(?P<bar>[│┃▌▎▏▍█])")
# A rule may carry a label (`─── name ──`); it begins with a run of the line character.
_RULE = re.compile("^[ \xa0]{0,4}(?P<rule>[─━═▔▁_]{3}.*)$")
# A narrow pane squeezes the label of a rule until little is left of the line but its two ends.
_SQUEEZED = re.compile("^[─━]{2}.*[─━]$")
_RULE_CHARS = re.compile("[─━═▔▁_]")


@dataclass(frozen=True)
class Region:
    """A part of a screen: `screen`, `title`, `box`, `cursor-line`; and of n: `last`, `nonempty`, `below_rule`."""

    kind: str = "screen"
    n: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.n}" if self.n else self.kind


SCREEN = Region("screen")
BOX = Region("box")
CURSOR_LINE = Region("cursor-line")


class Block:
    """Some rows of a screen and the forms matchers want of them, each made at most once."""

    __slots__ = ("_flow", "_folded", "_rows", "_squashed", "known", "lines")

    def __init__(self, lines: tuple[str, ...], known: bool = True) -> None:
        self.lines = lines
        self.known = known  # False: the fact this block depends on (the cursor) was not recorded
        self._squashed: str | None = None
        self._folded: str | None = None
        self._flow: str | None = None
        self._rows: str | None = None

    @property
    def squashed(self) -> str:
        """Without white space, borders and line breaks."""
        if self._squashed is None:
            self._squashed = squash("\n".join(self.lines))
        return self._squashed

    @property
    def folded(self) -> str:
        """`squashed` for comparisons that ignore case."""
        if self._folded is None:
            self._folded = self.squashed.casefold()
        return self._folded

    @property
    def flow(self) -> str:
        """Unwrapped: borders gone, rows joined by single spaces."""
        if self._flow is None:
            self._flow = flow(self.lines)
        return self._flow

    @property
    def rows(self) -> str:
        """The rows as they stand."""
        if self._rows is None:
            self._rows = "\n".join(self.lines)
        return self._rows


class Regions:
    """One screen cut into regions on demand. `memo` keeps the verdicts of named patterns for this screen."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        lines = [line[:MAX_COLS].rstrip() for line in screen.lines[-MAX_ROWS:]]
        while lines and not lines[-1]:
            lines.pop()
        self.panel_rows, self.panel_col = _panel(lines)
        lines[: self.panel_rows] = [line[: self.panel_col].rstrip() for line in lines[: self.panel_rows]]
        self.lines = tuple(lines)
        self.memo: dict[int, tuple[object, str]] = {}
        self._dropped = max(0, len(screen.lines) - MAX_ROWS)
        self._cut: dict[Region, Block] = {}
        self._boxes: tuple[Block, ...] | None = None
        self._rules: list[int] | None = None

    def block(self, region: Region) -> Block:
        """The rows of a region; of `box` the first candidate (callers walk `boxes` themselves)."""
        found = self._cut.get(region)
        if found is None:
            found = self._cut[region] = self._make(region)
        return found

    def _make(self, region: Region) -> Block:
        lines, n = self.lines, region.n
        if region.kind == "last":
            return Block(lines[-n:])
        if region.kind == "nonempty":
            return Block(tuple([line for line in lines[-(n + 400) :] if line.strip()][-n:]))
        if region.kind == "title":
            return Block((self.screen.title[:MAX_COLS],))
        if region.kind == "cursor-line":
            row = self.screen.cursor_y
            if row is None:
                return Block((), known=False)
            row -= self._dropped
            return Block((lines[row],) if 0 <= row < len(lines) else ("",))
        if region.kind == "below_rule":
            # A dialog taller than the screen has lost its rule: what is left of it is the whole screen.
            rules = self.rules
            return Block(lines[rules[-n] + 1 :] if len(rules) >= n else lines if n == 1 else ())
        if region.kind == "box":
            return self.boxes[0] if self.boxes else Block(())
        return Block(lines)

    @property
    def cols(self) -> int:
        """Columns of the pane; when not recorded, those of the longest row."""
        return self.screen.cols or max((width(line) for line in self.lines), default=0)

    @property
    def rules(self) -> list[int]:
        """Rows that are a horizontal rule over (nearly) the full width, top first."""
        if self._rules is None:
            self._rules = []
            cols = 0
            for row, line in enumerate(self.lines):
                found, squeezed = _RULE.match(line), _SQUEEZED.match(line)
                if not (found or squeezed):
                    continue
                cols = cols or self.cols
                across = self.panel_col if row < self.panel_rows else cols
                rule = found["rule"] if found else ""
                drawn = len(rule) >= across - 8 and len(_RULE_CHARS.findall(rule)) * 2 >= len(rule) > 0
                if drawn or (squeezed and width(line) >= across - 1):
                    self._rules.append(row)
        return self._rules

    @property
    def boxes(self) -> tuple[Block, ...]:
        """Every candidate for a dialog: frames, left-bar blocks, and the block below the last full-width rule."""
        if self._boxes is None:
            found = _frames(self.lines)
            framed = {row for first, last, _ in found for row in range(first, last + 1)}
            blocks = [block for _, _, block in found]
            blocks += _bars(self.lines, framed)
            if self.rules and self.rules[-1] + 1 < len(self.lines):
                blocks.append(Block(self.lines[self.rules[-1] + 1 :]))
            self._boxes = tuple(blocks)
        return self._boxes


def _panel(lines: list[str]) -> tuple[int, int]:
    """Rows and column of a panel at the right: a `│` at one column from the first row down, over half the screen.

    Claude Code opens one for diffs from about 140 columns; what the agent asks stands at its left.
    """
    if not lines or len(lines[0]) < 60:
        return 0, 0
    for col, char in enumerate(lines[0]):
        if char != "│" or col < 30:
            continue
        rows = 0
        while rows < len(lines) and lines[rows][col : col + 1] == "│":
            rows += 1
        beyond = sum(len(line) > col + 12 for line in lines[:rows])
        if rows >= max(8, len(lines) // 2) and beyond >= 3:
            return rows, col
    return 0, 0


def _frames(lines: tuple[str, ...]) -> list[tuple[int, int, Block]]:
    """Frames as (first row, last row, inside). The label in a top border is part of the inside."""
    found = []
    for row, line in enumerate(lines):
        if not _TOP_LEFT.search(line):
            continue
        for corner in _TOP.finditer(line):
            left, right = corner.start(), corner.end() - 1
            inside, last = [corner["border"]], row
            for below in range(row + 1, len(lines)):
                text = lines[below]
                edge = text[left : left + 1]
                if edge in _BOTTOM_LEFT and edge:
                    inside.append(text[left + 1 : right])
                    last = below
                    break
                if edge not in _FRAME_SIDES or not edge:
                    break
                inside.append(_inside(text, left, right))
                last = below
            if last > row:
                found.append((row, last, Block(tuple(inside))))
    found += _headless(lines)
    return found


def _inside(text: str, left: int, right: int) -> str:
    """The content of a framed row. Wide characters shift the right border: then the row's own last border counts."""
    if text[right : right + 1] in _FRAME_SIDES and len(text) > right:
        return text[left + 1 : right]
    body = text[left + 1 :].rstrip()
    return body[:-1] if body and body[-1] in _SIDES else body


def _headless(lines: tuple[str, ...]) -> list[tuple[int, int, Block]]:
    """A frame whose top has scrolled off: rows from the very first with a side at the same column, then its bottom."""
    if not lines:
        return []
    start = _BAR.match(lines[0])
    if not start or start["bar"] not in _FRAME_SIDES:
        return []
    left = start.start("bar")
    inside: list[str] = []
    for row, text in enumerate(lines):
        edge = text[left : left + 1]
        if edge in _BOTTOM_LEFT and edge and row:
            return [(0, row, Block(tuple(inside)))]
        if edge not in _FRAME_SIDES or not edge:
            return []
        inside.append(_inside(text, left, len(text.rstrip()) - 1))
    return []


def _bars(lines: tuple[str, ...], framed: set[int]) -> list[Block]:
    """Runs of two or more rows that begin with the same bar at the same column, without the bar."""
    found: list[Block] = []
    run: list[str] = []
    key: tuple[int, str] | None = None
    for row, line in enumerate((*lines, "")):
        start = None if row in framed else _BAR.match(line)
        here = (start.start("bar"), start["bar"]) if start else None
        if here != key:
            if len(run) > 1:
                found.append(Block(tuple(run)))
            run, key = [], here
        if here:
            run.append(line[here[0] + 1 :])
    return found


@lru_cache(maxsize=1)
def regions_of(screen: Screen) -> Regions:
    """The regions of a screen, shared by every manifest that reads it. One is kept: a screen may have megabytes."""
    return Regions(screen)
