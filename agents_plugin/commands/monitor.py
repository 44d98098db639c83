"""`agents monitor`: the helper kept warm for one server. Started by the status line's driver, not by hand."""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentParser, Namespace

from agents_plugin import server

NAME = "monitor"
HELP = "watch the panes of one tmux server (started by the plugin)"


def configure(parser: ArgumentParser) -> None:
    """The options that name a server."""
    server.configure(parser)


def run(args: Namespace) -> int:
    """Watch until the server is gone. 1: there is no server, or the runtime directory is not ours."""
    from agents_plugin.host.runtime import RuntimeRefused
    from agents_plugin.tmux.runner import Runner, TmuxError

    found = server.target(args)
    try:
        pid = found.pid or int(Runner(found.socket).check("display-message", "-p", "#{pid}"))
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 5)
        with contextlib.suppress(OSError):
            os.setsid()  # started by an agent's hook, Ctrl-C in that pane would reach us
        from agents_plugin.monitor import serve

        return serve(found, pid)
    except (TmuxError, RuntimeRefused) as error:
        print(f"agents monitor: {error}")
        return 1
