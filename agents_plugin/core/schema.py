"""How manifests are checked: every error names the key it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any as Value

Path = tuple["str | int", ...]
#: The largest manifest of ours has 3 % of the first, the longest expression a quarter of the second.
MAX_NODES = 20_000
MAX_REGEX_CHARS = 4_000


class ManifestError(ValueError):
    """A manifest that breaks the schema. `path` leads to the offending key (`("rules", 2, "line")`)."""

    def __init__(self, message: str, path: Path = (), origin: str = "") -> None:
        self.message, self.path, self.origin = message, path, origin
        super().__init__(f"{origin}: {self.key}: {message}" if self.key else f"{origin}: {message}")

    @property
    def key(self) -> str:
        """The path as people write it: `rules[2].line`."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.lstrip(".")


def as_mapping(value: object, path: Path, allowed: frozenset[str] | None = None) -> Mapping[str, Value]:
    """A mapping with text keys, of the `allowed` ones only."""
    if not isinstance(value, dict):
        raise ManifestError("must be a mapping", path)
    for key in value:
        if not isinstance(key, str):
            raise ManifestError(f"key {key!r} must be text", path)
        if allowed is not None and key not in allowed:
            raise ManifestError("is not a known key; known are " + ", ".join(sorted(allowed)), (*path, key))
    return value


def as_list(data: Mapping[str, Value], key: str, path: Path) -> list[Value]:
    """A list; one that is missing is empty."""
    value = data.get(key, [])
    if not isinstance(value, list):
        raise ManifestError("must be a list", (*path, key))
    return value


def one_or_many(value: object, path: Path) -> tuple[str, ...]:
    """A text or a list of texts."""
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) and item for item in items):
        raise ManifestError("must be a text or a list of texts (quote numbers and true, false, null)", path)
    return tuple(items)


def texts(data: Mapping[str, Value], key: str, path: Path) -> tuple[str, ...]:
    """The same by key; () when it is missing."""
    return one_or_many(data[key], (*path, key)) if key in data else ()


def optional(data: Mapping[str, Value], key: str, path: Path) -> str | None:
    """A text that may be missing."""
    value = data.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise ManifestError("must be a text", (*path, key))
    return value


def text_of(data: Mapping[str, Value], key: str, path: Path, default: str | None = None) -> str:
    """A text that must be there, or have a default."""
    value = optional(data, key, path) or default
    if value is None:
        raise ManifestError(f"{key} is missing", path)
    return value


def as_bool(data: Mapping[str, Value], key: str, path: Path) -> bool | None:
    """True, false or missing."""
    value = data.get(key)
    if value is not None and not isinstance(value, bool):
        raise ManifestError("must be true or false", (*path, key))
    return value


def word(data: Mapping[str, Value], key: str, path: Path, known: tuple[str, ...]) -> str:
    """One of these words, or nothing."""
    value = optional(data, key, path) or ""
    if value and value not in known:
        raise ManifestError("must be one of " + ", ".join(known), (*path, key))
    return value


def seconds(data: Mapping[str, Value], key: str, path: Path) -> int | None:
    """A number of seconds, as milliseconds; None when absent."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 600:
        raise ManifestError("must be a number of seconds from 0 to 600", (*path, key))
    return int(value * 1000)


def choice(data: Mapping[str, Value], key: str, path: Path, kind: type[Value], default: Value) -> Value:
    """A value of the enumeration `kind`."""
    if key not in data and default is not None:
        return default
    try:
        return kind(data.get(key))
    except ValueError:
        raise ManifestError("must be one of " + ", ".join(item.value for item in kind), (*path, key)) from None


def check_size(value: object, path: Path = ()) -> None:
    """Refuses data of more than `MAX_NODES` values: aliases let a small file unfold without end, or into itself."""
    seen, left = 0, [value]
    while left:
        seen += 1
        if seen > MAX_NODES:
            raise ManifestError(f"more than {MAX_NODES} values", path)
        one = left.pop()
        if isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, (list, tuple)):
            left.extend(one)


def regex(value: object, path: Path, ignore_case: bool, flags: int = 0) -> re.Pattern[str]:
    """A compiled regular expression."""
    if not isinstance(value, str) or not value:
        raise ManifestError("must be a regular expression", path)
    if len(value) > MAX_REGEX_CHARS:
        raise ManifestError(f"is longer than {MAX_REGEX_CHARS} characters", path)
    try:
        return re.compile(value, flags | (re.IGNORECASE if ignore_case else 0))
    except (re.error, OverflowError, RecursionError) as error:
        raise ManifestError(f"is not a regular expression: {error}", path) from None
