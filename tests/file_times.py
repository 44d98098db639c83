"""Spool files in virtual time: nobody can set when a file was changed, and no event is later than that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from agents_plugin.host import spool


@contextmanager
def written_as_dated() -> Iterator[None]:
    """Within this, a spool file counts as written when its modification time says, in the future too."""
    real = spool.read

    def read(path: Path) -> spool.Event | None:
        event = real(path)
        return replace(event, at_ms=path.stat().st_mtime_ns // 1_000_000) if event else None

    with patch.object(spool, "read", read):
        yield


def date(path: Path, wall_ms: int) -> None:
    """Let a spool file be written at another time."""
    os.utime(path, ns=(wall_ms * 1_000_000, wall_ms * 1_000_000))
    event = spool.read(path)
    assert event is None or event.at_ms == wall_ms
