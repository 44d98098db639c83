"""Panes under a test's control: a shell named like an agent that shows recorded screens on request."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import psutil

from tests.support import ROOT, Server, wait_for

HOOK = ROOT / "scripts" / "agent-hook"
_SCRIPT = r"""stty -echo
while :; do
    read -r screen title < "$1" || continue
    [ "$screen" = quit ] && exit
    if [ "$screen" = hook ]; then
        set -- "$1" $title
        "$2" "$3" "$4" < "$5" > /dev/null
        echo done > "$1.done"
        continue
    fi
    printf '\033[?25l\033[H\033[2J\033]2;%s\007' "$title"
    cat "$screen"
    echo done > "$1.done"
done
"""


def _writer(fifo: Path) -> int:
    """The FIFO opened for writing, 0 as long as nobody reads it: a plain open would wait for a dead reader for good."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return 0


def _said(descriptor: int) -> bytes:
    """What came through a FIFO so far, nothing yet included."""
    try:
        return os.read(descriptor, 64)
    except BlockingIOError:
        return b""


class Actor:
    """A pane whose foreground process is called `name` and that shows screens of `fixtures/<folder>/` when asked.

    `below`: it is a shell's child. tmux itself continues a pane's own process when somebody stops it.
    """

    def __init__(
        self,
        server: Server,
        name: str = "claude",
        folder: str = "",
        cols: int = 100,
        rows: int = 40,
        args: tuple[str, ...] = (),
        below: bool = False,
    ) -> None:
        self.server, self.name, self.folder = server, name, ROOT / "fixtures" / (folder or name)
        place = server.base / "actors"
        place.mkdir(exist_ok=True)
        program = place / name
        shell = Path(shutil.which("dash") or shutil.which("sh") or "/bin/sh").resolve()
        if not program.exists():
            program.symlink_to(shell)
        script = place / "act"
        # Once: a shell that starts while its script is written anew reads an empty one, and ends.
        if not script.exists():
            script.write_text(_SCRIPT)
        self.fifo = place / f"fifo{len(list(place.iterdir()))}"
        for fifo in (self.fifo, Path(f"{self.fifo}.done")):
            os.mkfifo(fifo)
        command = " ".join(shlex.quote(str(word)) for word in (program, script, self.fifo, *args))
        command = f"{command}; exit" if below else f"exec {command}"
        self.pane = server.window(command, name="agent")
        server.cmd("resize-window", "-t", self.pane, "-x", str(cols), "-y", str(rows))
        self.pid = int(server.format(self.pane, "#{pane_pid}"))
        if below:
            shell_process = psutil.Process(self.pid)
            self.pid = wait_for(shell_process.children, what=f"{name} below its shell")[0].pid

    def show(self, fixture: str) -> None:
        """Draw a fixture by its file name without ending, title included; returns when tmux has it."""
        text = self.folder / f"{fixture}.txt"
        facts = json.loads(text.with_suffix(".json").read_text(encoding="utf-8"))
        self.draw(text.read_text(encoding="utf-8").rstrip("\n"), facts.get("pane_title", ""))

    def draw(self, text: str, title: str = "") -> None:
        """Draw any text; returns when tmux shows its last line."""
        screen = self.fifo.with_suffix(".screen")
        screen.write_text(text.replace("\n", "\r\n"), encoding="utf-8")
        self._ask(f"{screen} {title}")
        last = next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
        wait_for(lambda: last[:20] in self.server.screen(self.pane), what="the screen drawn")

    def fire(self, event: str, payload: object, agent: str = "", hook: Path = HOOK) -> Path:
        """Fire a hook as the agent does, through `scripts/agent-hook` or a program around it.

        Gives the spool file, or the spool when somebody was faster.
        """
        spool = self.server.home / ".local/state/agents.tmux/spool"
        before = set(spool.iterdir()) if spool.exists() else set()
        said = self.fifo.with_suffix(".payload")
        text = payload if isinstance(payload, str) else json.dumps(payload)
        said.write_text(text, encoding="utf-8")
        self._ask(f"hook {hook} {agent or self.name} {event} {said}")
        return next(iter(set(spool.iterdir()) - before), spool)

    def quit(self) -> None:
        """End the program (and so the pane)."""
        self._tell("quit")

    def _ask(self, line: str) -> None:
        """Tell the program something and wait until it says that it is done."""
        self._tell(line)
        done = os.open(f"{self.fifo}.done", os.O_RDONLY | os.O_NONBLOCK)
        try:
            wait_for(lambda: _said(done), what=f"{self.name} in {self.pane} done with: {line}", interval=0.002)
        finally:
            os.close(done)

    def _tell(self, line: str) -> None:
        writer = wait_for(lambda: _writer(self.fifo), what=f"{self.name} in {self.pane} listening", interval=0.002)
        try:
            os.write(writer, f"{line}\n".encode())
        finally:
            os.close(writer)

    def state(self) -> str:
        """What is published: `blocked/permission`, `idle`, or nothing."""
        detail = self.server.option(self.pane, "@agent_detail")
        return self.server.option(self.pane, "@agent_state") + (f"/{detail}" if detail else "")

    def option(self, name: str) -> str:
        """A published pane option."""
        return self.server.option(self.pane, name)
