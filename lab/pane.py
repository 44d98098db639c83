"""A private tmux server with one pane, and everything done to it. The user's own tmux is never touched."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from agents_plugin.core.evidence import PaneRow, Screen
from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.runner import Runner, TmuxError


class Pane:
    """A shell in a server at `socket`, with exactly this environment and nothing of ours around it."""

    def __init__(self, socket: Path, env: Mapping[str, str], folder: Path, cols: int, rows: int) -> None:
        self.socket, self.env, self.cols = socket, dict(env), cols
        size = ("-x", str(cols), "-y", str(rows))
        # The server inherits the environment of the client that starts it, and its panes inherit that.
        self._tmux("new-session", "-d", "-s", "lab", *size, "-c", str(folder), "exec sh")
        for name, value in (("status", "off"), ("default-terminal", "tmux-256color"), ("focus-events", "on")):
            self._tmux("set-option", "-g", name, value)
        self._tmux("set-option", "-s", "escape-time", "10")
        # The status line took a row of the size asked for.
        self._tmux("resize-window", "-t", "lab", *size)
        self.runner = Runner(str(socket), environment=self.env)
        self.id = self._tmux("list-panes", "-t", "lab", "-F", "#{pane_id}").strip()

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._tmux("send-keys", "-t", self.id, "-l", text)

    def key(self, *names: str) -> None:
        """Press keys by tmux's names, a moment apart as a person does."""
        for name in names:
            self._tmux("send-keys", "-t", self.id, name)
            time.sleep(0.35)

    def enter(self, text: str, pause: float = 0.8) -> None:
        """Type a text and press Enter. Without the pause some agents take both for a paste."""
        self.type(text)
        time.sleep(pause)
        self.key("Enter")

    def look(self) -> Screen | None:
        """The screen now with its facts; None when the pane is gone or tmux did not answer in time."""
        try:
            return capture(self.runner, [self.id]).get(self.id)
        except TmuxError:
            return None

    def row(self) -> PaneRow | None:
        """The pane as tmux lists it."""
        try:
            return next((row for row in observe(self.runner).panes if row.pane_id == self.id), None)
        except TmuxError:
            return None

    def wait(self, regex: str, within: float, absent: bool = False) -> bool:
        """Until a row of the screen matches (or none does). The rows are joined by newlines: `(?s)` spans them."""
        wanted = re.compile(regex, re.MULTILINE)
        end = time.monotonic() + within
        while time.monotonic() < end:
            screen = self.look()
            if screen and bool(wanted.search("\n".join(screen.lines))) != absent:
                return True
            time.sleep(0.15)
        return False

    def close(self) -> None:
        """End the server with everything in it."""
        subprocess.run(
            ["tmux", "-S", str(self.socket), "kill-server"], env=self.env, capture_output=True, timeout=20, check=False
        )
