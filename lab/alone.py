"""Puts the lab into a network of its own, with nothing but the loopback interface, where the system lets us (Linux)."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

#: ioctl that sets an interface's flags, and the flags up and running (linux/sockios.h, linux/if.h).
_SIOCSIFFLAGS = 0x8914
_UP = 0x1 | 0x40


def leave_network(arguments: Sequence[str]) -> None:
    """Start the lab anew with these arguments in a namespace without network. Returns only when that cannot be."""
    if not sys.platform.startswith("linux") or not shutil.which("unshare"):
        return
    # A user who is not root becomes root of a namespace of his own, which needs no rights.
    words = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([*words, "true"], capture_output=True, timeout=10, check=False)
        if done.returncode == 0:
            os.execvp(words[0], [*words, sys.executable, "-m", "lab", "--alone", *arguments])


def raise_loopback() -> None:
    """Bring up the loopback interface of a new namespace. Raises `OSError`."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _UP))
