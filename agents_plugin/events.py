"""Hook events on their way into a pass: taken from the spool, proven to be a pane's own, put in order.

An event is removed from the spool only after what it changed is written: a helper that is killed in between loses
nothing, and hearing an event twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
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
from agents_plugin.core.trees import Proc, ancestry, attested
from agents_plugin.core.turns import in_turn
from agents_plugin.host import processes
from agents_plugin.host.faults import Faults
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.host.heard import mark
from agents_plugin.host.spool import Event, Spool
from agents_plugin.manifests import Catalog

#: An event that is nobody's yet may be of a pane that was listed too early.
AGAIN_MS = 3_000
#: Events that are looked into in a pass, and the seconds for it, twice: for where they come from and what they mean.
SLICE, SLICE_S = 256, 0.06
#: How long the beginning of what a pane said waits for the rest: half of it may say blocked where all of it does not.
PATIENCE_S = 2.0
#: Events of one speaker that make it a flood.
MANY = 8


@dataclass(frozen=True)
class Word:
    """An event and where it comes from: the pane and the process that proves it; no pane: an agent's shared server."""

    event: Event
    pane: str | None
    pid: int = 0
    proven: bool = True  # the hook saw that process


@dataclass(frozen=True)
class _Told:
    """What a word meant when it was looked into: it waits for the others of its pane. `since`: monotonic seconds."""

    word: Word
    pane: str
    owner: int | None
    signal: Signal
    since: float


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
        self._strangers: dict[str, tuple[frozenset[int], int]] = {}  # the panes there were, and the event's time
        self._heard: list[Event] = []
        self._table: dict[int, Proc] = {}
        self._proofs: dict[tuple[int, int], bool] = {}  # of this pass: whether a process speaks for an owner
        self._told: dict[str, _Told] = {}
        self._speakers_behind: set[object] = set()

    def words(self, panes: Sequence[PaneRow], now_ms: int) -> list[Word]:
        """What has been said in these panes, or in a shared server, oldest first. Only then all processes are read.

        Of many events a slice is taken in which every speaker has its turn.
        """
        pids = {row.pane_pid: row.pane_id for row in panes if not row.dead}
        here = frozenset(pids)
        # Nobody's for a while, and no pane is new since: not even read again.
        nobodys = {
            name for name, (seen, at_ms) in self._strangers.items() if seen == here and now_ms - at_ms >= AGAIN_MS
        }
        pending = self.spool.pending(now_ms, nobodys)
        known = self.spool.known
        self._strangers = {name: seen for name, seen in self._strangers.items() if name in known}
        self._told = {name: told for name, told in self._told.items() if name in known}
        fresh = in_turn(pending, lambda event: event.speaker)
        self._heard, self._table, self._proofs = [], {}, {}
        self._speakers_behind = set()
        if not fresh:
            return []
        everything = processes.sweep()
        until, looked = time.monotonic() + SLICE_S, 0
        found: list[Word] = []
        for event in fresh:
            told = self._told.get(event.path.name)
            if told is None and (looked >= SLICE or (looked and time.monotonic() > until)):
                self._speakers_behind.add(event.speaker)
                continue
            with self._careful(event):
                for pid, _ in event.ancestors:
                    if pid not in self._table:
                        self._table.update(processes.chain(pid, everything))
                if told:
                    found.append(told.word)
                    continue
                looked += 1
                seen = attested(event.ancestors, event.at_ms, self._table)
                place = pane_of_event(event.ancestors, event.at_ms, self._table, pids)
                if place:
                    found.append(Word(event, *place, proven=seen))
                else:
                    self._strangers[event.path.name] = (here, event.at_ms)
                    if shared_server(event.ancestors, event.at_ms, self._table):
                        found.append(Word(event, None, proven=seen))
        if self.spool.unread:
            counts = Counter(event.speaker for event in pending)
            self._speakers_behind.update(speaker for speaker, number in counts.items() if number >= MANY)
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
                    proc = self._table.get(word.pid)
                    # What is left of an agent that ended is a zombie, or the shell it was started from.
                    if proc is None or proc.zombie or programs.program(proc.comm, proc.argv, proc.exe).shell:
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
        until, looked = time.monotonic() + SLICE_S, 0
        for word in words:
            event = word.event
            told = self._told.get(event.path.name)
            if told and told.owner == _pid(owners.get(told.pane)):
                continue
            if looked and time.monotonic() > until:
                self._speakers_behind.add(event.speaker)
                continue
            looked += 1
            with self._careful(event):
                manifest = catalog.get(event.agent)
                if manifest is None or manifest.hooks is None:
                    continue
                whole = self.spool.whole(event)
                data, key = payload_of(whole), key_of(whole)
                signal = interpret(manifest.hooks, event.event, data, event.at_ms, key, self._guard)
                pane = word.pane
                if pane is None:
                    pane = _speaker(signal, event.agent, owners, sessions)
                    if pane is None or signal is None or not shown(pane, signal.session):
                        continue
                elif not self._proven(word, owners.get(pane), catalog.outlines):
                    signal = None
                if signal is None:
                    self._told.pop(event.path.name, None)
                    self._heard.append(event)
                else:
                    owner = _pid(owners.get(pane))
                    self._told[event.path.name] = _Told(word, pane, owner, signal, time.monotonic())
        return self._whole_stories(owners)

    def _whole_stories(self, owners: Mapping[str, Identity | None]) -> dict[str, list[Signal]]:
        """The signals of panes of which nothing more is to come, or that were waited for long enough."""
        behind = {told.pane for told in self._told.values() if told.word.event.speaker in self._speakers_behind}
        overdue = time.monotonic() - PATIENCE_S
        late = {told.pane for told in self._told.values() if told.since < overdue}
        found: dict[str, list[Signal]] = {}
        for name, told in list(self._told.items()):
            owned = told.pane in owners and told.owner == _pid(owners[told.pane])
            if owned and (told.pane not in behind or told.pane in late):
                del self._told[name]
                self._heard.append(told.word.event)
                found.setdefault(told.pane, []).append(replace(told.signal, proven=told.word.proven))
        return found

    def _proven(self, word: Word, owner: Identity | None, manifests: Sequence[Manifest]) -> bool:
        if owner is None or owner.pid is None or owner.headless or owner.agent != word.event.agent:
            return False
        known = self._proofs.get((word.pid, owner.pid))
        if known is None:
            table = self._table
            if owner.pid not in table:
                table = self._table = {**processes.chain(owner.pid, processes.sweep()), **table}
            known = self._proofs[word.pid, owner.pid] = speaks_for(word.pid, owner.pid, table, manifests)
        return known

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

    @property
    def behind(self) -> bool:
        """Whether there is more than this pass had time for."""
        return bool(self._speakers_behind or self.spool.unread or self._told)


def _speaker(
    signal: Signal | None, agent: str, owners: Mapping[str, Identity | None], sessions: Mapping[str, str]
) -> str | None:
    """The one pane whose own evidence names the conversation of an event that came through a shared server."""
    if signal is None or not signal.session:
        return None
    panes = [pane for pane, session in sessions.items() if session == signal.session]
    owner = owners.get(panes[0]) if len(panes) == 1 else None
    return panes[0] if owner and owner.agent == agent and not owner.headless else None


def _pid(owner: Identity | None) -> int | None:
    return owner.pid if owner else None


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
