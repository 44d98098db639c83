"""What a rule asks of a screen. Each matcher answers with the label of what failed, or the empty string."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from agents_plugin.core.regions import BOX, CURSOR_LINE, Block, Region, Regions
from agents_plugin.core.text import squash


class Matcher(ABC):
    """`fails(regions, box, unknown)`: `box` is the candidate all box matchers of one rule must share.

    `unknown` is what a matcher answers when the fact it needs was not recorded: such a fact never fails a rule.
    """

    label: str

    @abstractmethod
    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return False


class Leaf(Matcher):
    """A matcher that tests the rows of one region."""

    region: Region

    @abstractmethod
    def test(self, block: Block) -> str:
        """Empty when the rows satisfy it, else what failed."""

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return self.region is BOX

    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""
        if self.region is BOX and box is None:
            label = f"{self.label} (no box on the screen)"
            for candidate in regions.boxes:
                label = self.test(candidate)
                if not label:
                    return ""
            return label
        block = box if self.region is BOX and box is not None else regions.block(self.region)
        if not block.known:
            return "" if unknown else self.label
        return self.test(block)


@dataclass(frozen=True)
class Contains(Leaf):
    """Every needle stands in the region, compared without white space and borders: wrapping does not matter."""

    region: Region
    needles: tuple[tuple[str, str], ...]  # (as squashed, as written)
    ignore_case: bool = False

    @staticmethod
    def of(region: Region, texts: tuple[str, ...], ignore_case: bool) -> Contains:
        """From texts as people write them."""
        fold = str.casefold if ignore_case else str
        return Contains(region, tuple((fold(squash(text)), text) for text in texts), ignore_case)

    @property
    def label(self) -> str:  # type: ignore[override]
        """How people see it in `explain`."""
        return f"contains ({self.region}): " + " & ".join(text for _, text in self.needles)

    def test(self, block: Block) -> str:
        """Empty when the rows satisfy it, else what failed."""
        hay = block.folded if self.ignore_case else block.squashed
        for needle, written in self.needles:
            if needle not in hay:
                return f"contains ({self.region}): {written}"
        return ""


@dataclass(frozen=True)
class Line(Leaf):
    """Some row of the region matches."""

    region: Region
    regex: re.Pattern[str]
    label: str
    blank: bool  # the expression matches an empty row, so empty rows must be tried

    @staticmethod
    def of(region: Region, regex: re.Pattern[str]) -> Line:
        """From a compiled expression."""
        return Line(region, regex, f"line ({region}): {regex.pattern}", regex.search("") is not None)

    def test(self, block: Block) -> str:
        """Empty when the rows satisfy it, else what failed."""
        search, blank = self.regex.search, self.blank
        for line in block.lines:
            if (line or blank) and search(line):
                return ""
        return self.label


@dataclass(frozen=True)
class Text(Leaf):
    """The region as one text matches: `flow` (rows unwrapped, borders gone) or `rows` (rows kept)."""

    region: Region
    regex: re.Pattern[str]
    label: str
    form: Callable[[Block], str]

    @staticmethod
    def flow(region: Region, regex: re.Pattern[str]) -> Text:
        """On the rows unwrapped."""
        return Text(region, regex, f"flow ({region}): {regex.pattern}", _flow)

    @staticmethod
    def rows(region: Region, regex: re.Pattern[str]) -> Text:
        """On the rows as they stand; the expression was compiled with MULTILINE."""
        return Text(region, regex, f"rows ({region}): {regex.pattern}", _rows)

    def test(self, block: Block) -> str:
        """Empty when the rows satisfy it, else what failed."""
        return "" if self.regex.search(self.form(block)) else self.label


def _flow(block: Block) -> str:
    return block.flow


def _rows(block: Block) -> str:
    return block.rows


def at_cursor(regex: re.Pattern[str]) -> Line:
    """The row the cursor is on matches."""
    return Line(CURSOR_LINE, regex, f"at_cursor: {regex.pattern}", True)


@dataclass(frozen=True)
class Pattern(Matcher):
    """A named pattern of the manifest. Outside a box its verdict is kept for the whole screen."""

    name: str
    matcher: Matcher

    @property
    def label(self) -> str:  # type: ignore[override]
        """How people see it in `explain`."""
        return f"pattern: {self.name}"

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return self.matcher.boxed

    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""
        if box is not None and self.boxed:
            failed = self.matcher.fails(regions, box, unknown)
        else:
            key = id(self.matcher) * 2 + unknown
            known = regions.memo.get(key)
            if known is None:
                # With the matcher in the value its id() is not given to one of a manifest that is read later.
                known = regions.memo[key] = self.matcher, self.matcher.fails(regions, None, unknown)
            failed = known[1]
        return f"{self.label}: {failed}" if failed else ""


@dataclass(frozen=True)
class All(Matcher):
    """Every matcher holds; the first that does not is named."""

    matchers: tuple[Matcher, ...]
    label: str = "all"

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return any(matcher.boxed for matcher in self.matchers)

    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""
        for matcher in self.matchers:
            failed = matcher.fails(regions, box, unknown)
            if failed:
                return failed
        return ""


@dataclass(frozen=True)
class Any(Matcher):
    """At least one matcher holds."""

    matchers: tuple[Matcher, ...]

    @property
    def label(self) -> str:  # type: ignore[override]
        """How people see it in `explain`."""
        return "any of [" + "; ".join(matcher.label for matcher in self.matchers) + "]"

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return any(matcher.boxed for matcher in self.matchers)

    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""
        for matcher in self.matchers:
            if not matcher.fails(regions, box, unknown):
                return ""
        return self.label


@dataclass(frozen=True)
class Not(Matcher):
    """None of the matchers holds; the one that does is named. `not` keeps to the rule's box, `absent` does not."""

    matchers: tuple[Matcher, ...]
    word: str = "not"

    @property
    def label(self) -> str:  # type: ignore[override]
        """How people see it in `explain`."""
        return f"{self.word} [" + "; ".join(matcher.label for matcher in self.matchers) + "]"

    @property
    def boxed(self) -> bool:
        """Whether it looks into a box."""
        return self.word == "not" and any(matcher.boxed for matcher in self.matchers)

    def fails(self, regions: Regions, box: Block | None, unknown: bool) -> str:
        """Empty when it holds, else what failed."""
        for matcher in self.matchers:
            if not matcher.fails(regions, box if self.word == "not" else None, not unknown):
                return f"{self.word}: {matcher.label}"
        return ""
