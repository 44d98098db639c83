"""Runs our commands as a person would: `python -m agents_plugin …`, against a test's own tmux server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from agents_plugin.cycle import Cycle, Pass
from tests.support import ROOT, Server


def agents(
    server: Server, *args: str, pane: str | None = "", env: Mapping[str, str] | None = None, timeout: float = 40
) -> subprocess.CompletedProcess[str]:
    """Run a command in the environment of a pane of this server (`pane` "": a job of it, None: outside of tmux)."""
    around = server.env if pane is None else server.inside(pane)
    return subprocess.run(
        [sys.executable, "-m", "agents_plugin", *args],
        env={**around, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def asked(server: Server, *args: str, **more: Any) -> str:
    """The standard output of a command that must succeed."""
    done = agents(server, *args, **more)
    assert done.returncode == 0, f"{args}: {done.returncode} {done.stderr or done.stdout}"
    return done.stdout


def asked_json(server: Server, *args: str, **more: Any) -> Any:
    """The same, as JSON data."""
    return json.loads(asked(server, *args, "--json", **more))


def one_pass(server: Server) -> Pass:
    """What the monitor does once."""
    cycle = Cycle(server.socket, server_pid=server.pid, environ={**os.environ, **server.env})
    cycle.runner.binary = server.binary.path
    return cycle.run_pass()


def load(server: Server) -> None:
    """Everything of the plugin that is tmux's own language, as agents.tmux installs it; no helper is started."""
    for name in ("rollup.tmux", "navigation.tmux"):
        server.cmd("source-file", str(ROOT / "scripts" / name))
    server.cmd("set-environment", "-gh", "AGENTS_DRIVE", "echo")
    server.cmd("set-environment", "-gh", "AGENTS_POKE", "true")
    server.cmd("set-option", "-g", "status-right", "#{@agents_status}#(#{AGENTS_DRIVE}) %H:%M")
