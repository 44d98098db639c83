"""What servers that are gone left behind. Nothing that may be alive is removed.

The runtime directory can be shared with containers, and a home with other machines: their processes are not seen here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from agents_plugin.core.numbers import parse_pid
from agents_plugin.host import processes
from agents_plugin.host.directories import boot_id, is_private, places, space, state_dir
from agents_plugin.host.files import open_regular
from agents_plugin.host.runtime import Runtime, host, read_origin

#: Seconds nothing was written to a directory before its server may be somebody else's process.
_SILENT_S = 3600
#: The same where the server's process cannot be looked at. A monitor at work writes every few seconds, and touches its
#: link once a day.
_FOREIGN_S = 30 * 86_400
_NAME = re.compile(r"(\d{1,10})(?:\.([0-9a-f]+-\d*))?")


def remove_stale(environ: Mapping[str, str] = os.environ) -> None:
    """Remove the directories of servers that are gone, and the links hooks follow to them."""
    for place in places(environ):
        if not is_private(place.base):
            continue
        with contextlib.suppress(OSError):
            for entry in list(place.base.iterdir()):
                if _left_behind(entry):
                    shutil.rmtree(entry, ignore_errors=True)
    state = state_dir(environ)
    with contextlib.suppress(OSError):
        for link in list((state / "servers").iterdir()) if state else []:
            name = _NAME.fullmatch(link.name)
            if name is None or not link.is_symlink() or link.exists():
                continue
            ours = (name[2] or "") == space()
            if ours or time.time() - link.lstat().st_mtime > _FOREIGN_S:
                link.unlink(missing_ok=True)


def _left_behind(entry: Path) -> bool:
    """Whether the server is gone, as far as that can be known, and no monitor holds the lock."""
    name = _NAME.fullmatch(entry.name)
    pid = parse_pid(name[1]) if name else None
    if name is None or pid is None or not is_private(entry) or _held(entry):
        return False
    if (name[2] or "") != space():
        before = read_origin(entry)
        rebooted = before is not None and before.host == host() and before.boot != boot_id()
        return _silence(entry) > (_SILENT_S if rebooted else _FOREIGN_S)
    server = processes.backend().stat(pid)
    if server is None or server.zombie:
        return True
    # Its pid may be another program's by now: no tmux, no helper, an hour of silence.
    if "tmux" in server.comm or Runtime(entry, pid).holder() is not None:
        return False
    return _silence(entry) > _SILENT_S


def _held(entry: Path) -> bool:
    """Whether a process has the monitor's lock, in whatever namespace it is; true also when that cannot be asked."""
    try:
        descriptor, _ = open_regular(entry / "monitor", follow=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _silence(entry: Path) -> float:
    """Seconds since anything was written there; 0 when that is not known."""
    try:
        newest = max(path.lstat().st_mtime for path in (entry, *entry.iterdir()))
    except OSError:
        return 0.0
    return time.time() - newest
