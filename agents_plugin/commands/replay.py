"""`agents replay`: the whole fold over a recording, in virtual time."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from agents_plugin.core.fold import Windows
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.manifest_cache import open_cache
from agents_plugin.manifests import BUNDLED, Catalog, own_directory
from agents_plugin.score import SLACK_MS, Score, score
from agents_plugin.streams import complain
from agents_plugin.tape import PASS_MS, Replay, Tape, TapeError, Transition, open_tape
from agents_plugin.terminal import emit, emit_json

NAME = "replay"
HELP = "run detection over a recording and print every transition it would publish"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("tape", metavar="TAPE", help="JSON lines, also .gz: {t_ms, title, screen}, events, truths")
    parser.add_argument("--agent", metavar="ID", required=True, help="manifest to use")
    parser.add_argument("--manifests", metavar="DIR", help="directory of own manifests")
    parser.add_argument("--json", action="store_true", help="one object a line; the score last, when truth is there")
    parser.add_argument("--dwell", type=float, metavar="SECONDS", help="dwell (default 3, or the manifest's own)")
    parser.add_argument("--every", type=float, metavar="SECONDS", default=PASS_MS / 1000, help="time between passes")
    parser.add_argument(
        "--turn-slack",
        type=float,
        metavar="SECONDS",
        default=SLACK_MS / 1000,
        help="how late truth may be at the end of a turn (default %(default)s)",
    )


def run(args: Namespace) -> int:
    """Prints the transitions. 1 when the tape cannot be read, 2 when no manifest is known, or their directory cannot be
    listed."""
    try:
        own = own_directory(args.manifests)
    except OSError as error:
        complain(NAME, f"--manifests {args.manifests}: {error.strerror or error}")
        return 2
    catalog = Catalog((BUNDLED, own), open_cache(os.environ))
    manifest = catalog.find(args.agent)
    if manifest is None:
        complain(NAME, f"there is no manifest for {args.agent}")
        return 2
    if args.every <= 0:
        complain(NAME, "--every must be more than 0")
        return 2
    try:
        tape = open_tape(Path(args.tape))
    except (OSError, TapeError) as error:
        complain(NAME, f"{args.tape}: {error}")
        return 1
    windows = Windows()
    if args.dwell is not None:
        windows = replace(windows, dwell_ms=round(args.dwell * 1000))
        manifest = replace(manifest, dwell_ms=None)
    guard = AlarmGuard()
    replay = Replay(manifest, tape, windows, guard, round(args.every * 1000))
    transitions = []
    for transition in replay.run():
        transitions.append(transition)
        if args.json:
            emit_json(transition.row())
        else:
            emit([_plain(transition, tape)])
    if tape.truths:
        dwell = windows.dwell_ms if manifest.dwell_ms is None else manifest.dwell_ms
        result = score(tape, transitions, dwell, turn_slack_ms=round(args.turn_slack * 1000))
        if args.json:
            emit_json({"score": result.row()})
        else:
            emit(_summary(result))
    for problem in guard.problems:
        complain(NAME, problem)
    return 0


def _plain(transition: Transition, tape: Tape) -> str:
    verdict = transition.verdict
    state = f"{verdict.state}/{verdict.detail}" if verdict.detail else str(verdict.state)
    seconds = (transition.t_ms - tape.frames[0].t_ms) / 1000
    return f"{seconds:8.2f}  {state:22} {verdict.source!s:8} {'!' if transition.attention else ' '} {verdict.why}"


def _summary(result: Score) -> list[str]:
    judged = ", ".join(f"{count} {state}" for state, count in sorted(result.judged.items())) or "nothing"
    return [
        f"score: {judged} judged, {len(result.missed)} missed, {len(result.false_blocked)} false blocked",
        *(f"  missed {row}" for row in result.missed),
        *(f"  false blocked {row}" for row in result.false_blocked),
    ]
