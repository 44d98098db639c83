"""`agents screen`: what the screen rules alone say of saved screens."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents_plugin.core.evidence import Screen
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read, trace
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.manifests import BUNDLED, Catalog, user_directory
from agents_plugin.saved import facts_beside, screen_of

NAME = "screen"
HELP = "say what the screen rules read from saved screens"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--agent", metavar="ID", help="manifest to use (default: the agent named in FILE's .json)")
    parser.add_argument("--title", metavar="T", help="pane title (default: the one in FILE's .json)")
    parser.add_argument("--manifests", metavar="DIR", help="directory of own manifests")
    parser.add_argument("--json", action="store_true", help="one object a line, with every rule")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="text of a screen; facts may be beside it in FILE.json"
    )


def run(args: Namespace) -> int:
    """Prints one line per file. 1 when a file could not be read, 2 when no manifest is known for one."""
    catalog = Catalog((BUNDLED, args.manifests or user_directory()))
    for problem in catalog.problems:
        print(f"agents screen: {problem}", file=sys.stderr)
    guard = AlarmGuard()
    status = 0
    for name in args.files:
        try:
            screen, facts = _load(name)
        except OSError as error:
            print(f"agents screen: {name}: {error.strerror or error}", file=sys.stderr)
            status = status or 1
            continue
        agent = args.agent or facts.get("agent")
        manifest = catalog.find(agent) if isinstance(agent, str) else None
        if manifest is None:
            said = f"there is no manifest for {agent}" if agent else "no agent is named beside it; give --agent"
            print(f"agents screen: {name}: {said}", file=sys.stderr)
            status = 2
            continue
        if args.title is not None:
            screen = replace(screen, title=args.title)
        row = judged(manifest, screen, name, guard)
        print(json.dumps(row, ensure_ascii=False) if args.json else _plain(row))
    for problem in guard.problems:
        print(f"agents screen: {problem}", file=sys.stderr)
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
        return screen_of(sys.stdin.buffer.read().decode("utf-8", "replace")), {}
    path = Path(name)
    text = path.read_bytes().decode("utf-8", "replace")
    facts = facts_beside(path)
    return screen_of(text, facts), facts


def _plain(row: dict[str, Any]) -> str:
    state = row["state"] or ("skip" if row["skip"] else "-")
    verdict = f"{state}/{row['detail']}" if row["detail"] else state
    return f"{verdict:22} {row['rule'] or '-':24} {row['agent']:10} {row['file']}"
