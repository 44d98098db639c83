"""Which agents' events have arrived lately: one empty file per agent in the state directory, its time is the answer.

Doctor tells by it an integration that works from one that is only written down (an untrusted hook, an old session).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable
from pathlib import Path

#: A mark is written again only when it is older: its age is told in minutes.
_FRESH_S = 60.0
_NAME = re.compile(r"[a-z0-9-]{1,64}")


def mark(directory: Path | None, agents: Iterable[str]) -> None:
    """Remember that these agents (ids) were heard now. A full disk is no error."""
    if directory is None:
        return
    for agent in set(agents):
        if _NAME.fullmatch(agent) and (last(directory, agent) or 0.0) < time.time() - _FRESH_S:
            with contextlib.suppress(OSError):
                directory.mkdir(mode=0o700, exist_ok=True)
                (directory / agent).touch(mode=0o600)


def last(directory: Path | None, agent: str) -> float | None:
    """When an agent was last heard (epoch seconds); None: never, as far as is known."""
    try:
        return (directory / agent).lstat().st_mtime if directory else None
    except OSError:
        return None
