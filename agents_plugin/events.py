"""Hook events on their way into a pass: taken from the spool, proven to be a pane's own, put in order.

An event is removed from the spool only after what it changed is written: a helper that is killed in between loses
nothing, and hearing an event twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents_plugin.core import hookstore, programs
from agents_plugin.core.evidence import Claim, Identity, PaneRow
from agents_plugin.core.hookfold import HookLog, HookMemory, starting_from
from agents_plugin.core.hooks import Signal, interpret
from agents_plugin.core.identity import pane_of_event, recognise, shared_server, speaks_for
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.trees import Proc, ancestry
from agents_plugin.host import processes
from agents_plugin.host.faults import Faults
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.host.heard import mark
from agents_plugin.host.spool import Event, Spool
from agents_plugin.manifests import Catalog

#: An event that is nobody's yet may be of a pane that was listed too early.
AGAIN_MS = 3_000


@dataclass(frozen=True)
class Word:
    """An event and where it comes from: the pane and the process that proves it; no pane: an agent's shared server."""

    event: Event
    pane: str | None
    pid: int = 0


@dataclass(frozen=True)
class Voice:
    """What a pane's agent has said by events. Its process is `pid`: with it all of this ends.

    `newcomer`: nothing but its events tells that there is an agent.
    """

    agent: str
    pid: int | None
    started: float | None
    log: HookLog
    memory: HookMemory
    newcomer: bool = False

    def of(self, identity: Identity | None) -> bool:
        """Whether this is (still) the voice of a pane's agent."""
        return identity is not None and (self.agent, self.pid) == (identity.agent, identity.pid)

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self.pid is not None and processes.alive(self.pid, self.started)

    @property
    def claim(self) -> Claim | None:
        """What it says now, tied to its process."""
        return replace(self.memory.claim, pid=self.pid) if self.memory.claim else None

    def hearing(self, signals: Iterable[Signal]) -> Voice:
        """The voice after more events."""
        log = self.log.hearing(signals)
        return self if log is self.log else replace(self, log=log, memory=log.folded())

    def dump(self) -> dict[str, Any]:
        """As JSON data."""
        whose = {"agent": self.agent, "pid": self.pid, "started": self.started, "newcomer": self.newcomer}
        return {**whose, **hookstore.dump(self.log)}


def new_voice(identity: Identity, kept: Claim | None, session: str, newcomer: bool) -> Voice:
    """The voice of an agent that was not heard yet, or by an earlier helper that left no more than its claim."""
    log = starting_from(kept, session)
    return Voice(identity.agent, identity.pid, identity.started, log, log.folded(), newcomer)


def load_voice(data: object) -> Voice | None:
    """A voice from JSON data; None for anything that does not fit, or whose process is gone."""
    log = hookstore.load(data)
    if log is None or not isinstance(data, Mapping):
        return None
    agent, pid, started = data.get("agent"), data.get("pid"), data.get("started")
    if not isinstance(agent, str) or not isinstance(pid, int) or not isinstance(started, (int, float, type(None))):
        return None
    voice = Voice(agent, pid, started, log, log.folded(), bool(data.get("newcomer")))
    return voice if voice.alive else None


class Intake:
    """The events of one server's panes. A pass without events costs one directory listing."""

    def __init__(self, directory: Path | None, faults: Faults | None = None, guard: AlarmGuard | None = None) -> None:
        self._faults = faults or Faults()
        self._guard = guard or AlarmGuard()
        self.spool = Spool(directory, self._faults)
        self._strangers: dict[str, frozenset[int]] = {}
        self._heard: list[Event] = []
        self._table: dict[int, Proc] = {}

    def words(self, panes: Sequence[PaneRow], now_ms: int) -> list[Word]:
        """What has been said in these panes, or in a shared server, oldest first. Only then all processes are read."""
        pids = {row.pane_pid: row.pane_id for row in panes if not row.dead}
        here = frozenset(pids)
        pending = self.spool.pending(now_ms)
        names = {event.path.name for event in pending}
        self._strangers = {name: seen for name, seen in self._strangers.items() if name in names}
        fresh = [e for e in pending if self._strangers.get(e.path.name) != here or now_ms - e.at_ms < AGAIN_MS]
        self._heard, self._table = [], {}
        if not fresh:
            return []
        everything = processes.sweep()
        found: list[Word] = []
        for event in fresh:
            with self._careful(event):
                for pid, _ in event.ancestors:
                    if pid not in self._table:
                        self._table.update(processes.chain(pid, everything))
                place = pane_of_event(event.ancestors, event.at_ms, self._table, pids)
                if place:
                    found.append(Word(event, *place))
                else:
                    self._strangers[event.path.name] = here
                    if shared_server(event.ancestors, event.at_ms, self._table):
                        found.append(Word(event, None))
        return found

    @contextmanager
    def _careful(self, event: Event) -> Iterator[None]:
        """An event that makes its reader fail is not looked at again; others are."""
        try:
            yield
        except Exception as error:
            self._faults.note(f"hook event {event.path.name}", error)
            self.spool.shun(event)

    def newcomers(
        self, words: Iterable[Word], owners: Mapping[str, Identity | None], catalog: Catalog
    ) -> dict[str, str]:
        """Panes in which nobody was recognised, though a program in them speaks as an agent: which, by pane id."""
        found: dict[str, str] = {}
        for word in words:
            with self._careful(word.event):
                owner = owners.get(word.pane) if word.pane else None
                manifest = catalog.get(word.event.agent)
                if word.pane and (owner is None or not owner.agent) and manifest and manifest.hooks:
                    proc = self._table[word.pid]
                    # What is left of an agent that ended is a zombie, or the shell it was started from.
                    if proc.zombie or programs.program(proc.comm, proc.argv, proc.exe).shell:
                        continue
                    hits = (recognise(one, (manifest,)) for one in ancestry(word.pid, self._table))
                    if not any(hit and hit.headless for hit in hits):
                        found[word.pane] = word.event.agent
        return found

    def signals(
        self,
        words: Iterable[Word],
        owners: Mapping[str, Identity | None],
        sessions: Mapping[str, str],
        catalog: Catalog,
        shown: Callable[[str, str], bool],
    ) -> dict[str, list[Signal]]:
        """What the words mean, by pane. `sessions`: the conversation each pane was started with or last told of.

        `shown` says whether a pane still shows a conversation, and no other pane does: asked for shared servers.

        A word of a headless run, or of an agent that another one started, means nothing; it is taken all the same.
        """
        found: dict[str, list[Signal]] = {}
        for word in words:
            event = word.event
            with self._careful(event):
                manifest = catalog.get(event.agent)
                if manifest is None or manifest.hooks is None:
                    continue
                data, key = payload_of(event), key_of(event)
                signal = interpret(manifest.hooks, event.event, data, event.at_ms, key, self._guard)
                pane = word.pane
                if pane is None:
                    pane = _speaker(signal, event.agent, owners, sessions)
                    if pane is None or signal is None or not shown(pane, signal.session):
                        continue
                elif not self._proven(word, owners.get(pane), catalog.outlines):
                    signal = None
                self._heard.append(event)
                if signal is not None:
                    found.setdefault(pane, []).append(signal)
        return found

    def _proven(self, word: Word, owner: Identity | None, manifests: Sequence[Manifest]) -> bool:
        if owner is None or owner.pid is None or owner.headless or owner.agent != word.event.agent:
            return False
        table = self._table
        if owner.pid not in table:
            table = {**processes.chain(owner.pid, processes.sweep()), **table}
        return speaks_for(word.pid, owner.pid, table, manifests)

    def finish(self) -> None:
        """Remove what was heard from the spool: what it changed is written."""
        if self._heard and self.spool.directory:
            mark(self.spool.directory.with_name("heard"), {event.agent for event in self._heard})
        for event in self._heard:
            self.spool.take(event)
        self._heard = []

    @property
    def news(self) -> bool:
        """Whether this pass heard something."""
        return bool(self._heard)


def _speaker(
    signal: Signal | None, agent: str, owners: Mapping[str, Identity | None], sessions: Mapping[str, str]
) -> str | None:
    """The one pane whose own evidence names the conversation of an event that came through a shared server."""
    if signal is None or not signal.session:
        return None
    panes = [pane for pane, session in sessions.items() if session == signal.session]
    owner = owners.get(panes[0]) if len(panes) == 1 else None
    return panes[0] if owner and owner.agent == agent and not owner.headless else None


def payload_of(event: Event) -> object:
    """The payload as JSON data; {} when it is none, or was cut."""
    try:
        return json.loads(event.payload)
    except (ValueError, RecursionError):
        return {}


def key_of(event: Event) -> str:
    """What makes this event the same event when it is delivered again."""
    text = f"{event.event}\n{event.payload.strip()}".encode("utf-8", "replace")
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:12]
