"""Real tmux servers and real attached clients for tests: private sockets, private homes, bounded waits."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests import leftovers

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
#: Seconds a wait may take before the test fails; generous because three workers share two cores.
PATIENCE = 15.0


def wait_for(predicate: Callable[[], T | None], timeout: float = PATIENCE, what: str = "", interval: float = 0.02) -> T:
    """Call `predicate` until it returns something true and return that; AssertionError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"nothing after {timeout:g} s: {what or predicate}; last value {value!r}")
        time.sleep(interval)


def stays(predicate: Callable[[], object], seconds: float = 1.0, what: str = "") -> None:
    """Assert that `predicate` holds during `seconds`: for things that must not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = predicate()
        assert value, f"did not hold for {seconds:g} s: {what or predicate}; value {value!r}"
        time.sleep(0.03)


@dataclass(frozen=True)
class TmuxBinary:
    """A tmux to test against: its version as `tmux -V` says it, and its path."""

    version: str
    path: str


def version_of(path: str) -> str:
    """`3.3a` for an executable tmux, empty for anything else."""
    try:
        done = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = done.stdout.split()
    return words[-1] if done.returncode == 0 and words else ""


def available_tmux() -> list[TmuxBinary]:
    """The system's tmux first, then those `scripts/tmux-versions` unpacked.

    `AGENTS_TEST_TMUX`, paths joined by `:`, replaces the unpacked ones (empty: only the system's).
    """
    paths = [shutil.which("tmux") or ""]
    listed = os.environ.get("AGENTS_TEST_TMUX")
    if listed is not None:
        paths += listed.split(":")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        cache = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "agents.tmux"
        paths += sorted(str(path) for path in cache.glob("tmux-*/bin/tmux"))
    found: dict[str, TmuxBinary] = {}
    for path in filter(None, paths):
        version = version_of(path)
        if version:
            found.setdefault(version, TmuxBinary(version, path))
    return list(found.values())


class Server:
    """A private tmux server with its own HOME, XDG directories and TMPDIR, gone with `kill()`.

    `env` is the environment of the server and of everything started through this object; change it before `start()`.
    `beside`: its socket lies in the directory of another server, which ends later.
    """

    def __init__(
        self, binary: TmuxBinary, base: Path, label: str = "t", config: str = "/dev/null", beside: Server | None = None
    ) -> None:
        self.binary = binary
        self.version = binary.version
        self.base = base
        self.label = label
        self.config = config
        self.home = base / "home"
        # A socket path may have 107 bytes; pytest's own directories can be longer than that.
        self.sockets: Path = beside.sockets if beside else Path(tempfile.mkdtemp(prefix="at-", dir="/tmp"))
        self._guest = beside is not None
        self.socket = str(self.sockets / f"tmux-{os.getuid()}" / label)
        self.clients: list[Client] = []
        self.env = self._environment()

    def _environment(self) -> dict[str, str]:
        places = {
            "HOME": self.home,
            "TMPDIR": self.base / "tmp",
            "XDG_CONFIG_HOME": self.home / ".config",
            "XDG_DATA_HOME": self.home / ".local" / "share",
            "XDG_STATE_HOME": self.home / ".local" / "state",
            "XDG_CACHE_HOME": self.home / ".cache",
            "XDG_RUNTIME_DIR": self.base / "run",
        }
        for place in places.values():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        run = {leftovers.VARIABLE: os.environ[leftovers.VARIABLE]} if leftovers.VARIABLE in os.environ else {}
        return (
            {name: str(place) for name, place in places.items()}
            | run
            | {
                # Scripts call plain `tmux`: they must meet the client that matches this server.
                "PATH": f"{Path(self.binary.path).parent}:{os.environ['PATH']}",
                "TMUX_TMPDIR": str(self.sockets),
                "SHELL": "/bin/sh",
                "ENV": "/dev/null",
                "PS1": "$ ",
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "LC_ALL": "C.UTF-8",
            }
        )

    @property
    def argv(self) -> list[str]:
        """The command line that reaches this server."""
        return [self.binary.path, "-u", "-L", self.label, "-f", self.config]

    def run(self, *args: str, stdin: str | None = None, timeout: float = 30) -> subprocess.CompletedProcess[str]:
        """Run one tmux command; the completed process, whatever its exit code."""
        return subprocess.run(
            [*self.argv, *args],
            env=self.env,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )

    def cmd(self, *args: str, stdin: str | None = None) -> str:
        """Run one tmux command and return its output without the last newline; AssertionError when it fails."""
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, f"tmux {args!r}: {done.stderr.strip() or done.stdout.strip()}"
        return done.stdout[:-1] if done.stdout.endswith("\n") else done.stdout

    def start(self, session: str = "main", command: str = "cat", cols: int = 80, rows: int = 24) -> str:
        """Make a detached session whose first pane runs `command`; the pane's id."""
        size = ("-x", str(cols), "-y", str(rows))
        return self.cmd("new-session", "-d", "-s", session, *size, "-P", "-F", "#{pane_id}", command)

    def window(self, command: str = "cat", target: str = "", name: str = "w", detached: bool = True) -> str:
        """Open a window (in the background unless told otherwise); its pane's id."""
        where = (*(("-d",) if detached else ()), *(("-t", target) if target else ()))
        return self.cmd("new-window", *where, "-n", name, "-P", "-F", "#{pane_id}", command)

    def split(self, target: str, command: str = "cat", detached: bool = True) -> str:
        """Split a pane; the new pane's id."""
        where = (*(("-d",) if detached else ()), "-t", target)
        return self.cmd("split-window", *where, "-P", "-F", "#{pane_id}", command)

    def format(self, target: str, text: str) -> str:
        """Expand a format for a target. For trusted text only."""
        return self.cmd("display-message", "-p", "-t", target, text)

    def option(self, target: str, name: str) -> str:
        """A pane option's own value, empty when absent or when the pane is gone."""
        done = self.run("show-options", "-pqv", "-t", target, name)
        return done.stdout.rstrip("\n")

    def window_option(self, target: str, name: str) -> str:
        """A window option's own value, empty when absent."""
        return self.run("show-options", "-wqv", "-t", target, name).stdout.rstrip("\n")

    def session_option(self, target: str, name: str) -> str:
        """A session option's own value, empty when absent."""
        return self.run("show-options", "-qv", "-t", target, name).stdout.rstrip("\n")

    def global_option(self, name: str) -> str:
        """A global session option's value, empty when absent."""
        return self.run("show-options", "-gqv", name).stdout.rstrip("\n")

    def hidden(self) -> dict[str, str]:
        """The hidden global environment: our book-keeping."""
        lines = self.run("show-environment", "-gh").stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def screen(self, target: str) -> str:
        """What a pane shows now."""
        return self.cmd("capture-pane", "-p", "-t", target)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return int(self.cmd("display-message", "-p", "#{pid}"))

    def inside(self, pane: str = "") -> dict[str, str]:
        """The environment a process in a pane (or a `#()` job) of this server has."""
        env = self.env | {"TMUX": f"{self.socket},{self.pid},0"}
        return env | ({"TMUX_PANE": pane} if pane else {})

    def attach(self, session: str = "", cols: int = 80, rows: int = 24, args: tuple[str, ...] = ()) -> Client:
        """A real client on a pseudo-terminal, waited for until the server lists it."""
        client = Client(self, session, cols, rows, args)
        self.clients.append(client)
        wait_for(lambda: client.name in self.run("list-clients", "-F", "#{client_name}").stdout, what="client listed")
        wait_for(lambda: client.received > 0, what="client drawn")
        return client

    def kill(self) -> None:
        """End the clients and the server, and wait until the server is gone."""
        done = self.run("display-message", "-p", "#{pid}")
        pid = int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0
        for client in self.clients:
            client.close()
        self.clients.clear()
        self.run("kill-server")
        with suppress(AssertionError):
            wait_for(lambda: not pid or not alive(pid), timeout=5, what="server gone")
        if not self._guest:
            shutil.rmtree(self.sockets, ignore_errors=True)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Client:
    """An attached tmux client on a pseudo-terminal. `received` counts the bytes tmux sent it."""

    def __init__(self, server: Server, session: str, cols: int, rows: int, args: tuple[str, ...]) -> None:
        self.server = server
        self.received = 0
        self.output = bytearray()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.name = os.ttyname(slave)
        target = ("-t", session) if session else ()
        self.process = subprocess.Popen(
            [*server.argv, *args, "attach-session", *target],
            env=server.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            if not data:
                return
            self.output += data
            self.received += len(data)

    def send(self, keys: bytes | str) -> int:
        """Type raw bytes: `b"\\x02j"` is prefix j. How many were typed."""
        return os.write(self._master, keys.encode() if isinstance(keys, str) else keys)

    def click(self, column: int, row: int, button: int = 0) -> None:
        """Press and release a mouse button at a 0-based cell (`mouse` must be on)."""
        place = f"{column + 1};{row + 1}"
        self.send(f"\x1b[<{button};{place}M\x1b[<{button};{place}m")

    def resize(self, cols: int, rows: int) -> None:
        """Change the terminal's size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def settle(self, quiet: float = 0.3) -> int:
        """Wait until nothing arrived for `quiet` seconds; the bytes received so far."""
        last, since = self.received, time.monotonic()

        def calm() -> bool:
            nonlocal last, since
            if self.received != last:
                last, since = self.received, time.monotonic()
            return time.monotonic() - since > quiet

        wait_for(calm, what="client quiet")
        return self.received

    def format(self, text: str) -> str:
        """Expand a format for this client."""
        return self.server.cmd("display-message", "-p", "-c", self.name, text)

    def where(self) -> str:
        """The pane this client looks at: the active pane of its current window."""
        session = self.session()
        return self.server.cmd("display-message", "-p", "-t", f"{session}:", "#{pane_id}")

    def session(self) -> str:
        """The id of the session this client is attached to, empty once detached."""
        rows = self.server.run("list-clients", "-F", "#{client_name} #{session_id}").stdout.splitlines()
        return next((row.split()[1] for row in rows if row.split()[0] == self.name), "")

    def close(self) -> None:
        """Hang up, as a closed terminal window does."""
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        with suppress(OSError):
            os.close(self._master)
        self._reader.join(timeout=2)
