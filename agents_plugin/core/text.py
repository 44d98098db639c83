"""Text as screens and strangers write it: borders, wrapping, cells, control characters."""

from __future__ import annotations

import re
import unicodedata

#: Box drawing (U+2500-257F) and block elements (U+2580-259F): frames, rules, bars, shadows.
BORDERS = "".join(map(chr, range(0x2500, 0x25A0)))
_BORDER_RUN = re.compile("[\u2500-\u259f]+")
_EDGES = " \t\xa0" + BORDERS
# CSI, OSC/DCS/APC/PM/SOS up to their terminator, and two-character escapes.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
#: Marks that reorder or hide what a reader sees (bidi overrides, isolates, zero width, byte order mark), as a class.
INVISIBLE = "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb"
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def squash(text: str) -> str:
    """The text without white space, borders and line breaks: equal however a box wrapped it."""
    return _BORDER_RUN.sub("", "".join(text.split()))


def strip_border(line: str) -> str:
    """One row without the frame, bar or rule at its two ends and without surrounding blanks."""
    return line.strip(_EDGES)


def flow(lines: tuple[str, ...] | list[str]) -> str:
    """The rows stripped of borders and joined; every run of blanks, also inside a row, is a single space."""
    return " ".join(" ".join(map(strip_border, lines)).split())


def strip_controls(text: str) -> str:
    """The text on one line: escape sequences and invisible marks gone, runs of controls and blanks become one space."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = _INVISIBLE.sub("", _CONTROLS.sub(" ", strip_escapes(text)))
    return " ".join(plain.encode("utf-8", "replace").decode("utf-8").split())


def strip_escapes(text: str) -> str:
    """The text without escape sequences, whole or cut off."""
    return _ESCAPES.sub("", text)


def cell_width(char: str) -> int:
    """Terminal cells of one character: 0 for combining marks and joiners, 2 for wide ones, else 1."""
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def width(text: str) -> int:
    """Terminal cells of a text; an emoji presentation selector (U+FE0F) widens a narrow character before it."""
    if text.isascii():
        return len(text)
    total, last = 0, 0
    for char in text:
        cells = 1 if char == "\ufe0f" and last == 1 else cell_width(char)
        total += cells
        last = cells if cells else last
    return total


def clip(text: str, cells: int, ellipsis: str = "…") -> str:
    """The text in at most `cells` cells, ending in `ellipsis` when something was cut; never half a wide character."""
    if cells <= 0:
        return ""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 0:
        return ""
    kept = ""
    for char in text:
        if width(kept + char) > room:
            break
        kept += char
    return kept.rstrip() + ellipsis
