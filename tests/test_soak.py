"""Thousands of passes over changing panes: what a process holds does not grow with what it has seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import soak


@pytest.mark.timeout(300)
def test_memory_and_descriptors_are_flat(tmp_path: Path) -> None:
    """After the first tenth a pass leaves nothing behind."""
    first, *_, last = soak(tmp_path, 1_500)
    assert last.passes == 1_500
    assert last.own - first.own < 1_500_000
    assert last.descriptors == first.descriptors
