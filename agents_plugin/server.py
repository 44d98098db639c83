"""Which tmux server a command means, and the runtime directory that goes with it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents_plugin.core.numbers import MAX_PID, parse_int


@dataclass(frozen=True)
class Target:
    """A server by its socket; `pid` is known inside tmux only."""

    socket: str
    pid: int | None = None


def configure(parser: ArgumentParser) -> None:
    """The options that name a server, as tmux spells them."""
    parser.add_argument("-L", dest="socket_name", metavar="NAME", help="the tmux server with this socket name")
    parser.add_argument("-S", dest="socket_path", metavar="PATH", help="the tmux server with this socket")


def target(args: Namespace, environ: Mapping[str, str] = os.environ) -> Target:
    """The server meant: `-S`, `-L`, the one around us (`$TMUX`), or the default one."""
    if getattr(args, "socket_path", None):
        return Target(str(args.socket_path))
    if getattr(args, "socket_name", None):
        return Target(str(_directory(environ) / str(args.socket_name)))
    return surrounding(environ) or Target(str(_directory(environ) / "default"))


def surrounding(environ: Mapping[str, str] = os.environ) -> Target | None:
    """The server in `$TMUX` (`socket,pid,session`; the socket may hold commas), None outside tmux."""
    fields = environ.get("TMUX", "").rsplit(",", 2)
    if not fields[0]:
        return None
    return Target(fields[0], parse_int(fields[1], 1, MAX_PID) if len(fields) == 3 else None)


def _directory(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"
