"""Whose turn it is: many things of several owners, in an order in which nobody waits behind somebody else's flood."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")
_NONE = object()


def in_turn(items: Iterable[T], owner: Callable[[T], Hashable]) -> list[T]:
    """The first of every owner, then the second of every owner, and so on. An owner's own order stays."""
    owned: dict[Hashable, list[T]] = {}
    for item in items:
        owned.setdefault(owner(item), []).append(item)
    return [item for turn in zip_longest(*owned.values(), fillvalue=_NONE) for item in turn if item is not _NONE]  # type: ignore[misc]


def from_both_ends(items: Sequence[T]) -> Iterator[T]:
    """First, last, second, last but one: of a queue that is too long, neither end waits for the other."""
    low, high = 0, len(items) - 1
    while low <= high:
        yield items[low]
        if low < high:
            yield items[high]
        low, high = low + 1, high - 1
