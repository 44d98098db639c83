"""`agents monitor`: the helper kept warm for one server. Started by the status line's driver, not by hand."""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentParser, Namespace

from agents_plugin import server

NAME = "monitor"
HELP = "watch the panes of one tmux server (started by the plugin)"


def configure(parser: ArgumentParser) -> None:
    """`--once` makes one pass instead."""
    server.configure(parser)
    parser.add_argument("--once", action="store_true", help="make one pass and end")


def run(args: Namespace) -> int:
    """Watch until the server is gone. 1: there is no server, or the runtime directory is not ours."""
    from agents_plugin.host.runtime import RuntimeRefused
    from agents_plugin.tmux.runner import Runner, TmuxError

    found = server.target(args)
    try:
        pid = found.pid or int(Runner(found.socket).check("display-message", "-p", "#{pid}"))
        if args.once:
            return _once(found, pid)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 5)
        from agents_plugin.monitor import serve

        return serve(found, pid)
    except (TmuxError, RuntimeRefused) as error:
        print(f"agents monitor: {error}")
        return 1


def _once(found: server.Target, pid: int) -> int:
    from agents_plugin.cycle import Cycle
    from agents_plugin.host import processes
    from agents_plugin.host.runtime import open_runtime
    from agents_plugin.monitor import Ringer, note_problems

    runtime = open_runtime(pid)
    started = int(processes.started_of(pid) or 0)
    cycle = Cycle(found.socket, server_pid=pid)
    before = runtime.read_memory(started)
    cycle.recall(before)
    last = cycle.run_pass()
    after = cycle.remember()
    if after != before:
        runtime.write_memory(started, after)
    note_problems(runtime, cycle)
    Ringer()(last)
    return 0
