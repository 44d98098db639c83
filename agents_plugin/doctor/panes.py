"""Doctor's look at the panes: who is known and how well, who is left alone and why, and stamps nobody stands for."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from agents_plugin.commands.ls import out_of_scope, pane_of
from agents_plugin.core.evidence import Snapshot
from agents_plugin.cycle import Subject
from agents_plugin.doctor.finding import Finding, ok, warn
from agents_plugin.rows import agent_rows, pending_report, published_state


def panes(subjects: list[Subject], snapshot: Snapshot, now_ms: int) -> Iterator[Finding]:
    """One line for every agent pane, and for every other that has a story."""
    rows = {row.pane: row for row in agent_rows((pane_of(s, snapshot) for s in subjects), now_ms, "", "")}
    yield ok("panes", f"{len(snapshot.panes)} on {socket.gethostname()}, {len(rows)} with an agent")
    by_id = {subject.row.pane_id: subject for subject in subjects}
    for row in rows.values():
        manifest = by_id[row.pane].manifest
        rules = f"{manifest.tier} rules" if manifest else "no manifest"
        state = f"{row.state}/{row.detail}" if row.detail else row.state
        evidence = f"by {row.source}, {row.confidence}" if row.source else "nothing published yet"
        if row.identity is None:
            yield warn("panes", f"{row.pane} {row.agent}: {state} is published, but the agent is gone")
        else:
            yield ok("panes", f"{row.pane} {row.agent}: {state} {evidence}; found by {row.identity}, {rules}")
    for subject in subjects:
        if subject.row.pane_id not in rows:
            yield from _other(subject)
    ignored = [r.pane_id for r in snapshot.panes if "@agent_ignore" in r.options and r.pane_id not in by_id]
    yield from (ok("panes", f"{pane} is left alone: ignored (@agent_ignore)") for pane in ignored)
    for pane in snapshot.unreadable:
        yield warn("panes", f"{pane}: tmux's answer about it could not be read; its state stays as it is")
    for listed in snapshot.panes:
        raw = listed.options.get("@agent_state", "")
        subject_or_none = by_id.get(listed.pane_id)
        if raw and listed.pane_id not in rows and subject_or_none is None:
            yield warn("panes", f"{listed.pane_id}: @agent_state is {raw[:40]!r}, which is no state")


def _other(subject: Subject) -> Iterator[Finding]:
    pane, why = subject.row.pane_id, out_of_scope(subject)
    stamped = published_state(subject.published) or pending_report(subject.published, 0)
    if stamped:
        yield warn("panes", f"{pane}: a state is published, but {why or 'no agent is there'}; it goes at the next pass")
    elif why:
        yield ok("panes", f"{pane} is left alone: {why}")
