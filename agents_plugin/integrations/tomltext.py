"""Codex's `notify` in config.toml: a marked block of ours at the top of the file, put in and taken out as text.

The file is only edited when it can be understood: by `tomllib` where Python has it, and always by its structure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from agents_plugin.integrations.jsontext import TextError, line_of
from agents_plugin.integrations.wrapper import TAIL

_FIRST = "# >>> agents.tmux: tells tmux when a turn ends; `agents install --remove codex` takes this out >>>"
_LAST = "# <<< agents.tmux <<<"
#: Started without a shell, with the event as one more argument; silent when the wrapper is gone.
_COMMAND = '[ ! -x "$0" ] || exec "$0" codex notify "$@"'
_PLAIN_PATH = re.compile(r"[^'\x00-\x1f\x7f]+")
_OURS = re.compile(
    r"notify[ \t]*=[ \t]*\[[ \t]*[\"']/bin/sh[\"'],[ \t]*[\"']-c[\"'],[^\n]*codex notify[^\n]*"
    + re.escape(TAIL)
    + r"[\"'][ \t]*,?[ \t]*\]"
)
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*")
#: Numbers, words and times; a date may be followed by a time.
_PLAIN = re.compile(r"[A-Za-z0-9_+.:-]+(?: \d{2}:[0-9:.]+(?:[Zz]|[+-][0-9:]+)?)?")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Statement:
    """`key = value` at text[start:end], or a table header (`value` is empty); `table` is the header it stands under."""

    start: int
    end: int
    table: str
    key: str
    value: str


@dataclass(frozen=True)
class NotifyToml:
    """`notify` of Codex, which calls the wrapper at `hook`."""

    hook: Path

    def has_ours(self, text: str) -> bool:
        """Whether `notify` is ours. Raises `TextError`."""
        return any(_is_ours(text, statement) for statement in statements(text))

    def taken(self, text: str | None) -> bool:
        """Whether `notify` is the user's: there is only one, so it stays."""
        return text is not None and any(s.key == "notify" and not _is_ours(text, s) for s in _top(text))

    def install(self, text: str | None, backup: str | None) -> str:
        """The text with our block, unless the user has a `notify`. Raises `TextError`."""
        if not _PLAIN_PATH.fullmatch(str(self.hook)):
            raise TextError(f"the path {str(self.hook)!r} cannot be written into it")
        before = text or ""
        rest = _without(before)
        if self.taken(rest):
            return rest
        bom = "\ufeff" if rest.startswith("\ufeff") else ""
        newline = "\r\n" if "\r\n" in rest else "\n"
        done = bom + newline.join([*self._block(), ""]) + rest.removeprefix(bom)
        if not any(_is_ours(done, statement) for statement in statements(done)):
            raise TextError("our line could not be read back")
        _unchanged(before, done)
        return done

    def remove(self, text: str, backup: str | None) -> str | None:
        """The text without our block; None when nothing is left of a file that was not there before (no backup)."""
        done = _without(text)
        _unchanged(text, done)
        return None if backup is None and done != text and not done.strip() else done

    def _block(self) -> list[str]:
        return [_FIRST, f"notify = ['/bin/sh', '-c', '{_COMMAND}', '{self.hook}']", _LAST]


def statements(text: str) -> list[Statement]:
    """What a TOML text says, in order. Raises `TextError`."""
    found: list[Statement] = []
    table = ""
    seen: set[tuple[str, str]] = set()
    at = 1 if text.startswith("\ufeff") else 0
    while True:
        at = _blank(text, at)
        if at >= len(text):
            _parsed(text)
            return found
        start = at
        header = text[at] == "["
        if header:
            double = text.startswith("[[", at)
            at = _space(text, at + 1 + double)
        key = _KEY.match(text, at)
        if not key:
            raise TextError(f"not TOML: {text[at : at + 20].splitlines()[0]!r}", line_of(text, at))
        name = _plain(key[0])
        at = _space(text, key.end())
        if header:
            closing = "]]" if double else "]"
            if not text.startswith(closing, at):
                raise TextError("a table header that does not end", line_of(text, start))
            at = _end_of_line(text, at + len(closing))
            table = ("[[" if double else "[") + name
            if double:
                seen = {pair for pair in seen if pair[0] != table}
            found.append(Statement(start, at, table, name, ""))
            continue
        if text[at : at + 1] != "=":
            raise TextError("a = is expected", line_of(text, at))
        if (table, name) in seen:
            raise TextError(f"the key {name[:40]!r} is given twice", line_of(text, start))
        seen.add((table, name))
        begin = _space(text, at + 1)
        end = _value(text, begin)
        if end == begin:
            raise TextError("a value is expected", line_of(text, start))
        at = _end_of_line(text, end)
        found.append(Statement(start, end, table, name, text[begin:end]))


def _parsed(text: str) -> Mapping[str, Any] | None:
    """The data of a text, by `tomllib`; None where Python has none (3.10)."""
    try:
        tomllib = import_module("tomllib")
    except ImportError:
        return None
    try:
        data: Mapping[str, Any] = tomllib.loads(text.removeprefix("\ufeff"))
        return data
    except (ValueError, RecursionError) as error:
        raise TextError(f"not TOML: {error}") from None


def _unchanged(before: str, after: str) -> None:
    """Besides `notify` of ours both must say the same: the last guard against a bad edit."""

    def rest(text: str) -> object:
        data = _parsed(text)
        ours = any(_is_ours(text, statement) for statement in statements(text))
        if data is None:
            return [(s.table, s.key, s.value) for s in statements(text) if not _is_ours(text, s)]
        return {key: value for key, value in data.items() if not (ours and key == "notify")}

    if rest(before) != rest(after):
        raise TextError("it could not be edited without changing something else")


def _top(text: str) -> list[Statement]:
    return [statement for statement in statements(text) if not statement.table]


def _is_ours(text: str, statement: Statement) -> bool:
    here = not statement.table and statement.key == "notify"
    return here and bool(_OURS.fullmatch(text[statement.start : statement.end]))


def _without(text: str) -> str:
    for statement in statements(text):
        if not _is_ours(text, statement):
            continue
        start = text.rfind("\n", 0, statement.start) + 1
        end = text.find("\n", statement.end)
        end = len(text) if end < 0 else end + 1
        before, after = text[:start], text[end:]
        first, last = _line_before(before), _line_after(after)
        if before[first:].strip().removeprefix("\ufeff") == _FIRST:
            before = before[:first] + ("\ufeff" if before[first:].startswith("\ufeff") else "")
        if start == 0 and text.startswith("\ufeff"):
            before = "\ufeff"
        if after[:last].strip() == _LAST:
            after = after[last:]
        return before + after
    return text


def _line_before(text: str) -> int:
    return text.rfind("\n", 0, max(0, len(text) - 1)) + 1


def _line_after(text: str) -> int:
    end = text.find("\n")
    return len(text) if end < 0 else end + 1


def _plain(key: str) -> str:
    """A key as a name: quotes of simple parts are dropped."""
    return re.sub(r"[ \t]*\.[ \t]*", ".", re.sub(r"""(["'])([A-Za-z0-9_-]+)\1""", r"\2", key))


def _space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _blank(text: str, at: int) -> int:
    """Behind blanks, newlines and comments."""
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            break
    return at


def _end_of_line(text: str, at: int) -> int:
    """Behind a statement only a comment may follow on its line."""
    rest = _space(text, at)
    if rest < len(text) and text[rest] not in "#\r\n":
        raise TextError(f"not TOML: {text[rest : rest + 20].splitlines()[0]!r}", line_of(text, rest))
    return at


def _value(text: str, start: int) -> int:
    """Where a value ends: texts are skipped as a whole, brackets are counted."""
    if text[start : start + 1] in ('"', "'"):
        return _string(text, start)
    if text[start : start + 1] not in ("[", "{"):
        plain = _PLAIN.match(text, start)
        return plain.end() if plain else start
    at = start
    open_: list[str] = []
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _string(text, at)
            continue
        if char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        at += 1
        if char in "[{":
            open_.append(_CLOSING[char])
        elif char in "]}":
            if open_.pop() != char:
                raise TextError(f"a {char} that nothing opened", line_of(text, at - 1))
            if not open_:
                return at
    raise TextError(f"a {open_[-1]} is missing", line_of(text, start))


def _string(text: str, at: int) -> int:
    mark = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    here = at + len(mark)
    while here < len(text):
        if text.startswith(mark, here):
            here += len(mark)
            # Up to two more quotes may stand directly before the closing ones.
            while len(mark) == 3 and text[here : here + 1] == mark[0]:
                here += 1
            return here
        if text[here] == "\\" and mark[0] == '"':
            here += 1
        elif text[here] == "\n" and len(mark) == 1:
            break
        here += 1
    raise TextError("a text that does not end", line_of(text, at))
