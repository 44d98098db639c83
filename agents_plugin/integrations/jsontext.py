"""JSON as text: where every value, key and comma stands, so that an edit can leave all other bytes alone.

Reads JSON, on request with `//` and `/* */` comments. Anything looser (a trailing comma, single quotes, a key given
twice) is refused: whoever reads the file might see it otherwise than we do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_BLANK = " \t\r\n"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 200


class TextError(Exception):
    """A file that is not edited: `str()` says what is wrong, `line` (from 1) where; 0: not a matter of a line."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}" if line else message)


@dataclass(frozen=True)
class Entry:
    """A member of an object (`key` is its name) or an item of an array (`key` is empty): text[start:end]."""

    start: int
    end: int
    key: str
    value: Node
    comma: int  # where the comma behind it is; -1 for the last one


@dataclass(frozen=True)
class Node:
    """A value: text[start:end]. `kind` is `object`, `array` or `plain`."""

    kind: str
    start: int
    end: int
    plain: Any = None
    entries: tuple[Entry, ...] = ()

    def get(self, key: str) -> Node | None:
        """The value of a member of an object."""
        return next((entry.value for entry in self.entries if entry.key == key), None)

    def data(self) -> Any:
        """As Python data."""
        if self.kind == "object":
            return {entry.key: entry.value.data() for entry in self.entries}
        if self.kind == "array":
            return [entry.value.data() for entry in self.entries]
        return self.plain


def line_of(text: str, at: int) -> int:
    """The line (from 1) of a position."""
    return text.count("\n", 0, at) + 1


def parse(text: str, comments: bool = False) -> Node:
    """The one value of a text. Raises `TextError`. A byte order mark in front is blank."""
    reader = _Reader(text, comments)
    at = reader.blank(1 if text.startswith("\ufeff") else 0)
    node = reader.value(at, 0)
    at = reader.blank(node.end)
    if at != len(text):
        raise reader.error("there is something behind the end", at)
    return node


def dump(value: Any, newline: str, step: str, indent: str) -> str:
    """A value as text to be put where `indent` is in force; on one line when `newline` is empty."""
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
    return (newline + indent).join(lines)


@dataclass
class _Reader:
    text: str
    comments: bool
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.text)

    def error(self, message: str, at: int) -> TextError:
        return TextError(message, line_of(self.text, at))

    def blank(self, at: int) -> int:
        """Behind blanks and comments."""
        text = self.text
        while at < self.size:
            if text[at] in _BLANK:
                at += 1
                continue
            if text[at] != "/":
                break
            mark = text[at : at + 2]
            if mark not in ("//", "/*"):
                break
            if not self.comments:
                raise self.error("a comment: this agent reads JSON without comments", at)
            end = text.find("\n" if mark == "//" else "*/", at + 2)
            if end < 0:
                if mark == "/*":
                    raise self.error("a comment that does not end", at)
                return self.size
            at = end if mark == "//" else end + 2
        return at

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.error("nested too deeply", at)
        char = self.text[at : at + 1]
        if char == "{":
            return self.container(at, depth, "object", "}")
        if char == "[":
            return self.container(at, depth, "array", "]")
        if char == '"':
            plain, end = self.string(at)
            return Node("plain", at, end, plain)
        number = _NUMBER.match(self.text, at)
        if number:
            return Node("plain", at, number.end(), self.number(number[0], at))
        for word, meaning in _WORDS.items():
            if self.text.startswith(word, at):
                return Node("plain", at, at + len(word), meaning)
        raise self.error(f"not JSON: {self.text[at : at + 12].split()[0]!r}" if char else "it ends too early", at)

    def number(self, text: str, at: int) -> Any:
        try:
            return json.loads(text)
        except ValueError:  # more digits than Python converts
            raise self.error("a number of too many digits", at) from None

    def string(self, at: int) -> tuple[str, int]:
        try:
            found: tuple[str, int] = scanstring(self.text, at + 1, True)
        except ValueError:
            raise self.error("a text that does not end or holds what may not be in one", at) from None
        return found

    def container(self, at: int, depth: int, kind: str, closing: str) -> Node:
        entries: list[Entry] = []
        seen: set[str] = set()
        here = self.blank(at + 1)
        while self.text[here : here + 1] != closing or entries:
            start = here
            key = ""
            if kind == "object":
                if self.text[here : here + 1] != '"':
                    raise self.error(self._expected("a key", here), here)
                key, end = self.string(here)
                if key in seen:
                    raise self.error(f"the key {key[:40]!r} is given twice", here)
                seen.add(key)
                here = self.blank(end)
                if self.text[here : here + 1] != ":":
                    raise self.error(self._expected("a colon", here), here)
                here = self.blank(here + 1)
            elif self.text[here : here + 1] == closing:
                raise self.error("a comma with nothing behind it", here)
            value = self.value(here, depth + 1)
            here = self.blank(value.end)
            more = self.text[here : here + 1] == ","
            entries.append(Entry(start, value.end, key, value, here if more else -1))
            if not more:
                if self.text[here : here + 1] != closing:
                    raise self.error(self._expected(f"a comma or {closing}", here), here)
                break
            here = self.blank(here + 1)
        return Node(kind, at, here + 1, None, tuple(entries))

    def _expected(self, what: str, at: int) -> str:
        if self.text[at : at + 1] in "}]" and at < self.size and what == "a key":
            return "a comma with nothing behind it"
        return f"{what} is expected, " + (f"not {self.text[at]!r}" if at < self.size else "but it ends")


def walk(node: Node) -> Iterator[Node]:
    """A value and all values in it."""
    yield node
    for entry in node.entries:
        yield from walk(entry.value)
