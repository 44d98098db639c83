"""What a test run has left behind: processes that carry the run's mark in the environment they were started with."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

#: Whatever a test starts inherits it; `Server` hands it to tmux, whose panes and jobs have it from there.
VARIABLE = "AGENTS_TEST_RUN"
#: What is ending when the last test ends gets this long.
GRACE_S = 5.0


def marked(run: str) -> dict[int, str]:
    """Command lines of the living processes of a run by pid, but for this one; {} where /proc cannot be read."""
    mark, found = f"{VARIABLE}={run}".encode(), {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(entry.name) == os.getpid() or mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode("utf-8", "replace").strip()[:200]
    return found


def left(run: str, grace_s: float = GRACE_S) -> dict[int, str]:
    """The same, after waiting for what is about to end."""
    deadline = time.monotonic() + grace_s
    while (found := marked(run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def end(pids: dict[int, str]) -> None:
    """End what was found."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
