"""What the plugin costs, measured on private tmux servers: one JSON object a line, times in milliseconds.

Ratios are taken inside one run, interleaved, as medians; a ratio or a count beyond its limit makes the exit code 1.
Absolute numbers are for reading: they depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from agents_plugin.core.screen import read
from agents_plugin.cycle import Cycle
from agents_plugin.manifests import Catalog
from agents_plugin.saved import load_screen
from agents_plugin.tmux import listing
from agents_plugin.tmux.runner import Runner
from scripts import panes
from tests.soak import soak
from tests.support import ROOT, Server, available_tmux, wait_for

BARE = ("list-panes", "-a", "-F", listing.pane_format("0"))


def say(bench: str, limit: float | None = None, value: float | None = None, **numbers: object) -> bool:
    """Print one line; whether `value` keeps within `limit`."""
    row: dict[str, object] = {"bench": bench}
    if value is not None:
        row["value"] = round(value, 4)
    fine = limit is None or (value is not None and value <= limit)
    if limit is not None:
        row |= {"limit": limit, "ok": fine}
    row |= {name: round(number, 3) if isinstance(number, float) else number for name, number in numbers.items()}
    print(json.dumps(row), flush=True)
    return fine


def timed(action: Callable[[], object]) -> float:
    """Milliseconds an action takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


class Field:
    """A server with a number of panes, some of which hold agents whose screens change on demand."""

    def __init__(self, server: Server, count: int, agents: int) -> None:
        self.server = server
        self.count = count
        self.agents = panes.fill(server, count, agents)
        self.runner = Runner(server.socket, binary=server.binary.path, environment=dict(server.env))

    def change(self) -> None:
        """Let every agent draw its other screen and wait until the last one did."""
        panes.toggle(self.server, self.agents)

    def cycle(self) -> Cycle:
        """A pass maker that has seen nothing yet."""
        return Cycle(self.server.socket)

    def bare(self) -> float:
        """Milliseconds of one listing of the same fields."""
        return timed(lambda: self.runner.check(*BARE))


@contextmanager
def field(count: int, agents: int, cols: int = 200, rows: int = 50) -> Iterator[Field]:
    """A private server with `count` panes, `agents` of them agents."""
    base = Path(tempfile.mkdtemp(prefix="agents-bench-"))
    server = Server(available_tmux()[0], base, label="bench")
    try:
        server.start("main", command="sleep 100000", cols=cols, rows=rows)
        yield Field(server, count, agents)
    finally:
        server.kill()
        shutil.rmtree(base, ignore_errors=True)


def until_quiet(cycle: Cycle) -> None:
    """Pass until the listing is enough: screens are looked at again in the whole second of their last output."""
    for _ in range(100):
        before = cycle.runner.processes
        cycle.run_pass()
        if cycle.runner.processes - before < 2:
            return
        time.sleep(0.1)


def quiet_pass(runs: int) -> bool:
    """A pass that changes nothing against a bare listing."""
    with field(40, 10) as ground:
        cycle = ground.cycle()
        panes.until_known(ground.server, cycle.run_pass, 10)
        until_quiet(cycle)
        bare, took = [], []
        for _ in range(runs):
            bare.append(ground.bare())
            took.append(timed(cycle.run_pass))
        base, mine = statistics.median(bare), statistics.median(took)
        return say("quiet_pass", 1.5, mine / base, bare_ms=base, pass_ms=mine, panes=40, agents=10, runs=runs)


def cold(count: int, agents: int, runs: int) -> tuple[float, float]:
    """Median milliseconds of a bare listing and of a first pass."""
    with field(count, agents) as ground:
        panes.until_known(ground.server, ground.cycle().run_pass, agents)
        bare, took = [], []
        for _ in range(runs):
            bare.append(ground.bare())
            cycle = ground.cycle()
            took.append(timed(cycle.run_pass))
        return statistics.median(bare), statistics.median(took)


def cold_pass(runs: int) -> bool:
    """A first pass, and what one more agent adds to it."""
    base, ten = cold(40, 10, runs)
    other, twenty = cold(40, 20, runs)
    marginal = (twenty / other - ten / base) / 10
    fine = say("cold_pass", 4, ten / base, bare_ms=base, pass_ms=ten, panes=40, agents=10, runs=runs)
    return say("marginal_agent", 0.15, marginal, ten_ms=ten, twenty_ms=twenty, runs=runs) and fine


def changing(runs: int) -> bool:
    """Sixty agents in 300 panes, all of which changed since the last pass; and the tmux processes of such a pass."""
    with field(300, 60) as ground:
        cycle = ground.cycle()
        panes.until_known(ground.server, cycle.run_pass, 60)
        bare, took, processes = [], [], []
        for _ in range(runs):
            ground.change()
            bare.append(ground.bare())
            before = cycle.runner.processes
            took.append(timed(cycle.run_pass))
            processes.append(cycle.runner.processes - before)
        base, mine = statistics.median(bare), statistics.median(took)
        fine = say("all_changing", 10, mine / base, bare_ms=base, pass_ms=mine, panes=300, agents=60, runs=runs)
        return say("tmux_processes", 3, max(processes), panes=300, agents=60, runs=runs) and fine


def load(server: Server) -> None:
    """Load the plugin as tmux does; the Python is ours, so that nothing is installed."""
    server.cmd("set-option", "-g", "@agents-python", sys.executable)
    server.cmd("run-shell", str(ROOT / "agents.tmux"))


def monitor_of(server: Server) -> psutil.Process:
    """The monitor of a server, waited for."""

    def find() -> psutil.Process | None:
        for lock in Path(server.env["XDG_RUNTIME_DIR"]).glob("agents.tmux/*/monitor"):
            try:
                return psutil.Process(int(lock.read_text().split()[0]))
            except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
                continue
        return None

    return wait_for(find, timeout=30, what="a monitor")


def drive_tick(runs: int) -> bool:
    """A tick of the status line's driver with a live monitor against an empty shell; load and one-shot times."""
    with field(40, 10) as ground:
        server = ground.server
        load(server)
        server.attach("main", 200, 50)
        monitor_of(server)
        time.sleep(8)  # the second half of loading runs in the background
        env = server.inside()

        def run(*argv: str) -> float:
            return timed(
                lambda: subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
            )

        plugin = str(ROOT / "agents.tmux")
        job = server.hidden()["AGENTS_DRIVE"]
        shell, tick, loads = [], [], []
        for _ in range(runs * 2):
            shell.append(run("sh", "-c", ":"))
            tick.append(run("sh", "-c", job))
        for _ in range(runs):
            loads.append(run(plugin))
        empty, mine = statistics.median(shell), statistics.median(tick)
        say("plugin_load", load_ms=statistics.median(loads), runs=runs)
        return say("drive_tick", 1.5, mine / empty, shell_ms=empty, drive_ms=mine, runs=runs * 2)


def one_shot(runs: int) -> bool:
    """A whole pass by a fresh process, as every status tick pays with the monitor off."""
    with field(40, 10) as ground:
        server = ground.server
        server.cmd("set-option", "-g", "@agents-monitor", "off")
        load(server)
        env = server.inside()
        argv = [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "pass"]
        took, used = [], []
        for _ in range(runs):
            before = psutil.Process().cpu_times()
            took.append(timed(lambda: subprocess.run(argv, env=env, capture_output=True, check=True)))
            after = psutil.Process().cpu_times()
            used.append(_children(after) - _children(before))
        return say("one_shot", wall_ms=statistics.median(took), cpu_ms=statistics.median(used) * 1000, runs=runs)


def _children(times: Any) -> float:
    return float(times.children_user + times.children_system)


def _all(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system) + _children(times)


def rest(seconds: float) -> bool:
    """Ten idle agents, nobody does anything: bytes to an attached client, CPU of monitor, its children and server."""
    with field(40, 10) as ground:
        server = ground.server
        # The clock would redraw the status line by itself once a minute.
        server.cmd("set-option", "-g", "status-right", "#{agents_status}")
        client = server.attach("main", 200, 50)
        tmux = psutil.Process(server.pid)

        def watch(length: float) -> tuple[int, float]:
            received, used = client.settle(1.0), _all(tmux)
            time.sleep(length)
            return client.received - received, _all(tmux) - used

        _, without = watch(min(seconds, 20.0))
        load(server)
        monitor = monitor_of(server)
        wait_for(lambda: len(panes.states(server)) >= 10, timeout=60, what="all agents known")
        time.sleep(6)  # dwell and start-up are over
        before = _all(monitor)
        got, used = watch(seconds)
        mine = _all(monitor) - before
        caused = max(0.0, used - without * seconds / min(seconds, 20.0))
        memory = monitor.memory_full_info()
        say("monitor_memory", rss_mb=memory.rss / 1e6, own_mb=memory.uss / 1e6)
        fine = say("bytes_at_rest", 0, got, seconds=seconds, agents=10, client="200x50")
        share = (mine + caused) / seconds * 100
        return (
            say(
                "cpu_at_rest_percent",
                1.0,
                share,
                seconds=seconds,
                panes=40,
                agents=10,
                monitor_ms=mine * 1000,
                server_ms=caused * 1000,
            )
            and fine
        )


def rules(runs: int) -> bool:
    """One screen of 200 rows read with 24 manifests, compiled before: what 24 kinds of agents would cost one pane."""
    manifests = list(Catalog())[:24]
    recorded, _ = load_screen(ROOT / "fixtures" / "claude" / "idle__quote_trap__w100.txt")
    above = tuple(f"● row {number} of a long answer, with words and numbers" for number in range(200))
    took = []
    for run in range(runs + 1):
        # Another text in every run: what is kept of the last screen must not help.
        screen = replace(recorded, lines=(*above, f"run {run}", *recorded.lines)[-200:])
        took.append(timed(lambda screen=screen: [read(manifest, screen) for manifest in manifests]))  # type: ignore[misc]
    return say(
        "rules_24_manifests_ms", None, statistics.median(took[1:]), manifests=len(manifests), rows=200, runs=runs
    )


def soaking(runs: int) -> bool:
    """Bytes and descriptors that passes over changing panes leave behind, after the first fifth of them."""
    with tempfile.TemporaryDirectory(prefix="agents-bench-") as place:
        _, first, *_, last = soak(Path(place), runs * 100)
    fine = say("soak_bytes_per_pass", 500, (last.own - first.own) / (last.passes - first.passes), passes=last.passes)
    return say("soak_descriptors", 0, last.descriptors - first.descriptors, own_mb=last.own / 1e6) and fine


def main() -> int:
    """Run the chosen benchmarks; 1 when a gate failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="samples per median (default 20)")
    parser.add_argument("--seconds", type=float, default=60, help="how long to watch at rest (default 60)")
    parser.add_argument("only", nargs="*", help="quiet cold changing drive oneshot rules soak rest; default all")
    args = parser.parse_args()
    benches: dict[str, Callable[[], bool]] = {
        "quiet": lambda: quiet_pass(args.runs),
        "cold": lambda: cold_pass(args.runs),
        "changing": lambda: changing(args.runs),
        "drive": lambda: drive_tick(args.runs),
        "oneshot": lambda: one_shot(args.runs),
        "rules": lambda: rules(args.runs),
        "soak": lambda: soaking(args.runs),
        "rest": lambda: rest(args.seconds),
    }
    unknown = set(args.only) - set(benches)
    if unknown:
        parser.error(f"no such benchmark: {' '.join(sorted(unknown))}")
    results = [benches[name]() for name in benches if not args.only or name in args.only]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
