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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents_plugin.core.numbers import MAX, MAX_PID, parse_float, parse_int, parse_pid
from agents_plugin.host import processes
from agents_plugin.host.faults import Faults
from agents_plugin.host.files import open_regular, read_open
from agents_plugin.host.runtime import state_dir

EXPIRY_MS = 10 * 60 * 1000
PAYLOAD_BYTES = 1024 * 1024
MAGIC = b"agents.tmux 1\n"
END = b"\n--agents.tmux end--\n"
_MAX_FILE = PAYLOAD_BYTES + 64 * 1024
_MAX_FILES = 2000
#: Beyond this the file's time and the recorded one tell different stories: a clock was set, or the file was copied.
_DRIFT_MS = 2000
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

    def pending(self, now_ms: int) -> list[Event]:
        """Finished events nobody took yet, oldest first. Files older than 10 minutes are removed on the way.

        An unfinished file is left alone until it expires; what is not a plain file of ours is never opened.
        """
        names: set[str] = set()
        for entry in self._entries():
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
                continue
            age = now_ms - facts.st_mtime_ns // 1_000_000
            if age > EXPIRY_MS or age < -_FUTURE_MS or facts.st_size > _MAX_FILE:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink(missing_ok=True)
                continue
            names.add(entry.name)
            version = (facts.st_mtime_ns, facts.st_size)
            if entry.name in self._events or self._unfinished.get(entry.name) == version:
                continue
            event = None
            with self._faults.item(f"hook event {entry.name}"):
                event = read(Path(entry.path))
            if event is None:
                self._unfinished[entry.name] = version
            else:
                self._events[entry.name] = event
        self._events = {name: event for name, event in self._events.items() if name in names}
        self._unfinished = {name: version for name, version in self._unfinished.items() if name in names}
        return sorted(self._events.values(), key=lambda event: (event.at_ms, event.path.name))

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
    written_ms = facts.st_mtime_ns // 1_000_000
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
        at_ms=_time(header, written_ms),
        ancestors=tuple(ancestors),
        variables=variables,
        payload=body.decode("utf-8", "replace"),
        truncated=len(raw) >= PAYLOAD_BYTES,
    )


def _time(header: Mapping[str, str], written_ms: int) -> int:
    """Wall time of an event. The file's own time is finer (4 ms steps) than /proc/uptime (10 ms) but can be wrong."""
    exact = parse_float(header.get("time"), high=MAX / 1000)
    if exact is not None:  # bash knows it to the microsecond
        return int(exact * 1000)
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
