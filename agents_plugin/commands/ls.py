"""`agents ls`: every agent there is, those who need you first."""

from __future__ import annotations

import socket
from argparse import ArgumentParser, Namespace
from typing import Any

from agents_plugin import server
from agents_plugin.core.evidence import PaneRow, Snapshot
from agents_plugin.core.plan import Published
from agents_plugin.core.text_forms import for_person
from agents_plugin.cycle import Cycle, Subject
from agents_plugin.reach import guarded
from agents_plugin.rows import SCHEMA, AgentRow, Pane, agent_rows, published_state, task
from agents_plugin.settings import GLYPHS, Settings
from agents_plugin.terminal import coloured, colourful, columns, emit, emit_json, table, unicode_output

NAME = "ls"
HELP = "list the agents, those who need you first"

_HEAD = ("", "STATE", "AGENT", "PANE", "WHERE", "FOR", "WHAT")
_CAPS = (2, 28, 16, 6, 28, 5)
_MUTED = " (muted)"
_STATE_CELLS = 20


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    parser.add_argument("--json", action="store_true", help='{"schema":1,"agents":[…]}: original texts, epoch ms')
    parser.add_argument("--all", action="store_true", help="also the panes without an agent, and why")


def run(args: Namespace) -> int:
    """Prints what is published now: one listing, nothing is written. 1 when the server cannot be asked."""
    return guarded(NAME, args, lambda found: _run(args, found))


def _run(args: Namespace, found: server.Target) -> int:
    cycle = Cycle(found.socket, server_pid=found.pid)
    subjects, snapshot = cycle.observe()
    now = cycle.clock.wall_ms()
    panes = [pane_of(subject, snapshot) for subject in subjects]
    rows = agent_rows(panes, now, socket.gethostname(), found.socket)
    others = _others(subjects, snapshot, {row.pane for row in rows}) if args.all else []
    if args.json:
        data: dict[str, Any] = {"schema": SCHEMA, "agents": [row.json() for row in rows]}
        emit_json({**data, "others": others} if args.all else data)
        return 0
    emit(_lines(rows, cycle.settings, now) if rows else ["no agent in any pane"])
    if others:
        emit(["", *_other_lines(others)])
    return 0


def pane_of(subject: Subject, snapshot: Snapshot) -> Pane:
    """A pane of a pass as rows want it."""
    identity, record = subject.identity, subject.record
    return Pane(
        subject.row,
        subject.published,
        identity if subject.facts.agent_alive else None,
        subject.manifest.tier if subject.manifest else None,
        record.session_id if record else None,
        snapshot.environment,
        subject.manifest.resume if subject.manifest else None,
        out_of_scope(subject),
    )


def out_of_scope(subject: Subject) -> str:
    """Why a pane counts as no agent's; empty when nothing speaks against it."""
    identity = subject.identity
    if subject.facts.ignored:
        return "ignored (@agent_ignore)"
    if subject.facts.remote and identity:
        return f"remote or nested: {identity.remote}"
    if identity and identity.headless:
        return f"{identity.agent} runs without a person (headless)"
    if subject.row.dead:
        return "its program has ended"
    return ""


def _others(subjects: list[Subject], snapshot: Snapshot, shown: set[str]) -> list[dict[str, Any]]:
    """Every pane that is no agent's, and why."""
    known = {subject.row.pane_id: subject for subject in subjects}
    rows = [_other(row, known.get(row.pane_id)) for row in snapshot.panes if row.pane_id not in shown]
    return rows + [{"pane": pane, "why": "tmux's answer could not be read"} for pane in snapshot.unreadable]


def _other(row: PaneRow, subject: Subject | None) -> dict[str, Any]:
    why = out_of_scope(subject) if subject else ""
    if not why and "@agent_ignore" in row.options:
        why = "ignored (@agent_ignore)"
    if not why and row.dead:
        why = "its program has ended"
    if not why and row.options.get("@agent_state") and published_state(Published.of(row.pane_id, row.options, {})):
        why = "a state is published, nobody is there"
    texts = {"window_name": row.window_name, "title": row.title, "command": row.command, "dir": row.path}
    clean = {key: text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for key, text in texts.items()}
    place = {"pane": row.pane_id, "session": row.session_name, "window": row.window_index, "index": row.pane_index}
    return {**place, **clean, "why": why or "no agent"}


def _lines(rows: list[AgentRow], settings: Settings, now_ms: int) -> list[str]:
    ascii_only = settings.ascii or not unicode_output()
    lines = table([_HEAD, *(_cells(row, settings, ascii_only, now_ms) for row in rows)], columns(), _CAPS)
    if colourful():
        for row, cells in zip(rows, lines[1:], strict=True):
            colour = settings.colours["done" if row.done else row.state]
            cells[:2] = [coloured(cell, colour) for cell in cells[:2]]
    return ["  ".join(cells) for cells in lines]


def _cells(row: AgentRow, settings: Settings, ascii_only: bool, now_ms: int) -> list[str]:
    shown = "done" if row.done else row.state
    mark = GLYPHS[shown][1] if ascii_only else for_person(settings.glyphs[shown], 2)
    state = f"{shown}/{row.detail}" if row.detail else shown
    name = row.display_name if row.display_name and row.source == "report" else row.agent
    what = row.status_text or (task(row.title) if row.title != row.host else "")
    text = f"{row.dir.rstrip('/').rsplit('/', 1)[-1]}: {what}" if what and row.dir else what or row.dir
    where = f"{row.session}:{row.window}.{row.index} {row.window_name}"
    age = "-" if row.since_ms is None else duration(now_ms - row.since_ms)
    # What is cut is the detail, which is anybody's word: never that the pane is silent.
    state = for_person(state, _STATE_CELLS) + (_MUTED if row.muted else "")
    return [mark, state, *(for_person(cell) for cell in (name, row.pane, where, age, text))]


def duration(ms: int) -> str:
    """A span of time in at most four characters; a clock that was set back counts as none."""
    seconds = max(0, ms) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _other_lines(others: list[dict[str, Any]]) -> list[str]:
    cells = [("PANE", "WHERE", "COMMAND", "WHY")]
    for row in others:
        where = f"{row['session']}:{row['window']}.{row['index']}" if "session" in row else "-"
        cells.append((row["pane"], for_person(where), for_person(row.get("command", "")), for_person(row["why"])))
    return ["  ".join(line) for line in table(cells, columns(), (6, 28, 20))]
