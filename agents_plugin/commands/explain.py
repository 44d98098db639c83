"""`agents explain`: how the state of one pane came about, step by step. Read-only."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from agents_plugin import server
from agents_plugin.commands.ls import duration
from agents_plugin.core.text_forms import row_for_person
from agents_plugin.reach import guarded, pane_argument
from agents_plugin.terminal import columns, emit, emit_json

NAME = "explain"
HELP = "say how the state of one pane came about"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    parser.add_argument("-t", dest="pane", metavar="%N", required=True, help="the pane, by its id")
    parser.add_argument("--json", action="store_true", help="everything, original texts, as one object")
    parser.add_argument("--lines", type=int, default=20, metavar="N", help="how many of the lines judged to show")


def run(args: Namespace) -> int:
    """Prints every step. 1 when the pane or the server is not there, 2 when it is no pane id."""
    return guarded(NAME, args, lambda found: _run(args, found))


def _run(args: Namespace, found: server.Target) -> int:
    from agents_plugin.explain import explain

    data = explain(found, pane_argument(args.pane))
    if args.json:
        emit_json(data)
    else:
        room = columns()
        # What failed a rule must be read whole; a row of the screen only has to be recognised.
        lines = _lines(data, max(0, args.lines))
        emit([row_for_person(line, room if line.startswith("    ") else 4 * room) for line in lines])
    return 0


def _lines(data: dict[str, Any], count: int) -> Iterator[str]:
    pane = data["pane"]
    place = f"{pane['session_name']}:{pane['window_index']}.{pane['pane_index']} {pane['window_name']}"
    yield f"pane {pane['id']} in {place}, {pane['width']}x{pane['height']}"
    yield f"  command {pane['command']}, first process {pane['pane_pid']}, in {pane['path']}"
    yield f"  title {pane['title']}"
    pins = data["pins"]
    if pins["hint"]:
        yield f"  @agent_hint {pins['hint']}"
    if pins["ignore"]:
        yield "  @agent_ignore is set: nothing is looked at"
    yield from _identity(data)
    yield from _claims(data)
    yield from _screen(data, count)
    yield "fold"
    yield from (f"  {step}" for step in data["trace"] or ["nothing to judge"])
    verdict = data["decision"]
    yield f"verdict: {_state(verdict)} by {verdict['source']}: {verdict['why']}" if verdict else "verdict: no state"
    yield "published" if data["published"] else "published: nothing"
    yield from (f"  {name} {value}" for name, value in sorted(data["published"].items()))


def _identity(data: dict[str, Any]) -> Iterator[str]:
    identity = data["identity"]
    if identity is None:
        yield "agent: none found"
    elif identity["remote"]:
        yield f"agent: {identity['agent'] or 'none known'}, {identity['remote']} has the terminal (remote or nested)"
    else:
        where = "in the foreground" if identity["foreground"] else "behind another program"
        more = ", without a person (headless)" if identity["headless"] else ""
        yield f"agent: {identity['agent']} by {identity['how']}, process {identity['pid']}, {where}{more}"
        yield f"  {identity['command']}"
    manifest = data["manifest"]
    if manifest:
        yield f"  manifest {manifest['id']} ({manifest['tier']}): {manifest['origin']}"
    if data["processes"]:
        yield "  processes"
        for proc in data["processes"]:
            known = f"   <- {proc['agent']}" if proc["agent"] else ""
            yield f"    {proc['pid']} {proc['name']}{known}   {proc['command']}"
    else:
        yield "  no process of this pane could be read"


def _claims(data: dict[str, Any]) -> Iterator[str]:
    for claim in data["claims"]:
        kept = " (the one that counts)" if claim == data["claim"] else ""
        age = duration(claim["age_ms"])
        yield f"claim: {_state(claim)} by {claim['source']} ({claim['why']}), {age} old{kept}"
    if not data["claims"]:
        yield "claim: none"
    record = data["record"]
    if record:
        age = f", {duration(record['claim']['age_ms'])} old" if record["claim"] else ", says no state we know"
        yield f"record: {record['status'] or 'no status'}{age}, version {record['version']}"


def _screen(data: dict[str, Any], count: int) -> Iterator[str]:
    screen = data["screen"]
    if screen is None:
        yield f"screen: not read{': ' + data['why_no_screen'] if data.get('why_no_screen') else ''}"
        return
    cursor = {True: "shown", False: "hidden", None: "unknown"}[screen["cursor_shown"]]
    yield f"screen: {len(screen['lines'])} lines, cursor {cursor}, alternate {'on' if screen['alternate'] else 'off'}"
    for rule in data["rules"]:
        says = "skip" if rule["skip"] else _state(rule)
        failed = "" if rule["matched"] else f"   failed: {rule['failed']}"
        yield f"  {'+' if rule['matched'] else '-'} {rule['rule']} ({says}){failed}"
    yield f"  winner: {data['winner'] or 'none'}"
    yield from (f"  problem: {problem}" for problem in data["problems"])
    lines = screen["lines"]
    while lines and not lines[-1]:
        lines = lines[:-1]
    yield f"  the last {min(count, len(lines))} lines judged"
    yield from (f"    | {line}" for line in lines[len(lines) - min(count, len(lines)) :])


def _state(row: dict[str, Any]) -> str:
    return f"{row['state']}/{row['detail']}" if row.get("detail") else str(row["state"])
