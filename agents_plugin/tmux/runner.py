"""The choke point: the one place that starts a tmux process on a hot path. Bounded, exact, typed in its failures."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agents_plugin.tmux.knock import PATIENCE_S, knock

#: Seconds a tmux process may take: a healthy server answers in milliseconds, a stuck one must not stall a pass.
DEADLINE = 3.0
#: Where tmux is when PATH does not say: a status job or a hook of a desktop session has a minimal PATH.
KNOWN_DIRECTORIES = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/opt/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "~/.nix-profile/bin",
    "~/.local/bin",
    "/usr/bin",
    "/bin",
)
# A client takes its target from these when none is given, and SIGPIPE is ignored in Python.
_DROPPED = ("TMUX", "TMUX_PANE")
_RESTORED_SIGNALS = (signal.SIGPIPE,)
_PANE_ID = re.compile(r"%[0-9]{1,10}")


class TmuxError(Exception):
    """tmux could not do what was asked. A pass that meets one leaves every state as it is."""


class TmuxNotFound(TmuxError):
    """There is no tmux to run."""


class ServerGone(TmuxError):
    """Nobody listens at the socket: the server ended, or never was."""


class SocketDenied(TmuxError):
    """The socket may not be used: a sandbox, or another user's server."""


class VersionMismatch(TmuxError):
    """Client and server speak different protocols: tmux was upgraded under a running server."""


class TmuxTimeout(TmuxError):
    """No answer within the deadline; the process was killed."""


class NoSuchPane(TmuxError):
    """The pane, window, session or client asked for does not exist (any more)."""


@dataclass(frozen=True)
class Output:
    """What a tmux process said. Text keeps foreign bytes as surrogate escapes."""

    stdout: str
    stderr: str
    code: int


def is_pane_id(text: str) -> bool:
    """Whether `text` is a pane id and nothing else; the only text that is ever used as a target."""
    return _PANE_ID.fullmatch(text) is not None


def find_tmux(server_pid: int | None = None) -> str:
    """Path of a tmux: PATH first, then the server's own executable, then the usual directories.

    Raises TmuxNotFound.
    """
    for found in (shutil.which("tmux"), server_executable(server_pid), *_known()):
        if found:
            return found
    raise TmuxNotFound("no tmux on PATH, beside the server or in the usual directories")


def client_version(server_pid: int | None = None) -> tuple[str, str]:
    """(version, path) of the tmux that commands run; version "" when it does not say. Raises TmuxNotFound."""
    path = find_tmux(server_pid)
    try:
        out, _, _ = spawn([path, "-V"], {}, None, PATIENCE_S)
    except (OSError, TmuxError):
        return "", path
    return out.decode("utf-8", "replace").strip().removeprefix("tmux "), path


def server_executable(server_pid: int | None) -> str:
    """The running server's own executable when it is a tmux: it speaks the server's protocol even after an upgrade.

    Linux only; empty where it cannot be told. The link stays usable when the file behind it was replaced.
    """
    link = Path(f"/proc/{server_pid}/exe")
    if server_pid is None:
        return ""
    try:
        name = str(link.readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""
    return str(link) if Path(name).name.startswith("tmux") and os.access(link, os.X_OK) else ""


def _known() -> list[str]:
    places = (Path(place).expanduser() / "tmux" for place in KNOWN_DIRECTORIES)
    return [str(place) for place in places if os.access(place, os.X_OK)]


@dataclass
class Runner:
    """Runs tmux commands on one server, named by its socket. `pid` helps to find a tmux that fits."""

    socket: str
    pid: int | None = None
    binary: str = ""
    deadline: float = DEADLINE
    processes: int = 0  # started so far: a pass is allowed three
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self) -> None:
        for name in _DROPPED:
            self.environment.pop(name, None)

    def run(self, *args: str, stdin: str | None = None) -> Output:
        """One tmux process. Commands are separated by an argument `;`.

        A failing exit code is no error here unless the server could not be asked at all. Raises ServerGone,
        SocketDenied, VersionMismatch, TmuxTimeout, TmuxNotFound.
        """
        if not self.binary:
            self.binary = find_tmux(self.pid)
        output = self._once(args, stdin)
        try:
            self._raise_unreachable(output)
        except VersionMismatch:
            own = server_executable(self.pid)
            if not own or own == self.binary:
                raise
            self.binary = own
            output = self._once(args, stdin)
            self._raise_unreachable(output)
        return output

    def _raise_unreachable(self, output: Output) -> None:
        try:
            _raise_unreachable(output)
        except ServerGone as gone:
            # So says a 3.3a client of a 3.8 server that is well.
            if str(gone).startswith("server exited") and knock(self.socket) == "there":
                raise VersionMismatch(str(gone)) from gone
            raise

    def check(self, *args: str, stdin: str | None = None) -> str:
        """As `run`, but the standard output of a command that must succeed. Raises also NoSuchPane and TmuxError."""
        output = self.run(*args, stdin=stdin)
        if output.code != 0:
            message = output.stderr.strip() or output.stdout.strip()
            raise (NoSuchPane if message.startswith("can't find ") else TmuxError)(message)
        return output.stdout

    def source(self, script: str) -> Output:
        """Run a script of commands in one process; a line that fails does not stop the next."""
        return self.run("source-file", "-", stdin=script)

    def _once(self, args: tuple[str, ...], stdin: str | None) -> Output:
        self.processes += 1
        # -N: list-keys, among others, starts a server where there is none. A tmux before 3.2 refuses it.
        argv = [self.binary, "-u", "-N", "-S", self.socket, *args]
        data = None if stdin is None else stdin.encode("utf-8", "surrogateescape")
        try:
            out, err, code = spawn(argv, self.environment, data, self.deadline)
        except OSError as missing:
            self.binary = ""  # an upgrade may have moved it: look again next time
            raise TmuxNotFound(str(missing)) from missing
        return Output(out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace"), code)


def _raise_unreachable(output: Output) -> None:
    if output.code == 0:
        return
    message = output.stderr.strip()
    lowered = message.lower()
    if "protocol version mismatch" in lowered or "open terminal failed: not a tmux" in lowered:
        raise VersionMismatch(message)
    if "not permitted" in lowered or "permission denied" in lowered or "access not allowed" in lowered:
        raise SocketDenied(message)
    if lowered.startswith(("no server running", "error connecting to", "lost server", "server exited", "[lost server")):
        raise ServerGone(message)


def spawn(
    argv: list[str], environment: dict[str, str], stdin: bytes | None, deadline: float
) -> tuple[bytes, bytes, int]:
    """Run a program to its end: standard output, standard error and exit code (negative: killed by that signal).

    After `deadline` seconds the program and everything it started are killed: TmuxTimeout. OSError: it cannot start.
    `posix_spawn` costs 1.3 ms less than `subprocess` for the same tmux command (4.5 against 5.8 ms).
    """
    until = time.monotonic() + deadline
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    in_read, in_write = os.pipe() if stdin is not None else (-1, -1)
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, in_read, 0)
        if stdin is not None
        else (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out_write, 1),
        (os.POSIX_SPAWN_DUP2, err_write, 2),
    ]
    try:
        # A locale without UTF-8 must not decide what tmux is asked.
        words = [word.encode("utf-8", "surrogateescape") for word in argv]
        pid = os.posix_spawn(
            argv[0], words, environment, file_actions=actions, setpgroup=0, setsigdef=_RESTORED_SIGNALS, setsigmask=()
        )
    except OSError:
        _close(out_read, err_read, in_write)
        raise
    finally:
        _close(out_write, err_write, in_read)
    finished = False
    try:
        output, errors = _exchange(out_read, err_read, in_write, stdin or b"", until)
        code = _reap(pid, until)
        finished = True
    finally:
        if not finished:
            _kill(pid)
    return output, errors, code


def _exchange(out: int, err: int, into: int, data: bytes, until: float) -> tuple[bytes, bytes]:
    """Feed `data` and collect both outputs until they close; closes the descriptors. Raises TmuxTimeout."""
    chunks: dict[int, list[bytes]] = {out: [], err: []}
    open_ends = {out, err}
    poll = select.poll()
    poll.register(out, select.POLLIN)
    poll.register(err, select.POLLIN)
    try:
        if into >= 0:
            open_ends.add(into)
            os.set_blocking(into, False)
            poll.register(into, select.POLLOUT)
        view = memoryview(data)
        while open_ends:
            left = until - time.monotonic()
            ready = poll.poll(left * 1000) if left > 0 else []
            if not ready:
                raise TmuxTimeout("tmux did not answer within its deadline")
            for end, _ in ready:
                if end == into:
                    view, done = _feed(into, view)
                else:
                    chunk = os.read(end, 1 << 18)
                    chunks[end].append(chunk)
                    done = not chunk
                if done:
                    poll.unregister(end)
                    open_ends.discard(end)
                    os.close(end)
    finally:
        _close(*open_ends)
    return b"".join(chunks[out]), b"".join(chunks[err])


def _feed(into: int, view: memoryview) -> tuple[memoryview, bool]:
    """Write what fits; what is left, and whether to stop writing."""
    try:
        view = view[os.write(into, view[: 1 << 16]) :] if view else view
    except BlockingIOError:
        return view, False
    except BrokenPipeError:
        return view, True
    return view, not view


def _reap(pid: int, until: float) -> int:
    """The exit code of a child that closed its output. Raises TmuxTimeout when it lingers."""
    pause = 0.0002
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            raise TmuxTimeout("tmux closed its output but did not end")
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _kill(pid: int) -> None:
    """Kill a child with its process group and reap it."""
    kills: tuple[Callable[[int, int], None], ...] = (os.killpg, os.kill)
    for kill in kills:
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)
