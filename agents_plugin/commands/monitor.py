"""`agents monitor`: the helper kept warm for one server. Started by the status line's driver, not by hand."""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentParser, Namespace

from agents_plugin import server
from agents_plugin.reach import guarded, server_pid
from agents_plugin.renewal import build

NAME = "monitor"
HELP = "watch the panes of one tmux server (started by the plugin)"


def configure(parser: ArgumentParser) -> None:
    """The options that name a server."""
    server.configure(parser)


def run(args: Namespace) -> int:
    """Watch until the server is gone. 1: there is no server, or the runtime directory is not ours."""
    return guarded(NAME, args, _watch)


def _watch(found: server.Target) -> int:
    # First of all: code that is replaced while it is imported is older than what is there then.
    version = build()
    from agents_plugin.serving import serve

    pid = server_pid(found)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 5)
    with contextlib.suppress(OSError):
        os.setsid()  # started by an agent's hook, Ctrl-C in that pane would reach us
    return serve(found, pid, version)
