"""Small edits of JSON text: a member or an item is put last, or taken out, and every other byte stays.

Taking out what was just put in gives the text of before, except that an empty `{}` may have become one over two lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents_plugin.integrations.jsontext import Node, dump

_BLANK = " \t\r\n"


@dataclass(frozen=True)
class Style:
    """How a file is written: its newline ("" when it is one line), a step of indentation, its comma and colon."""

    newline: str = "\n"
    step: str = "  "
    comma: str = ", "
    colon: str = ": "


def style_of(text: str, root: Node) -> Style:
    """The style of a text, by its first newline and the first member of its outermost value."""
    body = text[root.start : root.end]
    newline = "" if "\n" not in text else "\r\n" if text[text.index("\n") - 1 : text.index("\n")] == "\r" else "\n"
    if not root.entries:
        return Style(newline or "\n")
    first = root.entries[0]
    colon = ": "
    if first.key:
        between = text[text.index(":", _key_end(text, first.start)) + 1 : first.value.start]
        colon = ":" if not between else ": "
    comma = ", "
    if len(root.entries) > 1:
        comma = "," if first.comma >= 0 and root.entries[1].start == first.comma + 1 else ", "
    elif colon == ":":
        comma = ","
    if "\n" not in body:
        return Style("", "", comma, colon)
    step = _indent_at(text, first.start)
    return Style(newline, step if step is not None and step else "  ", comma, colon)


def append(text: str, place: Node, value: Any, style: Style, key: str = "") -> str:
    """Put a value last into an object (under `key`) or an array."""
    inline = not style.newline or bool(place.entries and "\n" not in text[place.start : place.entries[0].start])
    own = _indent_of_line(text, place.start)
    indent = own + style.step
    if place.entries:
        indent = _indent_at(text, place.entries[0].start) or indent
    # In a file of many lines the members of an object that is on one stay readable when each new one gets its own.
    broken = inline and bool(style.newline and key)
    spelled = dump(value, "" if inline else style.newline, style.step, indent)
    if inline:
        spelled = compact(value, style)
    if key:
        spelled = compact(key, style) + (style.colon if inline else ": ") + spelled
    if not place.entries:
        inner = text[place.start + 1 : place.end - 1]
        if inline:
            return text[: place.start + 1] + spelled + text[place.start + 1 :]
        # What stood between the braces (a comment, a newline) stays in front of the closing one.
        kept = inner.rstrip(_BLANK)
        tail = inner[len(kept) :] if "\n" in inner[len(kept) :] else style.newline + own
        body = kept + style.newline + indent + spelled + tail
        return text[: place.start + 1] + body + text[place.end - 1 :]
    last = place.entries[-1]
    after = text[last.end : place.end - 1]
    kept = after.rstrip(_BLANK)
    # Behind a `//` comment only a new line is text again.
    gap = style.comma[1:] if inline and not broken and "//" not in kept else (style.newline or "\n") + indent
    return text[: last.end] + "," + kept + gap + spelled + text[last.end + len(kept) :]


def remove(text: str, place: Node, index: int) -> str:
    """Take the member or item number `index` out of an object or array."""
    entry = place.entries[index]
    before, after = text[: entry.start], text[entry.end :]
    if entry.comma >= 0:
        after = text[entry.end : entry.comma] + text[entry.comma + 1 :]
    elif index:
        comma = place.entries[index - 1].comma
        before = text[:comma] + text[comma + 1 : entry.start]
    kept = before.rstrip(_BLANK)
    if "\n" in before[len(kept) :] and after.lstrip(" \t")[:1] not in ("\r", "\n"):
        # What follows on the same line takes the place; a comment in front still needs its newline.
        return before + after.lstrip(" \t")
    return kept + after


def replace(text: str, node: Node, raw: str) -> str:
    """Put another text in the place of a value."""
    return text[: node.start] + raw + text[node.end :]


def compact(value: Any, style: Style) -> str:
    """A value on one line, with the file's own blanks after commas and colons."""
    if isinstance(value, dict):
        pairs = (f"{dump(key, '', '', '')}{style.colon}{compact(item, style)}" for key, item in value.items())
        return "{" + style.comma.join(pairs) + "}"
    if isinstance(value, list):
        return "[" + style.comma.join(compact(item, style) for item in value) + "]"
    return dump(value, "", "", "")


def _key_end(text: str, start: int) -> int:
    at = start + 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _indent_at(text: str, at: int) -> str | None:
    """The blanks in front of what stands at `at`, when it is the first on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if "\n" in text[:at] and not line.strip(" \t") else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
