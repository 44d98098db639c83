"""`agents screen`: what the screen rules alone say of saved screens; saves the screen of a pane as such a file."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents_plugin import server
from agents_plugin.core.evidence import Screen
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read, trace
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.manifest_cache import open_cache
from agents_plugin.manifests import BUNDLED, Catalog, own_directory
from agents_plugin.reach import Refused, guarded, pane_argument
from agents_plugin.saved import MAX_BYTES, facts_beside, screen_of
from agents_plugin.streams import complain, note
from agents_plugin.terminal import emit, emit_json

NAME = "screen"
TRUTHS = ("working", "blocked", "idle", "unknown", "dead")
HELP = "say what the screen rules read from saved screens; save a pane's screen"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--agent", metavar="ID", help="manifest to use (default: the agent named in FILE's .json)")
    parser.add_argument("--title", metavar="T", help="pane title (default: the one in FILE's .json)")
    parser.add_argument("--manifests", metavar="DIR", help="directory of own manifests")
    parser.add_argument("--json", action="store_true", help="one object a line, with every rule")
    parser.add_argument("--why", action="store_true", help="also list every rule, and what failed it first")
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="text of a screen; facts may be beside it in FILE.json"
    )
    saving = parser.add_argument_group("saving the screen of a pane, without what is personal")
    server.configure(parser)
    saving.add_argument("--capture", action="store_true", help="write the screen of the pane -t and its facts, read it")
    saving.add_argument("-t", dest="pane", metavar="%N", help="the pane")
    saving.add_argument("--truth", choices=TRUTHS, default="unknown", help="what the agent does (default %(default)s)")
    saving.add_argument("--what", metavar="WORDS", default="screen", help="what it shows, for the file's name")
    saving.add_argument(
        "--into", metavar="DIR", default=".", help="where to; a folder of the agent's name is made there"
    )
    saving.add_argument("--hide", metavar="TEXT", action="append", default=[], help="replace this too; may be repeated")


def run(args: Namespace) -> int:
    """Prints one line per file. 1 when a file could not be read or written, 2 when no manifest is known for one, or
    the directory of manifests cannot be listed."""
    if args.capture:
        return guarded(NAME, args, lambda found: _capture(args, found))
    if not args.files or args.pane:
        complain(NAME, "give files, or --capture -t %N")
        return 2
    return _read(args)


def _capture(args: Namespace, found: server.Target) -> int:
    from agents_plugin.fixture import capture

    if args.files or not args.pane:
        raise Refused("--capture takes a pane, -t %N, and no files", 2)
    pane = pane_argument(args.pane)
    try:
        file, counts = capture(found, pane, args.into, args.truth, args.what, agent=args.agent, words=args.hide)
    except OSError as error:
        raise Refused(f"{error.filename or args.into}: {error.strerror or error}") from None
    replaced = ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in counts.items())
    note(f"{file}: replaced {replaced or 'nothing'}; look it through before you give it away")
    args.files = [str(file)]
    status = _read(args)
    return 0 if status == 2 else status  # a screen may well be saved before there is a manifest


def _read(args: Namespace) -> int:
    try:
        own = own_directory(args.manifests)
    except OSError as error:
        complain(NAME, f"--manifests {args.manifests}: {error.strerror or error}")
        return 2
    catalog = Catalog((BUNDLED, own), open_cache(os.environ))
    for problem in catalog.problems:
        complain(NAME, problem)
    guard = AlarmGuard()
    status = 0
    for name in args.files:
        try:
            screen, facts = _load(name)
        except OSError as error:
            complain(NAME, f"{name}: {error.strerror or error}")
            status = status or 1
            continue
        agent = args.agent or facts.get("agent")
        manifest = catalog.find(agent) if isinstance(agent, str) else None
        if manifest is None:
            said = f"there is no manifest for {agent}" if agent else "no agent is named beside it; give --agent"
            complain(NAME, f"{name}: {said}")
            status = 2
            continue
        if args.title is not None:
            screen = replace(screen, title=args.title)
        row = judged(manifest, screen, name, guard)
        if args.json:
            emit_json(row)
        else:
            emit([_plain(row), *(_why(row) if args.why else ())])
    for problem in guard.problems:
        complain(NAME, problem)
    return status


def judged(manifest: Manifest, screen: Screen, file: str, guard: AlarmGuard) -> dict[str, Any]:
    """One screen as the JSON row: verdict, the rule that gave it, and every rule with what failed."""
    reading = read(manifest, screen, guard)
    best = reading.best
    return {
        "schema": 1,
        "file": file,
        "agent": manifest.id,
        "state": str(best.state) if best else None,
        "detail": best.detail if best else None,
        "rule": reading.skip or (best.rule if best else None),
        "skip": reading.skip is not None,
        "text": best.text if best else "",
        "rules": [
            {
                "rule": outcome.rule,
                "state": str(outcome.state) if outcome.state else None,
                "detail": outcome.detail,
                "skip": outcome.skip,
                "matched": outcome.matched,
                "failed": outcome.failed or None,
            }
            for outcome in ([] if guard.barred(manifest) else trace(manifest, screen, guard))
        ],
    }


def _load(name: str) -> tuple[Screen, dict[str, Any]]:
    if name == "-":
        return screen_of(sys.stdin.buffer.read(MAX_BYTES).decode("utf-8", "replace")), {}
    path = Path(name)
    with path.open("rb") as stream:  # a pipe too: somebody named it
        text = stream.read(MAX_BYTES).decode("utf-8", "replace")
    facts = facts_beside(path)
    return screen_of(text, facts), facts


def _plain(row: dict[str, Any]) -> str:
    state = row["state"] or ("skip" if row["skip"] else "-")
    verdict = f"{state}/{row['detail']}" if row["detail"] else state
    return f"{verdict:22} {row['rule'] or '-':24} {row['agent']:10} {row['file']}"


def _why(row: dict[str, Any]) -> list[str]:
    lines = []
    for rule in row["rules"]:
        says = "skip" if rule["skip"] else f"{rule['state']}/{rule['detail']}" if rule["detail"] else rule["state"]
        failed = "" if rule["matched"] else f"   failed: {rule['failed']}"
        lines.append(f"  {'+' if rule['matched'] else '-'} {rule['rule']} ({says}){failed}")
    return lines
