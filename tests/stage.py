"""A real tmux server, and passes over it whose clock is moved by hand."""

from __future__ import annotations

import time

from agents_plugin.cycle import Cycle, Pass
from agents_plugin.host.clock import FixedClock
from tests.support import ROOT, Server

#: Recorded screens of Claude Code that fit an Actor's pane.
IDLE, WORKING, BLOCKED = "idle__fresh__w100", "working__streaming_2s__w100", "blocked__bash_permission__w100"


class Stage:
    """A server with the rollup installed and a cycle whose clock is moved by hand."""

    def __init__(self, server: Server) -> None:
        self.server = server
        now = int(time.time() * 1000)
        self.clock = FixedClock(now, 5_000_000)
        server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
        self.cycle = self.fresh()

    def fresh(self) -> Cycle:
        """A cycle that remembers nothing."""
        cycle = Cycle(self.server.socket, clock=self.clock, environ=self.server.env)
        cycle.runner.binary = self.server.binary.path
        return cycle

    def step(self, ms: int = 1_100) -> Pass:
        """Let time pass, then make a pass."""
        self.clock.advance(ms)
        return self.cycle.run_pass()
