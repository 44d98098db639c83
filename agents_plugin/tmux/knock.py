"""What is at a server's socket, found without a tmux and within a second."""

from __future__ import annotations

import socket

PATIENCE_S = 1.0


def knock(path: str) -> str:
    """`there`, `none` (no such file), `stale` (a file nobody listens at), `denied`, or `stuck` (no answer in time)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PATIENCE_S)
        try:
            probe.connect(path)
        except (FileNotFoundError, NotADirectoryError):
            return "none"
        except ConnectionRefusedError:
            return "stale"
        except PermissionError:
            return "denied"
        except (TimeoutError, BlockingIOError):
            return "stuck"
        except OSError:  # a path too long for a socket, or no socket at all
            return "stale"
    return "there"
