"""What is kept between passes has a bound in bytes, whatever was seen."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.core import programs
from agents_plugin.core.evidence import Screen
from agents_plugin.core.regions import regions_of
from agents_plugin.manifest_cache import ManifestCache


def _commands(number: int) -> None:
    programs.program("claude", ("claude", "-p", f"{number} {'x' * 60_000}"), "/usr/bin/claude")


def _paths(number: int) -> None:
    programs.components(f"/{number}/" + "x/" * 30_000)


def _screens(number: int) -> None:
    regions_of(Screen(lines=tuple(f"{number} {'x' * 1_900}" for _ in range(500))))


@pytest.mark.parametrize("see", [_commands, _paths, _screens])
def test_what_is_huge_is_not_remembered(see: Callable[[int], None]) -> None:
    """Fifty of them leave no more than one of the largest."""
    see(0)
    tracemalloc.start()
    try:
        for number in range(1, 51):
            see(number)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 2_500_000


def test_manifests_that_are_gone_make_room(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path / "manifests.json")
    for number in range(5_000):
        cache.put(f"/gone/{number}.yaml", (1, 2, 3), {"id": "x"})
    assert cache.get("/gone/4999.yaml", (1, 2, 3)) == {"id": "x"}
    cache.save()
    assert cache.file.stat().st_size < 64_000
    assert sys.getsizeof(cache._entries) < 64_000
