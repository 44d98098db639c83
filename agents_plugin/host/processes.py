"""The one module that reads processes. Nothing here raises for a process that ends, is a zombie or belongs to another.

Linux is read from /proc directly (18 µs a process); elsewhere psutil, imported on first use. Start times are seconds
since the epoch, exact to a clock tick within one process of ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agents_plugin.core.numbers import parse_float, parse_int
from agents_plugin.core.trees import Proc, same_process, subtree

_PAGE = 4096
_MAX_READ = 65536  # of a command line or environment: prompts can be huge
_PS_DEADLINE = 2.0
#: Threads of the kernel are no pane's processes; on a plain machine they are half of all.
_PF_KTHREAD = 0x00200000
#: The fields behind the name: a state, then numbers of at most 64 bits. What looks otherwise is no process.
_STAT = re.compile(rb" [A-Za-z](?: -?[0-9]{1,20})+\s*")


class Pulse(NamedTuple):
    """CPU time a process has used, in clock ticks (0 where that is not read cheaply), and whether it is stopped."""

    ticks: int
    stopped: bool


class Backend(Protocol):
    """One way to read processes; every method gives the empty answer for what can't be read."""

    def sweep(self) -> dict[int, Proc]:
        """Every process, without arguments."""
        ...

    def stat(self, pid: int) -> Proc | None:
        """One process without arguments, None when it is gone."""
        ...

    def pulse(self, pid: int) -> Pulse | None:
        """Whether and how it runs, None when it is gone."""
        ...

    def detail(self, proc: Proc) -> Proc:
        """The same process with arguments and executable."""
        ...

    def environ(self, pid: int) -> Mapping[str, str]:
        """The variables it was started with."""
        ...

    def foreground(self, pids: Iterable[int]) -> dict[int, int]:
        """Foreground groups of the terminals of these processes; unknown ones are left out."""
        ...


def sweep() -> dict[int, Proc]:
    """Every process we may see, by pid, without arguments and executables."""
    return backend().sweep()


def detailed(
    pane_pid: int, table: Mapping[int, Proc], below: Mapping[int, list[Proc]] | None = None
) -> dict[int, Proc]:
    """The tree below `pane_pid` cut out of a sweep, with arguments and executables read: what `identify` wants.

    `below` is the sweep's `children`: whoever cuts many trees makes it once.
    """
    read = backend().detail
    return {proc.pid: read(proc) for proc in subtree(pane_pid, table, below)}


def chain(pid: int, table: Mapping[int, Proc]) -> dict[int, Proc]:
    """A process and its ancestors cut out of a sweep, with arguments: what `pane_of` and `speaks_for` want."""
    found: dict[int, Proc] = {}
    while pid in table and pid not in found and pid > 1:
        found[pid] = backend().detail(table[pid])
        pid = table[pid].ppid
    return found


def alive(pid: int, started: float | None) -> bool:
    """Whether `pid` is (still) the process that began at `started`; a zombie is dead. One read of /proc."""
    return glance(pid, started) is not None


def glance(pid: int, started: float | None) -> Proc | None:
    """The process that began at `started`, without arguments; None once it ended. One read of /proc."""
    proc = backend().stat(pid)
    return proc if proc is not None and not proc.zombie and same_process(proc, started) else None


def pulse(pid: int) -> Pulse | None:
    """Whether and how a process runs; None when it is gone."""
    return backend().pulse(pid)


def started_of(pid: int) -> float | None:
    """When a process began, seconds since the epoch; None when it is gone."""
    proc = backend().stat(pid)
    return proc.started if proc else None


def foreground_group(pane_pid: int) -> int | None:
    """The foreground process group of a pane's terminal, None when unknown. One read of /proc."""
    return backend().foreground([pane_pid]).get(pane_pid)


def foreground_groups(pane_pids: Iterable[int]) -> dict[int, int]:
    """The same for many panes: one read each on Linux, one bounded `ps` for all of them elsewhere."""
    return backend().foreground(pane_pids)


def environ_of(pid: int, names: Iterable[str]) -> dict[str, str]:
    """The named variables a process was started with; those unset or unreadable are left out."""
    values = backend().environ(pid)
    return {name: values[name] for name in names if name in values}


def start_token(pid: int) -> str:
    """A process start as a shell can compare it: clock ticks since boot on Linux, whole epoch seconds elsewhere.

    "" when the process is gone. The same as field 22 of /proc/PID/stat.
    """
    reader = backend()
    if isinstance(reader, Procfs):
        return str(reader.ticks(pid) or "")
    started = started_of(pid)
    return "" if started is None else str(int(started))


def from_ticks(token: str) -> float | None:
    """The epoch seconds of a start token written on this machine since it booted; None when it is not one."""
    ticks = parse_int(token)
    if ticks is None:
        return None
    reader = backend()
    return reader.epoch(ticks) if isinstance(reader, Procfs) else float(ticks)


@lru_cache(maxsize=1)
def backend() -> Backend:
    """How this machine's processes are read."""
    return Procfs() if Path("/proc/self/stat").exists() else Psutil()


class Procfs:
    """Linux: /proc read directly."""

    def __init__(self, root: str = "/proc") -> None:
        self.root = root
        self._tick = os.sysconf("SC_CLK_TCK")
        self._boot = 0.0

    def sweep(self) -> dict[int, Proc]:
        """Every process, without arguments."""
        try:
            names = os.listdir(self.root)  # noqa: PTH208  hot: no Path objects
        except OSError:
            return {}
        procs = (self._proc(int(name), kernel=False) for name in names if parse_int(name) is not None)
        return {proc.pid: proc for proc in procs if proc is not None}

    def stat(self, pid: int) -> Proc | None:
        """One process without arguments, None when it is gone."""
        return self._proc(pid)

    def _proc(self, pid: int, kernel: bool = True) -> Proc | None:
        comm, fields = self._stat(pid)
        if len(fields) < 20 or (not kernel and int(fields[6]) & _PF_KTHREAD):
            return None
        state, ppid, pgrp, session, _, tpgid = fields[:6]
        return Proc(
            pid=pid,
            ppid=int(ppid),
            pgrp=int(pgrp),
            comm=comm,
            started=self.epoch(int(fields[19])),
            tpgid=int(tpgid) if int(tpgid) > 0 else None,
            zombie=state in (b"Z", b"X"),
            session=int(session),
            stopped=state == b"T",
        )

    def detail(self, proc: Proc) -> Proc:
        """The same process with arguments and executable."""
        raw = self._read(proc.pid, "cmdline")
        argv = tuple(word.decode("utf-8", "replace") for word in raw.rstrip(b"\0").split(b"\0")) if raw else ()
        exe = ""
        with contextlib.suppress(OSError):
            exe = os.readlink(f"{self.root}/{proc.pid}/exe").removesuffix(" (deleted)")  # noqa: PTH115  hot
        return replace(proc, argv=argv, exe=exe)

    def environ(self, pid: int) -> Mapping[str, str]:
        """The variables it was started with."""
        pairs = (item.partition(b"=") for item in self._read(pid, "environ", 16 * _MAX_READ).split(b"\0") if item)
        return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, _, value in pairs}

    def foreground(self, pids: Iterable[int]) -> dict[int, int]:
        """Foreground groups of the terminals of these processes; unknown ones are left out."""
        found = {}
        for pid in pids:
            _, fields = self._stat(pid)
            if len(fields) > 5 and int(fields[5]) > 0:
                found[pid] = int(fields[5])
        return found

    def ticks(self, pid: int) -> int | None:
        """Field 22 of stat: the start in clock ticks since boot."""
        _, fields = self._stat(pid)
        return int(fields[19]) if len(fields) > 19 else None

    def pulse(self, pid: int) -> Pulse | None:
        """Fields 14 and 15 of stat (user and system time) and the state; None for a process that ended."""
        _, fields = self._stat(pid)
        if len(fields) < 20 or fields[0] in (b"Z", b"X"):
            return None
        return Pulse(int(fields[11]) + int(fields[12]), fields[0] == b"T")

    def epoch(self, ticks: int) -> float:
        """Ticks since boot as seconds since the epoch. The boot time is read once: it moves when the clock is set."""
        if not self._boot:
            for line in self._read("", "stat", 16 * _MAX_READ).splitlines():
                if line.startswith(b"btime "):
                    self._boot = parse_float(line[6:].strip()) or 0.0
        return self._boot + ticks / self._tick

    def _stat(self, pid: int) -> tuple[str, list[bytes]]:
        """(name, fields from the state on). The name may hold spaces and parentheses: the last one ends it."""
        raw = self._read(pid, "stat", 1024)
        head, _, rest = raw.rpartition(b")")
        if not _STAT.fullmatch(rest):
            return "", []
        return head.partition(b"(")[2].decode("utf-8", "replace"), rest.split()

    def _read(self, pid: int | str, name: str, limit: int = _MAX_READ) -> bytes:
        try:
            descriptor = os.open(f"{self.root}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return b""
        try:
            # A buffer for the largest possible answer costs more than the answer of nearly all.
            raw = os.read(descriptor, min(limit, _PAGE))
            while raw and len(raw) % _PAGE == 0 and len(raw) < limit:
                more = os.read(descriptor, min(limit - len(raw), 16 * _PAGE))
                if not more:
                    break
                raw += more
            return raw
        except OSError:  # ESRCH: it ended between open and read
            return b""
        finally:
            os.close(descriptor)


class Psutil:
    """Everywhere else. `module` is psutil or a stand-in."""

    def __init__(self, module: Any = None) -> None:
        if module is None:
            import psutil as module
        self.psutil = module
        #: psutil's own errors, and the OSErrors and SystemErrors it lets through on macOS.
        self.errors: tuple[type[BaseException], ...] = (module.Error, OSError, SystemError, ValueError)

    def sweep(self) -> dict[int, Proc]:
        """Every process, without arguments."""
        try:
            pids = list(self.psutil.pids())
        except self.errors:
            return {}
        procs = (self.stat(pid) for pid in pids)
        return {proc.pid: proc for proc in procs if proc is not None}

    def stat(self, pid: int) -> Proc | None:
        """One process without arguments, None when it is gone."""
        try:
            process = self.psutil.Process(pid)
        except self.errors:
            return None
        try:
            started = float(process.create_time())
        except self.psutil.ZombieProcess:
            return Proc(pid, self._ask(process, "ppid", 0), 0, "", zombie=True)
        except self.psutil.NoSuchProcess:
            return None
        except self.errors:  # denied: its place in the tree still counts
            started = 0.0
        status = self._ask(process, "status", "")
        return Proc(
            pid=pid,
            ppid=self._ask(process, "ppid", 0),
            pgrp=_quietly(os.getpgid, pid),
            comm=self._ask(process, "name", ""),
            started=started,
            zombie=status == self.psutil.STATUS_ZOMBIE,
            session=_quietly(os.getsid, pid),
            stopped=status == self.psutil.STATUS_STOPPED,
        )

    def pulse(self, pid: int) -> Pulse | None:
        """Whether it is stopped; None when it is gone."""
        try:
            status = self.psutil.Process(pid).status()
        except (self.psutil.NoSuchProcess, self.psutil.ZombieProcess):
            return None
        except self.errors:
            return Pulse(0, False)
        return None if status == self.psutil.STATUS_ZOMBIE else Pulse(0, status == self.psutil.STATUS_STOPPED)

    def detail(self, proc: Proc) -> Proc:
        """The same process with arguments and executable."""
        try:
            process = self.psutil.Process(proc.pid)
        except self.errors:
            return proc
        argv = tuple(str(word)[:_MAX_READ] for word in self._ask(process, "cmdline", None) or ())
        return replace(proc, argv=argv, exe=self._ask(process, "exe", "") or "")

    def environ(self, pid: int) -> Mapping[str, str]:
        """The variables it was started with."""
        try:
            process = self.psutil.Process(pid)
        except self.errors:
            return {}
        values: Mapping[str, str] = self._ask(process, "environ", {})
        return values

    def foreground(self, pids: Iterable[int]) -> dict[int, int]:
        """Foreground groups of the terminals of these processes; unknown ones are left out."""
        wanted = sorted(set(pids))
        if not wanted:
            return {}
        command = ["ps", "-o", "pid=,tpgid=", "-p", ",".join(map(str, wanted))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PS_DEADLINE, check=False)
        except (OSError, subprocess.SubprocessError):
            return {}
        rows = (line.split() for line in done.stdout.splitlines())
        pairs = ((parse_int(row[0]), parse_int(row[1])) for row in rows if len(row) == 2)
        return {pid: group for pid, group in pairs if group and pid is not None and pid in wanted}

    def _ask(self, process: Any, what: str, default: Any) -> Any:
        try:
            return getattr(process, what)()
        except self.errors:
            return default


def _quietly(ask: Callable[[int], int], pid: int) -> int:
    try:
        return ask(pid)
    except OSError:
        return 0
