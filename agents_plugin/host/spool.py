"""The reading side of the hook spool: `scripts/agent-hook` writes a file per event, monitors take those of their panes.

A file is `agents.tmux 1`, `key=value` lines, an empty line, on Linux the stat lines of the parent (and of a shell's
parent), the payload, and a last line that says it is complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents_plugin.core.numbers import MAX, MAX_PID, parse_float, parse_int, parse_pid
from agents_plugin.core.turns import from_both_ends
from agents_plugin.host import processes
from agents_plugin.host.directories import state_dir
from agents_plugin.host.faults import Faults
from agents_plugin.host.files import open_regular, read_open

EXPIRY_MS = 10 * 60 * 1000
PAYLOAD_BYTES = 1024 * 1024
MAGIC = b"agents.tmux 1\n"
END = b"\n--agents.tmux end--\n"
_MAX_FILE = PAYLOAD_BYTES + 64 * 1024
#: Names looked at in a pass, and of them those that were not known before.
_MAX_FILES, _MAX_NEW = 100_000, 10_000
#: Seconds of reading in a pass, and characters kept of all events that wait. A payload that is longer is read again.
_READ_S, _KEPT, _KEPT_PAYLOAD = 0.06, 8 * 1024 * 1024, 4096
#: Beyond this the file's time and the recorded one tell different stories: a clock was set, or the file was copied.
_DRIFT_MS = 2000
_TICK_MS = 20  # file times are those of the kernel's last tick
_FUTURE_MS = 24 * 60 * 60 * 1000  # a clock set back by an hour loses no event
_HEADER_BYTES = 32 * 1024
#: A line of /proc/PID/stat: pid, (name), state, parent, 17 more fields, start in clock ticks. No payload looks like it.
_STAT = re.compile(rb"(\d+) \(([^\n]*)\) [A-Za-z] (\d+) (?:-?\d+ ){17}(\d+)(?: [^\n]*)?\n")
_MAX_STATS = 2
#: What agents are called that are not called by their name: runtimes. Shells and scripts in between are passed over.
_RUNTIMES = frozenset((b"node", b"MainThread", b"bun", b"deno", b"python", b"python3"))


@dataclass(frozen=True)
class Event:
    """One hook event. `at_ms` is wall time.

    `ancestors` are (pid, start in epoch seconds or None) of the processes above the hook, nearest first, up to the
    agent that speaks: when that has ended, nobody above it may be taken for it. What the agent says its own pid is
    comes last, when the agent was not seen.

    `variables` holds what the hook saw of TMUX, TMUX_PANE, CLAUDE_PID … under their own names. None of it is proof.
    """

    path: Path
    agent: str
    event: str
    at_ms: int
    ancestors: tuple[tuple[int, float | None], ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    payload: str = ""
    truncated: bool = False
    left_out: bool = False  # the payload, which is long, is in the file

    @property
    def speaker(self) -> object:
        """Who may have said it, as far as the file tells: the outermost process it names."""
        return self.ancestors[-1] if self.ancestors else self.path.name

    @property
    def size(self) -> int:
        """Characters, about."""
        return 500 + len(self.payload) + sum(map(len, self.variables.values()))


def spool_dir(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The user's spool, whether it exists or not; None without a HOME."""
    state = state_dir(environ)
    return state / "spool" if state else None


class Spool:
    """Reads the spool over and over: a pass without new files costs one directory listing."""

    def __init__(self, directory: Path | None, faults: Faults | None = None) -> None:
        self.directory = directory
        self._faults = faults or Faults()
        self._events: dict[str, Event] = {}
        self._unfinished: dict[str, tuple[int, int]] = {}
        self._times: dict[str, int] = {}  # when each file was written, ms
        self.unread = 0

    def pending(self, now_ms: int, passed_over: Container[str] = ()) -> list[Event]:
        """Finished events nobody took yet, oldest first. Files older than 10 minutes are removed on the way.

        An unfinished file is left alone until it expires; what is not a plain file of ours is never opened.
        `passed_over` are file names whose events are not wanted now: they are not kept. Of more files than a pass has
        time for, the oldest and the newest are read; the others, counted in `unread`, with the next passes.
        """
        times: dict[str, int] = {}
        waiting: list[tuple[int, str, tuple[int, int]]] = []
        for entry in self._entries():
            written, version = self._times.get(entry.name), None
            if written is None or entry.name in self._unfinished:
                version = self._stat(entry, now_ms) if len(waiting) < _MAX_NEW else None
                if version is None:
                    continue
                written = version[0] // 1_000_000
            elif now_ms - written > EXPIRY_MS:
                _unlink(entry.path)
                continue
            times[entry.name] = written
            if entry.name in self._events or entry.name in passed_over:
                continue
            if version is None or self._unfinished.get(entry.name) != version:
                waiting.append((written, entry.path, version or (0, 0)))
        self._times = times
        self._events = {n: event for n, event in self._events.items() if n in times and n not in passed_over}
        self._unfinished = {name: version for name, version in self._unfinished.items() if name in times}
        self._read(sorted(waiting))
        return sorted(self._events.values(), key=lambda event: (event.at_ms, event.path.name))

    def _read(self, waiting: list[tuple[int, str, tuple[int, int]]]) -> None:
        until, kept = time.monotonic() + _READ_S, sum(event.size for event in self._events.values())
        self.unread = len(waiting)
        for _, path, version in from_both_ends(waiting):
            if time.monotonic() > until or kept > _KEPT:
                return
            self.unread -= 1
            file = Path(path)
            event = None
            with self._faults.item(f"hook event {file.name}"):
                event = read(file)
            if event is None:
                self._unfinished[file.name] = version
                continue
            if len(event.payload) > _KEPT_PAYLOAD:
                event = replace(event, payload="", left_out=True)
            kept += event.size
            self._events[file.name] = event

    def _stat(self, entry: os.DirEntry[str], now_ms: int) -> tuple[int, int] | None:
        """(mtime in ns, size) of a file of ours; None for anything else, and for one that is not wanted any more."""
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
            return None
        age = now_ms - facts.st_mtime_ns // 1_000_000
        if age > EXPIRY_MS or age < -_FUTURE_MS or facts.st_size > _MAX_FILE:
            _unlink(entry.path)
            return None
        return facts.st_mtime_ns, facts.st_size

    @property
    def known(self) -> Container[str]:
        """The names of the files there are."""
        return self._times.keys()

    def whole(self, event: Event) -> Event:
        """The event with its payload, also when that is long; without it when the file is gone."""
        return (read(event.path) or event) if event.left_out else event

    def shun(self, event: Event) -> None:
        """Look at an event no more, until it expires: whoever did, failed."""
        self._events.pop(event.path.name, None)
        with contextlib.suppress(OSError):
            facts = event.path.lstat()
            self._unfinished[event.path.name] = (facts.st_mtime_ns, facts.st_size)

    def take(self, event: Event) -> bool:
        """Remove an event; true for the one taker who got it."""
        self._events.pop(event.path.name, None)
        try:
            event.path.unlink()
        except OSError:
            return False
        return True

    def _entries(self) -> list[os.DirEntry[str]]:
        if self.directory is None:
            return []
        try:
            facts = self.directory.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
                return []
            with os.scandir(self.directory) as found:
                return [
                    entry for entry, _ in zip(found, range(_MAX_FILES), strict=False) if not entry.name.startswith(".")
                ]
        except OSError:
            return []


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink(missing_ok=True)


def read(path: Path) -> Event | None:
    """One spool file; None when it is unfinished, not ours to understand, or gone."""
    try:
        descriptor, facts = open_regular(path, follow=False)
        try:
            raw = read_open(descriptor, _MAX_FILE)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    # The time of the last change is the kernel's, whatever times a writer gives the file.
    changed_ms = facts.st_ctime_ns // 1_000_000
    written_ms = min(facts.st_mtime_ns // 1_000_000, changed_ms)
    if facts.st_uid != os.getuid():
        return None
    if not raw.startswith(MAGIC) or not raw.endswith(END):
        return None
    head, blank, body = raw[len(MAGIC) : -len(END)].partition(b"\n\n")
    if not blank or len(head) > _HEADER_BYTES:
        return None
    pairs = (line.partition("=") for line in head.decode("utf-8", "replace").split("\n"))
    header = {key: value for key, mark, value in pairs if mark}
    if not header.get("agent"):
        return None
    variables = {key[4:]: value for key, value in header.items() if key.startswith("env.")}
    ancestors, speaker, body = _ancestors(header, body)
    claimed = parse_pid(variables.get("CLAUDE_PID"))
    if not speaker and header["agent"] == "claude" and claimed:
        ancestors.append((claimed, None))
    return Event(
        path=path,
        agent=header["agent"],
        event=header.get("event", ""),
        at_ms=_time(header, written_ms, changed_ms),
        ancestors=tuple(ancestors),
        variables=variables,
        payload=body.decode("utf-8", "replace"),
        truncated=len(raw) >= PAYLOAD_BYTES,
    )


def _time(header: Mapping[str, str], written_ms: int, changed_ms: int) -> int:
    """Wall time of an event. The file's own time is finer (4 ms steps) than /proc/uptime (10 ms) but can be wrong."""
    exact = parse_float(header.get("time"), high=MAX / 1000)
    if exact is not None:  # bash knows it to the microsecond; nothing is told before it happens
        at_ms = int(exact * 1000)
        return at_ms if at_ms <= changed_ms + _TICK_MS else written_ms
    uptime = parse_float(header.get("uptime"))
    if uptime is None:
        return written_ms
    try:
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - uptime
    except (AttributeError, OSError):
        return written_ms
    recorded_ms = int((time.time() - age) * 1000)
    return written_ms if age < 0 or abs(recorded_ms - written_ms) <= _DRIFT_MS else recorded_ms


def _ancestors(header: Mapping[str, str], body: bytes) -> tuple[list[tuple[int, float | None]], bool, bytes]:
    """The recorded processes, whether the last of them is the agent, and the payload behind them."""
    found: list[tuple[int, float | None]] = []
    above, speaker = 0, False
    for _ in range(_MAX_STATS):
        line = _STAT.match(body)
        if line is None:
            break
        if not speaker:
            pid, started = parse_pid(line[1]), processes.from_ticks(line[4].decode())
            found += [(pid, started)] if pid else []
            speaker = line[2] in _RUNTIMES or line[2].startswith(header["agent"].encode())
        above = parse_int(line[3], high=MAX_PID) or 0
        body = body[line.end() :]
    if not found:
        parents = map(parse_pid, (header.get("parent"), header.get("grandparent")))
        return [(pid, None) for pid in parents if pid], False, body
    return [*found, (above, None)] if above > 1 and not speaker else found, speaker, body
