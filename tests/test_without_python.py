"""Without a Python focus, jump and colours go on, and commands say what is missing; loading waits for nothing."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.loading import load, settle
from tests.machine import Machine
from tests.support import ROOT, Server, stays, wait_for


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def bare(machine: Machine, server: Server) -> Server:
    """A server loaded where no Python is to be found."""
    (machine.bin / "tmux").symlink_to(server.binary.path)
    server.env["AGENTS_PLACES"] = str(machine.bin)
    server.env["PATH"] = str(machine.bin)
    for name in ("AGENTS_PLACES", "PATH"):
        server.cmd("set-environment", "-g", name, server.env[name])
    load(server)
    settle(server)
    return server


def agents(server: Server, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "agents", *args],
        env=server.inside(),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_what_works_and_what_is_said(bare: Server) -> None:
    client = bare.attach("main")
    other = bare.window()
    bare.cmd("set-option", "-p", "-t", other, "@agent_state", "blocked")
    bare.cmd("set-option", "-p", "-t", other, "@agent_attention", "1")
    bare.cmd("agents-rollup")
    assert bare.global_option("@agents_summary") == "blocked:1"
    client.send("\x02j")
    wait_for(lambda: client.where() == other)
    wait_for(lambda: not bare.option(other, "@agent_attention"))
    client.send("\x02J")
    wait_for(lambda: client.where() != other)
    for command in (["ls"], ["report", "working"]):
        done = agents(bare, *command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "agents: no Python; error: no Python 3.10 or newer and no uv here" in done.stderr
    assert agents(bare, "jump").returncode == 0
    wait_for(lambda: client.where() == other)
    doctor = agents(bare, "doctor")
    assert doctor.returncode == 1
    for line in ("python: none", "hooks: 8 installed", "status line: the driver is in it", "python:no Python 3.10"):
        assert line in doctor.stdout


def test_a_slow_disk_or_network_never_holds_the_load(machine: Machine, server: Server) -> None:
    server.env["XDG_DATA_HOME"] = str(machine.base / "data")
    (machine.bin / "tmux").symlink_to(server.binary.path)
    machine.python(pip="sleep 20; exit 0")
    env = server.inside() | machine.env
    ended = threading.Event()

    def run() -> None:
        subprocess.run([ROOT / "agents.tmux"], env=env, check=True, timeout=30)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert ended.wait(10)
    wait_for(lambda: list(machine.data.glob("making.*/env")), what="bootstrap at work")
    stays(lambda: "view-mode" not in server.cmd("list-panes", "-a", "-F", "#{pane_mode}"), 0.3)
    for file in machine.data.glob("bootstrap.lock/pid"):
        os.kill(int(file.read_text()), 15)
