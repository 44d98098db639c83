"""What the plugin costs a machine: processes that are started, and tools that are never asked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agents_plugin.host import processes
from tests.actor import Actor
from tests.cli import agents, load
from tests.loading import give_python, settle
from tests.loading import load as load_plugin
from tests.stage import BLOCKED, Stage
from tests.support import Server, wait_for


def test_case_116_117_a_status_line_costs_one_tick_a_client_and_second(server: Server) -> None:
    """However many windows and redraws; and what it shows is an option, whatever another job in it does."""
    ticks = server.base / "ticks"
    server.cmd("set-option", "-g", "status-interval", "1")
    server.cmd("set-option", "-g", "status-right", "#{agents_status} #(sleep 30)")
    server.cmd("source-file", "-", stdin="new-window -d cat\n" * 29)
    for window in range(0, 30, 3):
        server.cmd("set-option", "-p", "-t", f"main:{window}", "@agent_state", "working")
    give_python(server)
    load_plugin(server)
    settle(server)
    shown = "\n".join(server.cmd("show-options", flags) for flags in ("-g", "-gw"))
    assert shown.count("AGENTS_DRIVE") == 1
    server.cmd("set-environment", "-gh", "AGENTS_DRIVE", f"echo; echo x >>{ticks}")
    began = time.monotonic()
    clients = [server.attach("main") for _ in range(3)]
    for turn in range(60):
        server.cmd("set-option", "-g", "@turn", str(turn))  # draws every client anew
    for client in clients:
        wait_for(lambda client=client: "●10" in client.output.decode(errors="replace"), what="the segment")  # type: ignore[misc]
    server.cmd("set-option", "-g", "status-interval", "0")
    assert 0 < len(ticks.read_text().splitlines()) <= 3 * (time.monotonic() - began + 2)


def test_case_118_many_panes_without_an_agent_cost_one_listing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty shells: ten passes are ten tmux processes, and processes are not gone through again."""
    server = stage.server
    server.cmd("source-file", "-", stdin="new-window -d cat\n" * 60)
    stage.step()
    swept: list[object] = []
    monkeypatch.setattr(processes, "sweep", lambda: swept.append(1) or {})  # type: ignore[func-returns-value]
    before = stage.cycle.runner.processes
    for _ in range(10):
        assert len(stage.step().snapshot.panes) == 61
    assert stage.cycle.runner.processes - before == 10
    assert not swept


def test_case_121_125_no_tool_that_may_hang_is_asked(server: Server, tmp_path: Path) -> None:
    """Repositories on network disks, name look-ups: with tools that sleep, a state is as quick and they never run."""
    tools = ["git", "lsof", "hostname", "host", "ssh", "pgrep", "osascript"]
    tools += ["ps"] if Path("/proc/self/stat").exists() else []  # elsewhere ps tells of processes, with a deadline
    (tmp_path / "bin").mkdir()
    for tool in tools:
        trap = tmp_path / "bin" / tool
        trap.write_text(f"#!/bin/sh\n: >{tmp_path}/ran-{tool}\nexec sleep 60\n")
        trap.chmod(0o755)
    server.env["PATH"] = f"{tmp_path}/bin:{server.env['PATH']}"
    load(server)
    actor = Actor(server)
    actor.show(BLOCKED)
    for command in ("pass", "ls"):
        assert agents(server, command).returncode == 0
    assert actor.state() == "blocked/permission"
    assert not list(tmp_path.glob("ran-*"))
