"""`agents status`: the status segment as plain text, or the counts behind it."""

from __future__ import annotations

import socket
from argparse import ArgumentParser, Namespace

from agents_plugin import server
from agents_plugin.core.plan import Published
from agents_plugin.core.text_forms import for_person
from agents_plugin.host.clock import Clock
from agents_plugin.reach import guarded, runner_of
from agents_plugin.rows import SCHEMA, Pane, agent_rows, counts, unstyled
from agents_plugin.settings import GLYPHS
from agents_plugin.terminal import emit, emit_json, unicode_output
from agents_plugin.tmux.contract import QUEUE, STATUS
from agents_plugin.tmux.listing import observe

NAME = "status"
HELP = "print the status segment as plain text"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    parser.add_argument("--json", action="store_true", help="how many panes are in each state, and the queue")


def run(args: Namespace) -> int:
    """Prints what is published: an empty line when there is no agent. 1 when the server cannot be asked."""
    return guarded(NAME, args, lambda found: _run(args, found))


def _run(args: Namespace, found: server.Target) -> int:
    snapshot = observe(runner_of(found))
    segment = for_person(unstyled(snapshot.globals.get(STATUS, "")))
    if not args.json:
        ascii_marks = {ord(mark): ascii_mark for mark, ascii_mark in GLYPHS.values()}
        emit([segment if unicode_output() else segment.translate(ascii_marks)])
        return 0
    panes = [Pane(row, Published.of(row.pane_id, row.options, snapshot.environment)) for row in snapshot.panes]
    rows = agent_rows(panes, Clock().wall_ms(), socket.gethostname(), found.socket)
    queue = snapshot.globals.get(QUEUE, "").split()
    emit_json({"schema": SCHEMA, **counts(rows), "queue": queue, "status": segment})
    return 0
