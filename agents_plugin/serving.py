"""Becoming the monitor of a server, and handing over to newer code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Manifests that change are read with it: imported now, while its files are sure to be there.
import yaml  # noqa: F401

from agents_plugin.host.faults import described
from agents_plugin.host.leftovers import remove_stale
from agents_plugin.host.runtime import open_runtime
from agents_plugin.integrations.work import follow_the_plugin
from agents_plugin.monitor import Monitor, take_lock
from agents_plugin.server import Target
from agents_plugin.streams import note


def serve(target: Target, server_pid: int, version: str) -> int:
    """Be the monitor of this server, or leave it to the one there is. `version` is the build that was imported."""
    remove_stale()
    runtime = open_runtime(server_pid)
    lock = take_lock(runtime, version)
    if lock is None:
        holder = runtime.holder()
        if holder is None or not runtime.hangs():
            return 0
        note(f"process {holder.pid} hangs and cannot be ended")
        return 1
    try:
        follow_the_plugin(os.environ)
        runtime.problem("integrations", "")
    except Exception as error:
        runtime.problem("integrations", f"not brought up to date: {described(error)}")
    monitor = Monitor(target, server_pid, runtime, lock, version)
    try:
        renewed = monitor.run()
    finally:
        monitor.renewal.close()
    if renewed:
        os.execv(sys.executable, [sys.executable, str(Path(__file__).with_name("__main__.py")), *sys.argv[1:]])
    return 0
