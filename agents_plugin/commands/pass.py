"""`agents pass`: one pass by a process of its own. With `@agents-monitor off` the status line's driver starts it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from agents_plugin import server
from agents_plugin.reach import guarded, server_pid

NAME = "pass"
HELP = "look at all panes once (started by the plugin when there is no monitor)"


def configure(parser: ArgumentParser) -> None:
    """The options that name a server."""
    server.configure(parser)


def run(args: Namespace) -> int:
    """Look, write what changed, remember for the next one. 1: no server, or the runtime directory is not ours."""
    return guarded(NAME, args, _once)


def _once(found: server.Target) -> int:
    from agents_plugin.cycle import Cycle
    from agents_plugin.host import processes
    from agents_plugin.host.faults import described
    from agents_plugin.host.runtime import open_runtime
    from agents_plugin.monitor import Ringer, note_problems
    from agents_plugin.tmux.runner import TmuxError

    pid = server_pid(found)
    runtime = open_runtime(pid)
    runtime.announce()
    started = int(processes.started_of(pid) or 0)
    cycle = Cycle(found.socket, server_pid=pid)
    before = runtime.read_memory(started)
    cycle.recall(before)
    try:
        last = cycle.run_pass(lambda data: runtime.write_memory(started, data))
    except TmuxError:
        raise
    except Exception as error:
        runtime.problem("pass", f"a pass ended in {described(error)}; states stay as they were")
        raise
    runtime.problem("pass", "")
    after = cycle.remember()
    if after != before:
        runtime.write_memory(started, after)
    Ringer(cycle.faults)(last)
    note_problems(runtime, cycle)
    return 0
