"""`agents doctor`: what works, what does not, and what to do about it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from agents_plugin import __version__, server
from agents_plugin.core.text_forms import for_person
from agents_plugin.doctor import machine
from agents_plugin.doctor.finding import Finding, Level, careful, problem, warn
from agents_plugin.integrations.status import diagnose
from agents_plugin.rows import SCHEMA
from agents_plugin.terminal import coloured, colourful, emit, emit_json

NAME = "doctor"
HELP = "check the plugin and everything around it"

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.PROBLEM: "red"}
#: Seconds one question to tmux may take here: a doctor that hangs helps nobody.
_DEADLINE = 1.5


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    parser.add_argument("--json", action="store_true", help='{"schema":1,"findings":[{level, topic, text}]}')


def run(args: Namespace) -> int:
    """Prints one finding a line. 0 unless something is broken, then 1."""
    found = server.target(args)
    findings = list(examine(found))
    broken = any(finding.level is Level.PROBLEM for finding in findings)
    if args.json:
        rows = [{"level": f.level.value, "topic": f.topic, "text": for_person(f.text, 1000)} for f in findings]
        emit_json({"schema": SCHEMA, "version": __version__, "broken": broken, "findings": rows})
    else:
        emit([_line(finding) for finding in findings])
    return int(broken)


def examine(found: server.Target) -> Iterator[Finding]:
    """Every finding, the machine's first. Nothing is written."""
    environ = dict(os.environ)
    yield from careful("plugin", machine.plugin)
    yield from careful("python", lambda: machine.python(environ))
    yield from careful("runtime", lambda: machine.directories(environ))
    yield from careful("processes", machine.reading_processes)
    yield from careful("agents", lambda: diagnose(environ))
    yield from careful("server", lambda: _server(found, environ))


def _server(found: server.Target, environ: dict[str, str]) -> Iterator[Finding]:
    from agents_plugin.doctor import tmux

    reached = list(tmux.reach(found.socket))
    yield from reached
    if any(finding.level is Level.PROBLEM for finding in reached):
        yield from careful("tmux", tmux.client)
        yield from careful("manifests", lambda: machine.manifests("", environ))
        return
    yield from _inside(found, environ)


def _inside(found: server.Target, environ: dict[str, str]) -> Iterator[Finding]:
    from agents_plugin import settings as options
    from agents_plugin.doctor import tmux
    from agents_plugin.host.runtime import find_runtime
    from agents_plugin.reach import told
    from agents_plugin.tmux.listing import observe
    from agents_plugin.tmux.probe import installed
    from agents_plugin.tmux.runner import Runner, TmuxError

    runner = Runner(found.socket, pid=found.pid, deadline=_DEADLINE)
    try:
        snapshot = observe(runner)
        ids = {place for row in snapshot.panes for place in (row.session_id, row.window_id, row.pane_id)}
        have = installed(runner, sorted(ids))
    except TmuxError as error:
        yield problem("server", told(error, found.socket))
        yield from careful("tmux", tmux.client)
        return
    settings = options.parse(snapshot.settings)
    runtime = find_runtime(snapshot.server_pid, environ)
    yield from careful("tmux", lambda: tmux.versions(snapshot))
    yield from careful("options", lambda: tmux.options(snapshot, settings, have))
    yield from careful("manifests", lambda: machine.manifests(settings.manifests, environ))
    yield from careful("hooks", lambda: tmux.hooks(have))
    yield from careful("keys", lambda: tmux.keys(have, settings))
    yield from careful("status", lambda: tmux.status_line(have))
    yield from careful("monitor", lambda: tmux.monitor(runtime, settings, have, snapshot))
    yield from careful("noted", lambda: tmux.noted(runtime))
    yield from careful("panes", lambda: _panes(found))


def _panes(found: server.Target) -> Iterator[Finding]:
    from agents_plugin.cycle import Cycle
    from agents_plugin.doctor import panes

    cycle = Cycle(found.socket, server_pid=found.pid)
    cycle.runner.deadline = _DEADLINE
    subjects, snapshot = cycle.observe()
    yield from panes.panes(subjects, snapshot, cycle.clock.wall_ms())
    yield from (warn("input", text) for text in cycle.faults.problems)


def _line(finding: Finding) -> str:
    word = finding.level.value.ljust(7)
    shown = coloured(word, _COLOURS[finding.level]) if colourful() else word
    return f"{shown}  {for_person(f'{finding.topic}: {finding.text}', 300)}"
