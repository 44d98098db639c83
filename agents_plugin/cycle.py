"""One pass over a tmux server: observe, identify, read, fold, plan, write. At most three tmux processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agents_plugin import recollection, reports
from agents_plugin import settings as options
from agents_plugin.core import attention
from agents_plugin.core.attention import Waiting
from agents_plugin.core.evidence import Claim, Identity, Look, PaneRow, Screen, Snapshot
from agents_plugin.core.fold import Facts, fold
from agents_plugin.core.hooks import session_in
from agents_plugin.core.look import Plan, Seen, plan_look
from agents_plugin.core.plan import Labels, Published, plan
from agents_plugin.core.report import parse_claim
from agents_plugin.core.rollup import out_of_step
from agents_plugin.core.screen import read
from agents_plugin.core.states import Source
from agents_plugin.events import Intake, Voice, new_voice
from agents_plugin.host import processes, threads
from agents_plugin.host.clock import Clock
from agents_plugin.host.faults import Faults
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.host.records import Record, Records
from agents_plugin.host.spool import spool_dir
from agents_plugin.manifest_cache import open_cache
from agents_plugin.manifests import BUNDLED, Catalog, user_directory
from agents_plugin.marks import Stays, alert_due, paced, unmark, waiting
from agents_plugin.owners import Owners
from agents_plugin.situations import situation
from agents_plugin.subject import Mind, Pass, Subject
from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.contract import noted_pane
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.runner import Runner, TmuxError
from agents_plugin.tmux.transactions import write

__all__ = ["Cycle", "Pass", "Subject"]


class Cycle:
    """Passes over one server, with what is remembered between them. `socket` is the server's socket path."""

    def __init__(
        self,
        socket: str,
        *,
        server_pid: int | None = None,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        self.runner = Runner(socket, pid=server_pid, environment=dict(self.environ))
        self.clock = clock or Clock()
        self.catalog = Catalog(cache=open_cache(self.environ))
        self.guard = AlarmGuard()
        #: What one pane, event, record or setting does to its reader stays its own problem; tmux's errors are a pass's.
        self.faults = Faults(TmuxError)
        self.records = Records()
        self.owners = Owners(self.faults, self.guard)
        self.intake = Intake(spool_dir(self.environ), self.faults, self.guard)
        self.settings = options.defaults()
        self._raw_settings: Mapping[str, str] | None = None
        self._restyled = False  # the options changed: the status segment may look different
        self._manifests = self.catalog.outlines
        self._minds: dict[str, Mind] = {}
        self._stays = Stays()
        self._in_step: tuple[object, object] | None = None
        self._listed_ms = 0  # just before the last listing: a quiet window is proven quiet up to here

    def run_pass(self, keep: Callable[[dict[str, Any]], object] | None = None) -> Pass:
        """Observe, decide, write. Raises what the runner raises; then every state stays as it was.

        `keep` stores what events added up to, before they are removed from the spool.
        """
        subjects, snapshot = self.observe(beat=True)
        self.judge(subjects)
        done = self._write(subjects, snapshot)
        if keep and done.heard:
            keep(self.remember())
        self.intake.finish()
        return done

    # observe, identify

    def observe(self, *, beat: bool = False) -> tuple[list[Subject], Snapshot]:
        """Every pane with what is known of it before its screen is read. `beat`: leave the time for our hooks."""
        self._listed_ms = self.clock.wall_ms()
        snapshot = observe(self.runner, self._listed_ms // 1000 if beat else None)
        self._configure(snapshot.settings)
        now, mono = self.clock.wall_ms(), self.clock.mono_ms()
        listed = {row.pane_id for row in snapshot.panes} | set(snapshot.unreadable)
        self._minds = {pane: mind for pane, mind in self._minds.items() if pane in listed}
        published: dict[str, Published] = {}
        names: dict[str, str] = {}
        reporters: dict[str, int | None] = {}
        for row in snapshot.panes:
            with self.faults.item(f"pane {row.pane_id}"):
                found = Published.of(row.pane_id, row.options, snapshot.environment)
                report = reports.live(found, now) if found.foreign or found.claim else None
                if report:
                    names[row.pane_id] = row.options.get("@agent_name", "") or "agent"
                    reporters[row.pane_id] = reports.reporter_of(found, report, row.pane_pid)
                published[row.pane_id] = found
        rows = tuple(row for row in snapshot.panes if row.pane_id in published)
        owners = self._owners(rows, published, names, reporters, mono)
        subjects: list[Subject] = []
        for row in snapshot.panes:
            if row.pane_id not in owners:
                continue
            with self.faults.item(f"pane {row.pane_id}"):
                owner, found = owners[row.pane_id], published[row.pane_id]
                if owner or found.touched or row.pane_id in self._minds:
                    subject = self._subject(row, found, owner, now)
                    subjects += [subject] if subject.relevant else []
        self.records.keep(owner for owner in owners.values() if owner)
        return subjects, snapshot

    def _owners(
        self,
        panes: Sequence[PaneRow],
        published: Mapping[str, Published],
        names: dict[str, str],
        reporters: Mapping[str, int | None],
        mono: int,
    ) -> dict[str, Identity | None]:
        """Who owns each pane, and what the owners have said since the last pass. A pane that fails is left out."""
        for pane, mind in self._minds.items():
            if mind.voice and mind.voice.newcomer and mind.voice.alive:
                names.setdefault(pane, mind.voice.agent)
        owners = self.owners.resolve(panes, self._manifests, names, mono, reporters)
        for pane, mind in self._minds.items():
            if mind.voice and not mind.voice.of(owners.get(pane)):
                mind.voice = None
        words = self.intake.words(panes, self.clock.wall_ms())
        if not words:
            return owners
        newcomers = self.intake.newcomers(words, owners, self.catalog)
        if newcomers:
            found = self.owners.resolve(panes, self._manifests, {**newcomers, **names}, mono, reporters)
            # Without a start time nothing is known of an owner but that it spoke: it has ended, its shell is left.
            owners = {p: o if o and (o.started is not None or p not in newcomers) else None for p, o in found.items()}
        sessions: dict[str, str] = {}
        for pane, owner in owners.items():
            with self.faults.item(f"the conversation of pane {pane}"):
                sessions.update({pane: self._session(published[pane], owner)} if owner else {})
        shown = partial(_shown, {row.pane_id: row.title for row in panes}, owners)
        for pane, signals in self.intake.signals(words, owners, sessions, self.catalog, shown).items():
            owner = owners.get(pane)
            if owner is None:
                continue
            with self.faults.item(f"events of pane {pane}"):
                mind = self._minds.setdefault(pane, Mind())
                kept = parse_claim(published[pane].claim)
                kept = kept if kept and kept.source is Source.HOOK and kept.pid in (None, owner.pid) else None
                voice = mind.voice or new_voice(owner, kept, sessions.get(pane, ""), pane in newcomers)
                mind.voice = voice.hearing(signals)
        return owners

    def _session(self, published: Published, identity: Identity) -> str:
        """The conversation of a pane without its record: by its events, its command line, or as published of it."""
        mind, manifest = self._minds.get(published.pane_id), self.catalog.get(identity.agent)
        if mind and mind.voice and mind.voice.memory.session:
            return mind.voice.memory.session
        options = published.options
        same = options.get("@agent_pid") in (None, str(identity.pid))
        noted = options.get("@agent_session_id", "") if same else ""
        return noted or session_in(manifest.hooks if manifest else None, identity.command, self.guard)

    def _configure(self, raw: Mapping[str, str]) -> None:
        changed = raw != self._raw_settings
        self._restyled = changed and self._raw_settings is not None  # loading the plugin renders by itself
        if changed:
            self._raw_settings = raw
            with self.faults.item("the options"):
                self.settings = options.parse(raw)
            with self.faults.item("@agents-manifests"):
                place = self.settings.manifests
                user = Path(place).expanduser() if place else user_directory(self.environ)
                self.catalog.directories = [Path(BUNDLED), user]
        with self.faults.item("the manifests"):
            if self.catalog.refresh():
                self.guard.forget()
        self._manifests = self.catalog.outlines

    def _subject(self, row: PaneRow, published: Published, identity: Identity | None, now: int) -> Subject:
        manifest = self.catalog.get(identity.agent) if identity else None
        alive = identity is not None and not row.dead
        record = None
        if manifest and manifest.record and identity and identity.pid is not None and not identity.headless:
            with self.faults.item(f"the record of pane {row.pane_id}"):
                record = self.records.read(manifest.record, identity)
        facts = Facts(
            agent_alive=alive,
            foreground=identity.foreground if identity else True,
            stopped=bool(identity and identity.stopped),
            remote=bool(identity and identity.remote) and self.settings.remote == "off",
            ignored="@agent_ignore" in row.options,
            frozen=self.settings.scrolled == "freeze" and row.scroll_position > 0,
        )
        mind = self._minds.setdefault(row.pane_id, Mind())
        claims = self._claims(published, identity, record, mind.voice, now)
        return Subject(row, published, mind, identity, manifest, claims, record, facts)

    def _claims(
        self, published: Published, identity: Identity | None, record: Record | None, voice: Voice | None, now: int
    ) -> tuple[Claim, ...]:
        claims: list[Claim] = []
        kept = parse_claim(published.claim)
        if kept and voice and kept.source is Source.HOOK:
            kept = None  # an event that came late may have taken it back
        if kept and (kept.pid is None or processes.alive(kept.pid, None)):
            claims.append(kept)
        if voice and voice.claim:
            claims.append(voice.claim)
        if record and record.claim:
            claims.append(record.claim)
        return reports.with_report(claims, published, identity, now)

    # read, fold

    def judge(self, subjects: list[Subject]) -> dict[str, Screen]:
        """Read the screens that may have changed, in one batch, and fold. The screens that were read, by pane id."""
        now, mono = self.clock.wall_ms(), self.clock.mono_ms()
        for subject in subjects:
            with self.faults.item(f"pane {subject.row.pane_id}"):
                subject.look_plan = self._plan_look(subject)
        wanted = [s.row.pane_id for s in subjects if s.look_plan and s.look_plan.capture]
        screens = capture(self.runner, wanted)
        for subject in subjects:
            # One that cannot be judged has no decision: nothing is written of it.
            with self.faults.item(f"pane {subject.row.pane_id}"):
                self._look(subject, screens.get(subject.row.pane_id), now)
                self._fold(subject, now, mono)
        return screens

    def _plan_look(self, subject: Subject) -> Plan | None:
        facts, manifest = subject.facts, subject.manifest
        if not manifest or facts.ignored or facts.remote or not facts.agent_alive or subject.row.dead:
            return None
        if facts.stopped:
            subject.mind.seen = None  # drawn over by whoever has the terminal now
            return None
        if not facts.foreground or facts.frozen or (subject.identity and subject.identity.headless):
            return None
        newest = max((claim.at_ms for claim in subject.claims), default=None)
        return plan_look(
            subject.mind.seen,
            subject.row,
            self._listed_ms,
            foreground=facts.foreground,
            rules=manifest,
            claim_at_ms=newest,
            due=subject.mind.due_mono is not None,
        )

    def _look(self, subject: Subject, screen: Screen | None, now: int) -> None:
        planned, manifest = subject.look_plan, subject.manifest
        if planned is None or manifest is None:
            return
        if not planned.capture:
            subject.look = planned.look
            if subject.mind.seen and planned.look:
                subject.mind.seen = replace(subject.mind.seen, look=planned.look)
            return
        if screen is None:
            subject.mind.seen = None
            return
        subject.look = Look(read(manifest, screen, self.guard), now)
        subject.mind.seen = Seen(subject.look, subject.row, subject.facts.foreground, manifest)

    def _fold(self, subject: Subject, now: int, mono: int) -> None:
        previous = subject.published.verdict(subject.identity)
        decision = fold(situation(subject, previous, self.settings, now, mono))
        subject.decision = decision
        subject.mind.memory, subject.mind.due_mono = decision.memory, decision.due_mono
        if decision.verdict:
            marked = subject.published.marked
            subject.mark = attention.mark(previous, decision.verdict, decision.came_from, marked)

    # plan, write

    def _write(self, subjects: list[Subject], snapshot: Snapshot) -> Pass:
        now, mono = self.clock.wall_ms(), self.clock.mono_ms()
        token = f"{now}.{os.getpid()}"
        self._stays.watch(snapshot, mono, now)
        stayed = self._stays.panes(mono) if self.settings.clear_on == "dwell" else frozenset()
        clients = snapshot.clients if self.settings.clear_on == "visit" else self._stays.typing(snapshot)
        alerts: list[Subject] = []
        needy: list[Waiting] = []
        for subject in subjects:
            with self.faults.item(f"pane {subject.row.pane_id}"):
                rings = alert_due(subject, self.settings, snapshot.clients, now)
                unmark(subject, clients, subject.row.pane_id in stayed)
                if subject.decision:
                    decision = paced(subject, subject.decision, mono)
                    labels = self._labels(subject, now if rings else None)
                    subject.change = plan(subject.published, decision, subject.mark, labels, token)
                alerts += [subject] if rings else []
                place = waiting(subject)
                needy += [place] if place else []
        changes = [subject.change for subject in subjects if subject.change]
        queue = "".join(f"{pane} " for pane in attention.queue(needy))
        listed = {row.pane_id for row in snapshot.panes} | set(snapshot.unreadable)
        noted = set(filter(None, map(noted_pane, snapshot.environment)))
        accepted = write(
            self.runner,
            changes,
            queue=None if queue == snapshot.globals.get("@agents_queue", "") else queue,
            forget=noted - listed,
            stale=self._restyled or self._out_of_step(snapshot),
            refused=lambda pane, error: self.faults.note(f"the change of pane {pane}", error),
        )
        dues = [s.mind.due_mono - mono for s in subjects if s.mind.due_mono is not None]
        rung = tuple(subject for subject in alerts if subject.row.pane_id in accepted)
        due = 0 if self.intake.behind else max(0, min(dues)) if dues else None
        return Pass(snapshot, self.settings, tuple(subjects), accepted, rung, due, self.intake.news)

    def _out_of_step(self, snapshot: Snapshot) -> bool:
        """Whether rollups are wrong. A listing like the last one, whose rollups were right, is not counted again."""
        seen = (snapshot.panes, snapshot.globals)
        if seen == self._in_step:
            return False
        wrong = False
        with self.faults.item("the rollups"):
            wrong = out_of_step(snapshot)
        self._in_step = None if wrong else seen
        return wrong

    def _labels(self, subject: Subject, alerted: int | None) -> Labels:
        identity, record = subject.identity, subject.record
        session = record.session_id if record else None
        if session is None and identity:
            session = self._session(subject.published, identity)
        elif session is None:
            session = subject.published.options.get("@agent_session_id")
        voice = subject.mind.voice
        subagents = len(voice.memory.subagents) if voice else 0
        extra: dict[str, str | None] = {"@agent_notified_at": str(alerted)} if alerted else {}
        return Labels(identity.agent if identity else "", identity.pid if identity else None, session, subagents, extra)

    # between passes

    def record_changed(self, last: Pass) -> bool:
        """Whether an agent's own record moved since it was read: one `stat` per agent that keeps one."""
        return any(
            subject.manifest.record and self.records.changed(subject.manifest.record, subject.identity)
            for subject in last.subjects
            if subject.manifest and subject.identity
        )

    def remember(self) -> dict[str, Any]:
        """What one-shot passes hand on to each other, and what a monitor that starts again needs, as JSON data."""
        noted = recollection.dump(self._minds)
        if noted and self.settings.clear_on != "visit":
            noted["stays"] = self._stays.dump()
        return noted

    def recall(self, data: Mapping[str, Any], only_voices: bool = False) -> None:
        """Take up what an earlier pass of another process remembered; `only_voices`: it may be long ago."""
        self._stays.load(data.get("stays"))
        self._minds |= recollection.load(data, self.faults, only_voices)


def _shown(titles: Mapping[str, str], owners: Mapping[str, Identity | None], pane: str, session: str) -> bool:
    """Whether this pane alone of its agent shows the conversation: a command line may be about an older one."""
    owner = owners.get(pane)
    if owner is None or owner.pid is None:
        return False
    name = threads.name_of(session, processes.environ_of(owner.pid, ("CODEX_HOME", "HOME")))
    mates = (one for one, other in owners.items() if other and other.agent == owner.agent)
    return name is not None and [one for one in mates if threads.shows(titles[one], name)] == [pane]
