"""How commands reach the tmux server they mean, and every way it may not answer, in one clear line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from agents_plugin import server
from agents_plugin.core.numbers import MAX_PID, parse_int
from agents_plugin.core.text import strip_controls
from agents_plugin.host.directories import RuntimeRefused
from agents_plugin.streams import complain
from agents_plugin.tmux.runner import (
    Runner,
    ServerGone,
    SocketDenied,
    TmuxError,
    TmuxNotFound,
    TmuxTimeout,
    VersionMismatch,
    is_pane_id,
)


class Refused(Exception):
    """A command cannot do what was asked: one line for people, and the exit code (1 it failed, 2 asked wrongly)."""

    def __init__(self, message: str, code: int = 1) -> None:
        self.code = code
        super().__init__(message)


def runner_of(found: server.Target) -> Runner:
    """A runner for the server meant."""
    return Runner(found.socket, pid=found.pid)


def server_pid(found: server.Target) -> int:
    """The pid of the server meant; asks it when it is not the one around us. Raises what the runner raises."""
    pid = found.pid or parse_int(runner_of(found).check("display-message", "-p", "#{pid}").strip(), 1, MAX_PID)
    if pid is None:
        raise TmuxError("the server does not say its process id")
    return pid


def guarded(name: str, args: Namespace, body: Callable[[server.Target], int]) -> int:
    """Run a command's body with its server; what goes wrong becomes one line on standard error and an exit code."""
    found = server.target(args)
    try:
        return body(found)
    except Refused as refused:
        complain(name, str(refused))
        return refused.code
    except RuntimeRefused as refused:
        complain(name, str(refused))
        return 1
    except TmuxError as error:
        complain(name, told(error, found.socket))
        return 1
    except ImportError as error:
        missing = error.name or str(error).rpartition(" ")[2].strip("'\"")
        if missing.partition(".")[0] == "agents_plugin":
            complain(name, f"the plugin's own {missing} is not there: it is being updated, or was moved")
            return 1
        complain(name, f"this Python has no {missing}; run scripts/bootstrap")
        return 1


def told(error: TmuxError, socket: str) -> str:
    """A failure as one line for people. A sandbox is no dead server, and a left-over socket file is no live one."""
    place, said = strip_controls(socket), strip_controls(str(error))
    if isinstance(error, ServerGone):
        left = (Path(socket).exists() and "refused" in said.lower()) or said.startswith("no server running")
        if left and Path(socket).exists():
            return f"no tmux server at {place}: nobody listens at the socket file that is left there"
        return f"no tmux server at {place}"
    if isinstance(error, SocketDenied):
        return f"the socket {place} may not be used from here (a sandbox, or another user's server): {said}"
    if isinstance(error, VersionMismatch):
        return f"this tmux and the running server are of different versions: {said}"
    if isinstance(error, TmuxTimeout):
        return f"the tmux server at {place} does not answer"
    if isinstance(error, TmuxNotFound):
        return f"tmux was not found: {said}"
    return said or type(error).__name__


def pane_argument(text: str) -> str:
    """A pane id given by a person. Refused unless it is one: nothing else may ever become a target."""
    if not is_pane_id(text):
        raise Refused(f"not a pane id (%N): {text[:40]}", 2)
    return text
