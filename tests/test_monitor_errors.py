"""A monitor whose pass ends in an error nobody thought of: it says where, rests, and goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from agents_plugin import monitor
from agents_plugin.host.runtime import open_runtime
from agents_plugin.monitor import Monitor
from agents_plugin.renewal import build
from agents_plugin.server import Target
from tests.actor import Actor
from tests.stage import BLOCKED
from tests.support import ROOT, Server


@pytest.fixture
def made(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Monitor]:
    """A monitor in this process, for a running server with the rollup."""
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
    for name, value in server.inside().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(monitor, "BUSY_S", 0.05)
    runtime = open_runtime(server.pid)
    lock = runtime.lock("test")
    assert lock is not None
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield Monitor(Target(server.socket, server.pid), server.pid, runtime, lock, build())
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_pass_that_fails_is_noted_and_the_next_one_is_later(made: Monitor, server: Server) -> None:
    actor = Actor(server)
    actor.show(BLOCKED)
    real, times, said = made.cycle.run_pass, [], []

    def run_pass(*arguments: object) -> object:
        times.append(time.monotonic())
        said.append(made.runtime.problems().get("pass", ""))
        if len(times) <= 4:
            os.close(os.open(made.runtime.path / "poke", os.O_WRONLY | os.O_NONBLOCK))
            raise RecursionError("too deep")
        if len(times) >= 6:
            made.stopped = True
        return real(*arguments)  # type: ignore[arg-type]

    made.cycle.run_pass = run_pass  # type: ignore[assignment,method-assign]
    assert made.run() is False
    pauses = [b - a for a, b in pairwise(times)]
    assert pauses[0] >= 0.05 and pauses[1] >= 0.1 and pauses[2] >= 0.2 and pauses[3] >= 0.4
    assert "RecursionError at test_monitor_errors.py:" in said[1] and "(too deep)" in said[1]
    assert actor.state() == "blocked/permission"
    assert "pass" not in made.runtime.problems()


def test_between_passes_too(made: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done between passes may fail every time: passes go on, and never in a tight loop."""
    passes = []
    real = made.cycle.run_pass

    def run_pass(*arguments: object) -> object:
        passes.append(time.monotonic())
        made.stopped = len(passes) >= 5
        return real(*arguments)  # type: ignore[arg-type]

    def fail(*arguments: object) -> bool:
        raise KeyError("gone")

    made.cycle.run_pass = run_pass  # type: ignore[assignment,method-assign]
    monkeypatch.setattr(made, "_glance_at_processes", fail)
    begun = time.monotonic()
    assert made.run() is False
    assert passes[-1] - begun >= 0.05 + 0.1 + 0.2 + 0.4
    assert "KeyError" in made.runtime.problems()["wait"]


def test_an_alert_that_fails_costs_no_other(made: Monitor, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    server.cmd("set-option", "-g", "@agents-alert", "bell")
    first, second = Actor(server), Actor(server)
    rung = []

    def bell(tty: str) -> None:
        rung.append(tty)
        if len(rung) == 1:
            raise TypeError

    monkeypatch.setattr("agents_plugin.host.alerts.bell", bell)
    for actor in (first, second):
        actor.show(BLOCKED)
    until = time.monotonic() + 10
    while len(rung) < 2 and time.monotonic() < until:
        made._pass()
        time.sleep(0.2)
    assert len(set(rung)) == 2
    made._pass()
    assert "the alert of pane" in made.runtime.problems()["input"]
    made.poke.close()
    made.lock.release()
