"""`agents install`: lets agents tell what they do, by entries in their own configuration; `--remove` takes them out."""

from __future__ import annotations

import difflib
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from agents_plugin.core.text_forms import row_for_person
from agents_plugin.integrations.agents import AGENTS, Agent
from agents_plugin.integrations.work import (
    Change,
    Refusal,
    changes,
    installed_anywhere,
    named,
    perform,
    prepare_wrapper,
)
from agents_plugin.streams import complain
from agents_plugin.terminal import coloured, colourful, emit

NAME = "install"
HELP = "let agents tell what they do, by hooks in their configuration"

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("--all", action="store_true", help="every agent that is used here (with --remove: all of ours)")
    parser.add_argument("--remove", action="store_true", help="take our entries out again")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")


def run(args: Namespace) -> int:
    """Shows each change and asks. 0 done or nothing to do, 1 refused by a file or a person, 2 asked wrongly."""
    chosen, unknown = named(args.agents, _aliases(args.agents))
    if unknown:
        known = ", ".join(AGENTS)
        return _failed(f"no integration for {', '.join(unknown)}; there are: {known}", 2, args)
    if bool(chosen) == args.all:
        return _failed(f"name agents ({', '.join(AGENTS)}), or --all", 2, args)
    home = os.environ.get("HOME", "")
    if home and not Path(home).is_dir():
        return _failed(f"the home directory {home} is not there", 1, args)
    if args.all:
        environ = os.environ
        chosen = installed_anywhere(environ) if args.remove else [a for a in AGENTS.values() if a.present(environ)]
        if not chosen:
            emit(["nothing of ours is in any agent's configuration" if args.remove else "no agent was found here"])
            return 0
    return max(_one(agent, args) for agent in chosen)


def take_out(agents: Sequence[Agent]) -> Iterator[str]:
    """Remove our entries without asking; what was done, or why not."""
    for agent in agents:
        try:
            for change in changes(agent, os.environ, remove=True):
                if perform(change):
                    yield f"removed our entries from {change.part.path}"
        except Refusal as refusal:
            yield f"could not remove our entries from {refusal}"


def _one(agent: Agent, args: Namespace) -> int:
    try:
        todo = [change for change in changes(agent, os.environ, remove=args.remove) if change.needed]
        for change in todo:
            emit(list(_diff(change)))
        if args.dry_run:
            emit([] if todo else [f"{agent.id}: nothing to change"])
            return 0
        if todo and not args.yes:
            code = _ask(agent, args)
            if code:
                return code
        fresh = not args.remove and prepare_wrapper(os.environ)
        # The last file of Codex is its own; should it refuse, what was written before stays and works.
        written = [change for change in todo if perform(change)]
    except Refusal as refusal:
        return _failed(f"{agent.id}: {refusal}; it is as it was", 1, args)
    emit(list(_said(agent, args.remove, written, fresh)))
    return 0


def _ask(agent: Agent, args: Namespace) -> int:
    """0 when a person says yes."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _failed("not a terminal, so nobody can be asked: nothing was written; --yes writes it", 2, args)
    try:
        answer = input(f"{agent.id}: change this? [y/N] ")
    except (EOFError, KeyboardInterrupt):
        emit([""])
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        return 0
    emit([f"{agent.id}: nothing was written"])
    return 1


def _said(agent: Agent, remove: bool, written: Sequence[Change], fresh: bool) -> Iterator[str]:
    if remove:
        yield f"{agent.id}: removed" if written else f"{agent.id}: nothing of ours is there"
        return
    if not written:
        yield f"{agent.id}: " + ("up to date again" if fresh else "installed already")
        return
    yield f"{agent.id}: installed"
    for line in agent.after:
        yield f"  {line}"


def _diff(change: Change) -> Iterator[str]:
    path = str(change.part.path)
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    names = ("/dev/null" if change.before is None else path, "/dev/null" if change.after is None else path)
    shown = False
    for line in difflib.unified_diff(before, after, *names, n=2, lineterm=""):
        shown = True
        text = row_for_person(line.replace("\t", "    "), 1000)
        yield coloured(text, _COLOURS[line[0]]) if colourful() and line[:1] in _COLOURS else text
    if not shown:
        yield f"{path}: only its blanks change"


def _aliases(names: Sequence[str]) -> dict[str, str]:
    """What names mean that are no ids, by the manifests."""
    rest = [name for name in names if name not in AGENTS]
    if not rest:
        return {}
    from agents_plugin.manifests import Catalog

    catalog = Catalog()
    found = {name: catalog.find(name) for name in rest}
    return {name: manifest.id for name, manifest in found.items() if manifest}


def _failed(message: str, code: int, args: Namespace) -> int:
    complain("install --remove" if args.remove else NAME, message)
    return code
