"""Everything known and decided of one pane, as data: what `agents explain` shows. Reads only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agents_plugin import server
from agents_plugin.core import memory
from agents_plugin.core.evidence import Claim, Identity, PaneRow, Screen, Snapshot
from agents_plugin.core.identity import recognise
from agents_plugin.core.plan import Published
from agents_plugin.core.screen import read, trace
from agents_plugin.cycle import Cycle, Subject
from agents_plugin.host import processes
from agents_plugin.host.records import Record
from agents_plugin.host.runtime import find_runtime
from agents_plugin.reach import Refused
from agents_plugin.rows import SCHEMA

_PROCESSES = 40


def explain(found: server.Target, pane_id: str) -> dict[str, Any]:
    """Judge one pane as a pass would and keep every step. Raises Refused when it is not there, and what tmux raises.

    The monitor's memory is not ours to read: a running dwell or settle is counted from now, except in one-shot mode.
    """
    cycle = Cycle(found.socket, server_pid=found.pid)
    subjects, snapshot = cycle.observe()
    row = next((row for row in snapshot.panes if row.pane_id == pane_id), None)
    if row is None:
        unread = ": tmux's answer could not be read" if pane_id in snapshot.unreadable else " does not exist"
        raise Refused(f"pane {pane_id}{unread}")
    now = cycle.clock.wall_ms()
    published = Published.of(pane_id, row.options, snapshot.environment)
    subject = next((subject for subject in subjects if subject.row.pane_id == pane_id), None)
    data: dict[str, Any] = {"schema": SCHEMA, "pane": _pane(row), "identity": None, "processes": _tree(row, cycle)}
    data["pins"] = {"hint": row.options.get("@agent_hint"), "ignore": "@agent_ignore" in row.options}
    data |= {"manifest": None, "claim": None, "claims": [], "record": None, "screen": None, "winner": None, "rules": []}
    data |= {"facts": None, "trace": [], "decision": None}
    if subject:
        _recall(cycle, subject, snapshot)
        screen = cycle.judge([subject]).get(pane_id)
        data |= _evidence(subject, now) | _screen(cycle, subject, screen) | _decision(subject)
    data["published"] = dict(row.options)
    data["hidden"] = {"version": published.version, "claim": published.claim, "state": published.state}
    return data


def _recall(cycle: Cycle, subject: Subject, snapshot: Snapshot) -> None:
    runtime = find_runtime(snapshot.server_pid, cycle.environ)
    started = int(processes.started_of(snapshot.server_pid) or 0)
    noted = runtime.read_memory(started).get(subject.row.pane_id)
    if isinstance(noted, dict) and runtime.holder() is None:
        subject.mind.memory = memory.load(noted.get("memory"))


def _pane(row: PaneRow) -> dict[str, Any]:
    names = ("session_name", "window_index", "window_name", "pane_index", "pane_pid", "command", "title", "path")
    more = ("width", "height", "dead", "in_mode", "scroll_position", "progress")
    return {"id": row.pane_id, **{name: getattr(row, name) for name in (*names, *more)}}


def _tree(row: PaneRow, cycle: Cycle) -> list[dict[str, Any]]:
    """The processes below the pane, and which of them an agent's manifest knows."""
    found = []
    known = cycle.owners.trusted(cycle.catalog.outlines)
    for proc in list(processes.detailed(row.pane_pid, processes.sweep()).values())[:_PROCESSES]:
        hit = None
        with cycle.faults.item(f"process {proc.pid}"), cycle.guard.limit():
            hit = recognise(proc, known, row.title)
        agent = f"{hit.agent}{' (headless)' if hit.headless else ''}" if hit else None
        facts = {"pid": proc.pid, "ppid": proc.ppid, "group": proc.pgrp, "name": proc.comm}
        found.append({**facts, "command": " ".join(proc.argv)[:400], "agent": agent})
    return found


def _evidence(subject: Subject, now: int) -> dict[str, Any]:
    manifest, facts = subject.manifest, subject.facts
    kept = subject.decision.claim if subject.decision else None
    return {
        "identity": _identity(subject.identity),
        "manifest": {"id": manifest.id, "tier": manifest.tier.value, "origin": manifest.origin} if manifest else None,
        "facts": asdict(facts),
        "claim": _claim(kept, now),
        "claims": [_claim(claim, now) for claim in subject.claims],
        "record": _record(subject.record, now),
    }


def _identity(identity: Identity | None) -> dict[str, Any] | None:
    if identity is None:
        return None
    return {**asdict(identity), "groups": sorted(identity.groups)}


def _claim(claim: Claim | None, now: int) -> dict[str, Any] | None:
    if claim is None:
        return None
    return {
        **asdict(claim),
        "state": claim.state.value,
        "source": claim.source.value,
        "age_ms": max(0, now - claim.at_ms),
    }


def _record(record: Record | None, now: int) -> dict[str, Any] | None:
    if record is None:
        return None
    names = {"status": record.status, "version": record.version, "session_id": record.session_id}
    return {**names, "claim": _claim(record.claim, now)}


def _screen(cycle: Cycle, subject: Subject, screen: Screen | None) -> dict[str, Any]:
    manifest = subject.manifest
    if screen is None or manifest is None:
        return {"screen": None, "why_no_screen": _unread(subject)}
    reading = read(manifest, screen, cycle.guard)
    best = reading.best
    rules = [
        {
            "rule": outcome.rule,
            "state": outcome.state.value if outcome.state else None,
            "detail": outcome.detail,
            "skip": outcome.skip,
            "matched": outcome.matched,
            "failed": outcome.failed or None,
        }
        for outcome in ([] if cycle.guard.barred(manifest) else trace(manifest, screen, cycle.guard))
    ]
    return {
        "screen": {**asdict(screen), "lines": list(screen.lines)},
        "rules": rules,
        "winner": reading.skip or (best.rule if best else None),
        "problems": list(cycle.guard.problems),
    }


def _unread(subject: Subject) -> str:
    """Why the screen is nobody's evidence."""
    facts, identity = subject.facts, subject.identity
    reasons = (
        (facts.ignored, "the pane is ignored"),
        (facts.remote, "remote or nested, and @agents-remote is off"),
        (not facts.agent_alive, "no agent's process is here"),
        (bool(identity and identity.headless), "the agent runs without a person"),
        (not subject.manifest, "no manifest has rules for it"),
        (facts.stopped, "the agent is stopped: nothing on the screen is its own"),
        (not facts.foreground, "another program has the terminal"),
        (facts.frozen, "scrolled back, and @agents-scrolled is freeze"),
    )
    return next((text for holds, text in reasons if holds), "the pane was gone when it was to be read")


def _decision(subject: Subject) -> dict[str, Any]:
    decision = subject.decision
    if decision is None:
        return {}
    verdict = decision.verdict
    shown = {**asdict(verdict), "state": verdict.state.value, "source": verdict.source.value} if verdict else None
    return {"trace": list(decision.trace), "decision": shown}
