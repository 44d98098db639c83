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
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_plugin.core.numbers import parse_float, parse_int
from agents_plugin.host import processes
from agents_plugin.host.files import read_regular

LOG_BYTES = 256 * 1024
_MEMORY_BYTES = 4 * 1024 * 1024
_MEMORY_SCHEMA = 1
_PROBLEM_CHARS = 4_000
#: Seconds nothing was written to a directory before its server may be somebody else's process.
_SILENT_S = 3600
#: Seconds without a beat after which a monitor counts as hung; `scripts/drive` and `scripts/poke` say the same.
BEAT_OLD_S = 30


class RuntimeRefused(Exception):
    """A directory that is not ours alone: a symlink, another owner, writable by others, or not to be made."""


def base_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where all servers of this user keep their runtime directories. Nothing is made."""
    uid = os.getuid()
    xdg = environ.get("XDG_RUNTIME_DIR", "")
    if xdg.startswith("/"):  # a relative one is ignored, as the XDG specification wants
        with contextlib.suppress(OSError):
            facts = Path(xdg).stat()
            if stat.S_ISDIR(facts.st_mode) and facts.st_uid == uid:
                return Path(xdg) / "agents.tmux"
    return Path(environ.get("TMPDIR") or "/tmp") / f"agents.tmux-{uid}"


def state_dir(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The one place hooks can find: under HOME, because agents strip XDG and TMUX variables. None without a HOME."""
    home = environ.get("HOME", "")
    return Path(home) / ".local/state/agents.tmux" if home.startswith("/") else None


def private_dir(path: Path) -> Path:
    """Make `path` (its parents must exist) or accept it when it is ours alone; raises `RuntimeRefused`."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            raise RuntimeRefused(f"{path} is not a directory")
        if facts.st_uid != os.getuid():
            raise RuntimeRefused(f"{path} belongs to another user")
        if facts.st_mode & 0o022:
            raise RuntimeRefused(f"{path} can be written by others")
        if facts.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise RuntimeRefused(f"{path}: {error.strerror}") from None
    return path


def open_runtime(server_pid: int, environ: Mapping[str, str] = os.environ) -> Runtime:
    """The directory of the tmux server with this pid, made when missing. Raises `RuntimeRefused`."""
    return Runtime(private_dir(private_dir(base_dir(environ)) / str(server_pid)), server_pid)


def remove_stale(environ: Mapping[str, str] = os.environ) -> None:
    """Remove what servers that are gone left behind: their directories and the links hooks follow."""
    with contextlib.suppress(OSError):
        for entry in list(base_dir(environ).iterdir()):
            if parse_int(entry.name) is not None and _left_behind(entry):
                shutil.rmtree(entry, ignore_errors=True)
    state = state_dir(environ)
    with contextlib.suppress(OSError):
        for link in list((state / "servers").iterdir()) if state else []:
            if link.is_symlink() and not link.exists():
                link.unlink(missing_ok=True)


def _left_behind(entry: Path) -> bool:
    """Whether the server is gone, or its pid is another program's by now: no tmux, no helper, an hour of silence."""
    pid = parse_int(entry.name) or 0
    server = processes.backend().stat(pid)
    if server is None or server.zombie:
        return True
    if "tmux" in server.comm or Runtime(entry, pid).holder() is not None:
        return False
    with contextlib.suppress(OSError):
        newest = max(path.lstat().st_mtime for path in (entry, *entry.iterdir()))
        return time.time() - newest > _SILENT_S
    return False


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

    def lock(self, version: str) -> MonitorLock | None:
        """Become this server's monitor; None when there is one. Take it after the last fork: children share it.

        The kernel's file lock decides, so a crash leaves nothing stale; the content (pid start version) is for sh.
        """
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.path / "monitor", flags, 0o600)
        except OSError:
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
        path = self.path / "beat"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags, 0o600)
            try:
                os.pwrite(descriptor, f"{int(now):<12}\n".encode(), 0)
            finally:
                os.close(descriptor)
        except OSError:  # a beat that stands still would have us killed
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

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
        """Link this directory where hooks look for it: `~/.local/state/agents.tmux/servers/<server pid>`."""
        state = state_dir(environ)
        if state is None:
            return
        with contextlib.suppress(OSError, RuntimeRefused):
            state.parent.mkdir(parents=True, exist_ok=True)
            link = private_dir(private_dir(state) / "servers") / str(self.server_pid)
            if not (link.is_symlink() and link.readlink() == self.path):
                link.unlink(missing_ok=True)
                link.symlink_to(self.path)

    def withdraw(self, environ: Mapping[str, str] = os.environ) -> None:
        """Remove the link again."""
        state = state_dir(environ)
        with contextlib.suppress(OSError):
            if state:
                (state / "servers" / str(self.server_pid)).unlink(missing_ok=True)

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
        return write_atomic(self.path / "memory.json", json.dumps(memory, separators=(",", ":")))

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
        path = self.path / "log"
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(path, flags, 0o600), "ab") as stream:
                stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n".encode("utf-8", "replace"))
                full = stream.tell() > LOG_BYTES
            if full:
                kept = read_regular(path, LOG_BYTES // 2, tail=True, follow=False) or b""
                write_atomic(path, kept[kept.find(b"\n") + 1 :].decode("utf-8", "replace"))

    def _text(self, name: str, limit: int) -> str:
        return (read_regular(self.path / name, limit, follow=False) or b"").decode("utf-8", "replace")


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
