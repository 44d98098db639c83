"""The runtime directory of one tmux server: monitor lock, poke, dwell memory, log, problems.

`scripts/lib.sh` and `scripts/agent-hook` use the same names. Only making or opening the directory may fail
(`RuntimeRefused`); a full disk or a vanished file afterwards is no error, the files are caches.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents_plugin.core.numbers import parse_float, parse_int
from agents_plugin.host import processes
from agents_plugin.host.directories import (
    RuntimeRefused,
    boot_id,
    find_directory,
    is_own,
    is_private,
    make_directory,
    namespace,
    private_dir,
    read_own,
    state_dir,
)
from agents_plugin.host.files import read_regular

LOG_BYTES = 256 * 1024
_MEMORY_BYTES = 4 * 1024 * 1024
_MEMORY_SCHEMA = 1
_PROBLEM_CHARS = 4_000
#: Seconds between two touches of the link hooks follow.
_ANNOUNCED_S = 86_400
#: Seconds without a beat after which a monitor counts as hung; `scripts/drive` and `scripts/poke` say the same.
BEAT_OLD_S = 30


def open_runtime(server_pid: int, environ: Mapping[str, str] = os.environ) -> Runtime:
    """The directory of the tmux server with this pid, made when missing. Raises `RuntimeRefused`."""
    runtime = Runtime(make_directory(server_pid, environ), server_pid)
    runtime.note_origin()
    return runtime


def find_runtime(server_pid: int, environ: Mapping[str, str] = os.environ) -> Runtime:
    """The same for who only looks: nothing is made, and what is refused reads as empty."""
    return Runtime(find_directory(server_pid, environ), server_pid)


@dataclass(frozen=True)
class Origin:
    """Where a runtime directory was made: which start of a machine, which pid namespace, which machine."""

    boot: str
    namespace: str
    host: str


@lru_cache(maxsize=1)
def host() -> str:
    """This machine's name and, where it has one, its id: containers and clones share either."""
    ident = ""
    with contextlib.suppress(OSError):
        ident = Path("/etc/machine-id").read_text(encoding="ascii", errors="replace").strip()[:64]
    return f"{os.uname().nodename} {ident}".strip()


def read_origin(directory: Path) -> Origin | None:
    """What `note_origin` left in a directory; None when there is nothing that can be read."""
    pairs = (line.partition("=") for line in read_own(directory / "origin", 4096).splitlines())
    facts = {name: value for name, _, value in pairs}
    if not facts.keys() >= {"boot", "namespace", "host"}:
        return None
    return Origin(facts["boot"], facts["namespace"], facts["host"])


@dataclass(frozen=True)
class Holder:
    """Who holds the monitor lock, as written into it; verified alive."""

    pid: int
    version: str


class MonitorLock:
    """The held lock. It ends with the process, however that ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    def still_ours(self) -> bool:
        """False when the file was removed or replaced (a cleaner of /tmp): then a second monitor may be running."""
        try:
            there, here = self.path.stat(), os.fstat(self.descriptor)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def release(self) -> None:
        """Give it up; the file is emptied first, so that nobody takes us for alive."""
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, 0)
            os.close(self.descriptor)
            self.descriptor = -1


class Poke:
    """The reading end of the FIFO. Holds a writing end too, so an empty FIFO never reads as closed."""

    def __init__(self, directory: Path) -> None:
        self.path, self.flag = directory / "poke", directory / "poked"
        self.descriptor = self._open()
        self.drain()  # a flag left by a dead monitor would keep every poke away

    def fileno(self) -> int:
        """For select and poll; -1 when there is no FIFO."""
        return self.descriptor

    def wait(self, seconds: float) -> bool:
        """Sleep until poked, at most `seconds`; whether a poke came. Drains it."""
        if self.descriptor < 0:
            time.sleep(max(0.0, seconds))
            return False
        with contextlib.suppress(OSError, InterruptedError):
            if select.select([self.descriptor], [], [], max(0.0, seconds))[0]:
                return self.drain()
        return False

    def drain(self) -> bool:
        """Take every pending poke. The flag goes first: a poke that arrives in between wakes us once more."""
        with contextlib.suppress(OSError):
            self.flag.unlink(missing_ok=True)
        poked = False
        with contextlib.suppress(BlockingIOError, OSError):
            while self.descriptor >= 0 and os.read(self.descriptor, 4096):
                poked = True
        return poked

    def close(self) -> None:
        """Close the reading end; the FIFO stays for the next monitor."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _open(self) -> int:
        try:
            if self.path.is_symlink() or (self.path.exists() and not self.path.is_fifo()):
                self.path.unlink()
            with contextlib.suppress(FileExistsError):
                os.mkfifo(self.path, 0o600)
            return os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return -1


class Runtime:
    """The open runtime directory of one server."""

    def __init__(self, path: Path, server_pid: int) -> None:
        self.path, self.server_pid = path, server_pid
        self._said: dict[str, str] = {}
        self._last_line = ""

    def note_origin(self) -> None:
        """Leave word where this directory was made: whoever finds it elsewhere cannot look at its processes."""
        if is_private(self.path) and not (self.path / "origin").exists():
            text = f"boot={boot_id()}\nnamespace={namespace()}\nhost={host()}\n"
            write_atomic(self.path / "origin", text)

    def lock(self, version: str) -> MonitorLock | None:
        """Become this server's monitor; None when there is one. Take it after the last fork: children share it.

        The kernel's file lock decides, so a crash leaves nothing stale; the content (pid start version) is for sh.
        """
        descriptor = self._open("monitor", os.O_RDWR)
        if descriptor is None:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            pid = os.getpid()
            self.beat()  # before our name is in it: the beat of a monitor before us may be old
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{pid} {processes.start_token(pid)} {version}\n".encode(), 0)
        except OSError:
            os.close(descriptor)
            return None
        return MonitorLock(self.path / "monitor", descriptor)

    def holder(self) -> Holder | None:
        """The live monitor: its pid runs and began when the lock says. None for a stale or empty lock."""
        fields = self._text("monitor", 256).split()
        pid = parse_int(fields[0]) if len(fields) > 1 else None
        if pid is None or processes.start_token(pid) != fields[1] or not processes.alive(pid, None):
            return None
        return Holder(pid, fields[2] if len(fields) > 2 else "")

    def beat(self) -> None:
        """Write when we were last seen at work: the machine's uptime, whole seconds. Nothing without /proc/uptime."""
        now = uptime()
        if now is None:
            return
        descriptor = self._open("beat", os.O_WRONLY)
        try:
            if descriptor is None:
                raise OSError
            try:
                os.pwrite(descriptor, f"{int(now):<12}\n".encode(), 0)
            finally:
                os.close(descriptor)
        except OSError:  # a beat that stands still would have us killed
            with contextlib.suppress(OSError):
                if is_private(self.path):
                    (self.path / "beat").unlink(missing_ok=True)

    def beat_age(self) -> int | None:
        """Seconds since the monitor's last beat; None when that is not known."""
        now, beat = uptime(), parse_int(self._text("beat", 32).strip())
        return None if now is None or beat is None else max(0, int(now) - beat)

    def hangs(self) -> bool:
        """Whether the last beat is too old for a monitor at work, or a machine that was just asleep."""
        age = self.beat_age()
        return age is not None and age > BEAT_OLD_S

    def poke_reader(self) -> Poke:
        """The FIFO's reading end, for the monitor."""
        return Poke(self.path)

    def poke(self) -> bool:
        """Wake the monitor; never blocks. False when nobody listens."""
        if not is_private(self.path):
            return False
        try:
            descriptor = os.open(self.path / "poke", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"\n")
        os.close(descriptor)
        return True

    def announce(self, environ: Mapping[str, str] = os.environ) -> None:
        """Link this directory where hooks look for it: `~/.local/state/agents.tmux/servers/<its name>`.

        Said again from time to time: the link's age tells other machines that share the home that it is in use.
        """
        state = state_dir(environ)
        if state is None:
            return
        with contextlib.suppress(OSError, RuntimeRefused):
            state.parent.mkdir(parents=True, exist_ok=True)
            link = private_dir(private_dir(state) / "servers") / self.path.name
            if not (link.is_symlink() and link.readlink() == self.path):
                link.unlink(missing_ok=True)
                link.symlink_to(self.path)
            elif time.time() - link.lstat().st_mtime > _ANNOUNCED_S:
                os.utime(link, follow_symlinks=False)

    def withdraw(self, environ: Mapping[str, str] = os.environ) -> None:
        """Remove the link again."""
        state = state_dir(environ)
        with contextlib.suppress(OSError):
            if state:
                (state / "servers" / self.path.name).unlink(missing_ok=True)

    def read_memory(self, server_started: int) -> dict[str, Any]:
        """What the last pass remembered for this very server; {} when there is none, it is broken or of another one."""
        try:
            memory = json.loads(self._text("memory.json", _MEMORY_BYTES))
            pid, started = memory["server"]
            # A start time is rounded: the boot time it is counted from moves by a second when the clock is adjusted.
            if memory["schema"] == _MEMORY_SCHEMA and pid == self.server_pid and abs(started - server_started) <= 2:
                data = memory["data"]
                return data if isinstance(data, dict) else {}
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        return {}

    def write_memory(self, server_started: int, data: Mapping[str, Any]) -> bool:
        """Remember plain JSON data, atomically; false when that failed."""
        memory = {"schema": _MEMORY_SCHEMA, "server": [self.server_pid, server_started], "data": data}
        return is_private(self.path) and write_atomic(
            self.path / "memory.json", json.dumps(memory, separators=(",", ":"))
        )

    def problem(self, key: str, text: str) -> None:
        """Note a problem for doctor, or clear it with an empty text. Writes only news; shells write there too."""
        line = " ".join(text.split())[:_PROBLEM_CHARS]
        if self._said.get(key) == line:
            return
        self._said[key] = line
        noted = self.problems()
        if noted.get(key, "") == line:
            return
        noted[key] = line
        if not is_private(self.path):
            return
        write_atomic(self.path / "problems", "".join(f"{k}\t{v}\n" for k, v in sorted(noted.items()) if v))

    def problems(self) -> dict[str, str]:
        """Every noted problem by key."""
        pairs = (line.partition("\t") for line in self._text("problems", LOG_BYTES).splitlines())
        return {key: text for key, tab, text in pairs if tab}

    def log(self, text: str) -> None:
        """Append a line to the log. A repeated line is written once; half of a full log is dropped."""
        line = " ".join(text.split())[:_PROBLEM_CHARS]
        if line == self._last_line:
            return
        self._last_line = line
        path, descriptor = self.path / "log", self._open("log", os.O_WRONLY | os.O_APPEND)
        if descriptor is None:
            return
        with contextlib.suppress(OSError):
            with open(descriptor, "ab") as stream:
                stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n".encode("utf-8", "replace"))
                full = stream.tell() > LOG_BYTES
            if full:
                kept = read_regular(path, LOG_BYTES // 2, tail=True, follow=False) or b""
                write_atomic(path, kept[kept.find(b"\n") + 1 :].decode("utf-8", "replace"))

    def _text(self, name: str, limit: int) -> str:
        return read_own(self.path / name, limit) if is_private(self.path) else ""

    def _open(self, name: str, flags: int) -> int | None:
        """Open a file of ours for writing, made when missing; None when it is anything but a plain file of ours."""
        if not is_private(self.path):
            return None
        try:
            flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self.path / name, flags, 0o600)
        except OSError:
            return None
        if is_own(os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)
        return None


def uptime() -> float | None:
    """Seconds since the machine started, sleep included; None where /proc/uptime is missing.

    The file and not the clock behind it: what shells compare with may be a container's own.
    """
    try:
        with open("/proc/uptime", "rb") as stream:
            return parse_float(stream.read(64).split()[0])
    except (OSError, IndexError):
        return None


def write_atomic(path: Path, text: str) -> bool:
    """Replace a file of ours as a whole, mode 0600; false (and nothing changed) when it can't be written."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            if temporary:
                Path(temporary).unlink(missing_ok=True)
        return False
    return True
