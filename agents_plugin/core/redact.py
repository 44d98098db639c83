"""Takes personal things out of a recorded screen: each becomes something neutral of the same width. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agents_plugin.core.text import width

#: Account names that tell nothing about a person, and are words of their own on screens.
COMMON = frozenset(
    ("root", "user", "users", "admin", "dev", "ubuntu", "debian", "guest", "runner", "node", "localhost")
)
_FILLER = "neutral"
_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
# Keys whose makers gave them a prefix; the prefix stays, so that it is seen what stood there.
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?P<keep>sk-(?:ant-|proj-|or-)?|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|AIza|AKIA|"
    r"(?i:bearer ))(?P<secret>[A-Za-z0-9_.~+/=-]{12,})"
)
_JWT = re.compile(r"(?P<keep>eyJ)(?P<secret>[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?)")
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9A-Za-z])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?=[A-Fa-f0-9]*\d)(?=[A-Fa-f0-9]*[A-Fa-f])[A-Fa-f0-9]{24,}(?![0-9A-Za-z])")
# Long words of mixed letters and digits: no sentence and no path has them.
_RANDOM = re.compile(
    r"(?<![A-Za-z0-9+_=-])(?=[A-Za-z0-9+_-]*\d)(?=[A-Za-z0-9+_-]*[a-z])(?=[A-Za-z0-9+_-]*[A-Z])"
    r"[A-Za-z0-9+_-]{32,}={0,2}(?![A-Za-z0-9+_=-])"
)
_TAIL = re.compile(r"[A-Za-z0-9_.~+/=-]*")


@dataclass(frozen=True)
class Person:
    """What to look for: home directory, user and host name (any may be empty), and further words."""

    home: str = ""
    user: str = ""
    host: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Redacted:
    """The text without them, and how often each kind was replaced."""

    text: str
    counts: dict[str, int]


def filler(cells: int) -> str:
    """Neutral letters of this many cells."""
    return (_FILLER * (cells // len(_FILLER) + 1))[:cells]


def redact(text: str, person: Person) -> Redacted:
    """Replace home directory, user and host name, words, e-mail addresses, keys and identifiers.

    Every row keeps its width. A key with a known prefix is followed into the next row when the row is full of it; other
    things that a wrap broke in two are not found: look a recording through before you give it away.
    """
    counts: Counter[str] = Counter()

    def sub(kind: str, regex: re.Pattern[str], make: Callable[[re.Match[str]], str], text: str) -> str:
        def one(found: re.Match[str]) -> str:
            neutral = make(found)
            counts[kind] += neutral != found[0]
            return neutral

        return regex.sub(one, text)

    text = _keys(text, counts)
    text = sub("e-mail address", _EMAIL, lambda found: re.sub(r"[A-Za-z0-9]", "x", found[0]), text)
    text = sub("identifier", _UUID, lambda found: re.sub(r"[0-9a-f]", "0", found[0]), text)
    text = sub("key", _HEX, lambda found: "0" * len(found[0]), text)
    text = sub("key", _RANDOM, lambda found: "x" * len(found[0]), text)
    for kind, name, neutral in _names(person):
        text = sub(kind, _word(name), lambda found, neutral=neutral: neutral(found[0]), text)  # type: ignore[misc]
    return Redacted(text, {kind: number for kind, number in sorted(counts.items()) if number})


def _names(person: Person) -> Iterable[tuple[str, str, Callable[[str], str]]]:
    """Kind, text and replacement, the longest first: a home directory holds the user's name."""
    home = person.home.rstrip("/")
    if home.count("/") >= 1 and len(home) > 1:
        yield "home directory", home, _path
        # Agents name folders after a path with its slashes turned into dashes.
        yield "home directory", home.replace("/", "-"), lambda found: _path(found, "-")
    host = person.host
    for name in (host, host.partition(".")[0]):
        if len(name) >= 3 and name.lower() not in COMMON:
            yield "host name", name, lambda found: filler(width(found))
    if len(person.user) >= 3 and person.user.lower() not in COMMON:
        yield "user name", person.user, lambda found: filler(width(found))
    for word in person.words:
        if word:
            yield "word", word, lambda found: filler(width(found))


def _path(found: str, slash: str = "/") -> str:
    head = f"{slash}home{slash}"
    room = width(found) - len(head)
    return head + filler(room) if room > 0 else slash + filler(width(found) - 1)


def _word(name: str) -> re.Pattern[str]:
    before = r"(?<![A-Za-z0-9_])" if name[0].isalnum() else ""
    return re.compile(before + re.escape(name) + r"(?![A-Za-z0-9_])", re.IGNORECASE)


def _keys(text: str, counts: Counter[str]) -> str:
    """Prefixed keys, also those a wrap broke: what stands at the begin of the next row belongs to them."""
    rows = text.split("\n")
    full = max(map(width, rows), default=0)
    running = False
    for index, row in enumerate(rows):
        if running:
            start = len(row) - len(row.lstrip(" │┃|"))
            end = _TAIL.match(row, start).end()  # type: ignore[union-attr]
            row = row[:start] + "x" * (end - start) + row[end:]
            running = end > start and width(row[:end]) >= full - 2
        for regex in (_PREFIXED, _JWT):
            for found in list(regex.finditer(row)):
                if set(found["secret"]) <= {"x", "."}:
                    continue
                row = row[: found.start("secret")] + "x" * len(found["secret"]) + row[found.end("secret") :]
                counts["key"] += 1
                running = running or (found.end() == len(row.rstrip(" │┃|")) and width(row[: found.end()]) >= full - 4)
        rows[index] = row
    return "\n".join(rows)
