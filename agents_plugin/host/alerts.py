"""The opt-in alert of a blocked run: tmux's own bell, a command of the user's, or both."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping


def bell(tty: str) -> None:
    """A bell in the pane, as if its program rang: `bell-action`, `monitor-bell` and the window's flag are the user's.

    Never blocks: a terminal that takes no output rings nothing.
    """
    if not tty.startswith("/dev/"):
        return
    try:
        descriptor = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(descriptor, b"\a")
    except OSError:
        return
    finally:
        os.close(descriptor)


class Commands:
    """Runs the user's alert command; what it is about stands in variables, never in the command's text."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, facts: Mapping[str, str]) -> None:
        """Start `command` in `/bin/sh`, detached and silent. A command that cannot start is no error here."""
        self.reap()
        try:
            started = subprocess.Popen(
                ["/bin/sh", "-c", command],
                env={**os.environ, **facts},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError):
            return
        self._running.append(started)

    def reap(self) -> None:
        """Forget the commands that ended."""
        self._running = [process for process in self._running if process.poll() is None]
