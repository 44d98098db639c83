"""Processes and their trees, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

#: Process starts are compared across readers: one counts clock ticks, another has whole seconds.
START_SLACK = 2.0
_MAX_DEPTH = 64
_TICK = 0.02  # starts are counted in clock ticks, usually hundredths of a second


@dataclass(frozen=True)
class Proc:
    """One process. `comm` is the kernel's name (cut at 15 characters), `started` in seconds since the epoch.

    `argv` and `exe` are empty when nobody asked for them or they can't be read. `tpgid` is the foreground process
    group of the process's terminal, None without one. `session` is the pid of its session leader, 0 when unknown.
    `stopped`: by job control or a signal, not by a debugger.
    """

    pid: int
    ppid: int
    pgrp: int
    comm: str
    argv: tuple[str, ...] = ()
    exe: str = ""
    started: float = 0.0
    tpgid: int | None = None
    zombie: bool = False
    session: int = 0
    stopped: bool = False


Table = Mapping[int, Proc]


def same_process(proc: Proc | None, started: float | None) -> bool:
    """Whether `proc` is the process that began at `started` and not a later one with its pid. None: no proof needed."""
    return proc is not None and (started is None or abs(proc.started - started) <= START_SLACK)


def attested(ancestors: Iterable[tuple[int, float | None]], at_ms: int, table: Table) -> bool:
    """Whether the hook saw the process that speaks: it noted its start to the tick. A mere pid could be guessed."""
    found = first_alive(ancestors, at_ms, table)
    return found is not None and found[1] is not None and abs(found[0].started - found[1]) < _TICK


def first_alive(
    ancestors: Iterable[tuple[int, float | None]], at_ms: int, table: Table
) -> tuple[Proc, float | None] | None:
    """The nearest recorded process that still runs, with the start that was recorded of it.

    Passed over: those that ended, and later processes with their pids, which is what began after the event at `at_ms`.
    """
    for pid, started in ancestors:
        proc = table.get(pid)
        if proc and same_process(proc, started) and proc.started <= at_ms / 1000 + START_SLACK:
            return proc, started
    return None


def ancestry(pid: int, table: Table) -> Iterator[Proc]:
    """The process and its ancestors, nearest first; ends where nothing is known."""
    for _ in range(_MAX_DEPTH):
        proc = table.get(pid)
        if proc is None:
            return
        yield proc
        above = _parent(proc, table)
        if above == pid:
            return
        pid = above


def children(table: Table) -> dict[int, list[Proc]]:
    """Processes by parent, in order of pid."""
    found: dict[int, list[Proc]] = {}
    for pid in sorted(table):
        found.setdefault(_parent(table[pid], table), []).append(table[pid])
    return found


def subtree(root: int, table: Table, below: Mapping[int, list[Proc]] | None = None) -> list[Proc]:
    """`root` and everything below it, parents before children; [] when it is gone.

    `below` is `children(table)`, for those who have it already.
    """
    below = children(table) if below is None else below
    queue = [root_of(root, table)] if root in table or root in below else []
    seen = {root}
    for proc in queue:
        fresh = [child for child in below.get(proc.pid, ()) if child.pid not in seen]
        seen.update(child.pid for child in fresh)
        queue.extend(fresh)
    return queue


def _parent(proc: Proc, table: Table) -> int:
    """The parent; the session leader when the parent could not be read (macOS denies single processes)."""
    unread = proc.ppid not in table and proc.ppid > 1 and proc.session > 1 and proc.session != proc.pid
    return proc.session if unread else proc.ppid


def root_of(pid: int, table: Table) -> Proc:
    """The process, or a stand-in for one that could not be read."""
    return table.get(pid) or Proc(pid, 0, 0, "")
