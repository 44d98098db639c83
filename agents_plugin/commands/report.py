"""`agents report`: a program tells the state of the pane it runs in."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, replace

from agents_plugin import server
from agents_plugin.core.evidence import Claim, PaneRow, Snapshot
from agents_plugin.core.fold import Windows
from agents_plugin.core.memory import believable
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.plan import PaneChange, Published, hidden
from agents_plugin.core.report import WORDS, Report, parse_claim, parse_report, serialise_claim
from agents_plugin.core.reporter import Reporter, reporter
from agents_plugin.core.states import Source
from agents_plugin.core.text_forms import TEXT_CELLS, for_format
from agents_plugin.host import processes
from agents_plugin.host.clock import Clock
from agents_plugin.host.runtime import find_runtime
from agents_plugin.reach import Refused, guarded, pane_argument, runner_of
from agents_plugin.streams import note
from agents_plugin.tmux.contract import report_variable
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.transactions import write

NAME = "report"
HELP = "tell the state of the pane this runs in"

_DETAIL = re.compile(r"[a-z][a-z0-9_]{0,31}")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
#: A pass may write between our look and our transaction; then we look again.
_TRIES = 8


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    words = ", ".join((*WORDS, "none"))
    parser.add_argument("state", metavar="STATE", help=f"one of {words} (clear); with :TIME (epoch s or ms) if known")
    parser.add_argument("-t", dest="pane", metavar="%N", help="the pane; default: the one this runs in")
    parser.add_argument("--agent", metavar="ID", help="name of the agent, when the pane has none yet")
    parser.add_argument("-m", dest="text", metavar="TEXT", help="what it does or asks (32 cells are shown)")
    parser.add_argument("--detail", metavar="D", help="why, in one word: permission, question, rate_limit …")


def run(args: Namespace) -> int:
    """Writes the report in one transaction. 0 also when it is not applied (older than what is known, or not proven to
    come from the pane in `$TMUX_PANE`): standard error says so. 1 without pane or server, 2 for an unknown word."""
    return guarded(NAME, args, lambda found: _run(args, found))


@dataclass(frozen=True)
class _Asked:
    """What was asked for, checked."""

    report: Report
    at_ms: int
    word: str
    pane: str
    named: bool  # the pane was named by the caller, not taken from the environment
    agent: str | None
    text: str
    detail: str | None


def _run(args: Namespace, found: server.Target) -> int:
    asked = _asked(args, found)
    runner = runner_of(found)
    for _ in range(_TRIES):
        snapshot = observe(runner)
        row = next((row for row in snapshot.panes if row.pane_id == asked.pane), None)
        if row is None:
            raise Refused(f"pane {asked.pane} does not exist")
        sender, maker = _sender(row)
        if sender == "outside" and not asked.named:
            return _not_applied(f"this process does not run in pane {asked.pane} of $TMUX_PANE; name it with -t")
        published = Published.of(asked.pane, row.options, snapshot.environment)
        newer = _newer(published, asked.at_ms)
        if newer:
            return _not_applied(f"pane {asked.pane} has a newer claim ({newer.state} by {newer.source})")
        change = _change(asked, published, sender, maker)
        if write(runner, [change]):
            _poke(snapshot)
            return 0
    raise Refused(f"pane {asked.pane} changed {_TRIES} times meanwhile")


def _asked(args: Namespace, found: server.Target) -> _Asked:
    now = Clock().wall_ms()
    report = parse_report(args.state, now)
    if report is None:
        raise Refused(f"not a state: {args.state[:40]} (one of {', '.join((*WORDS, 'none'))})", 2)
    if args.detail is not None and not _DETAIL.fullmatch(args.detail):
        raise Refused("a detail is one word of lower case letters, digits and _", 2)
    if args.agent is not None and not _AGENT.fullmatch(args.agent):
        raise Refused("an agent's name is letters, digits, dots, dashes and _", 2)
    word, _, stamp = args.state.strip().lower().partition(":")
    at = report.claim.at_ms if report.claim else _cleared_at(stamp, now)
    named = args.pane is not None
    pane = pane_argument(args.pane if named else _own_pane(found))
    detail = args.detail or (report.claim.detail if report.claim else None)
    return _Asked(report, at, word, pane, named, args.agent, args.text or "", detail)


def _cleared_at(stamp: str, now: int) -> int:
    timed = parse_report(f"idle:{stamp}" if stamp else "idle", now)
    return timed.claim.at_ms if timed and timed.claim else now


def _own_pane(found: server.Target) -> str:
    around = server.surrounding()
    pane = os.environ.get("TMUX_PANE", "")
    if not pane or around is None or around.socket != found.socket:
        raise Refused("which pane? This does not run in a pane of that server: give -t %N", 2)
    return pane


def _sender(row: PaneRow) -> tuple[str, Reporter | None]:
    """Where this report comes from: `inside` the pane's process tree, `outside`, or `unknown` (nothing can be read);
    and which of the pane's programs made it."""
    from agents_plugin.core.identity import pane_of

    table = processes.sweep()
    me = os.getpid()
    if me not in table or row.pane_pid not in table:
        return "unknown", None
    above = processes.chain(me, table)
    if pane_of(me, above, {row.pane_pid: row.pane_id}):
        return "inside", reporter(me, above, row.pane_pid)
    return "outside", None


def _newer(published: Published, at_ms: int) -> Claim | None:
    """The claim in force, when it is newer than the report. Stamps from a clock that was set back count for nothing."""
    now = Clock().wall_ms()
    waiting = parse_report(published.raw_state, now) if published.foreign else None
    stands = [waiting.claim if waiting and ":" in published.raw_state else None, parse_claim(published.claim)]
    return next((claim for claim in stands if claim and believable(claim.at_ms, now) > at_ms), None)


def _change(asked: _Asked, published: Published, sender: str, maker: Reporter | None) -> PaneChange:
    pane, options = asked.pane, published.options
    text = for_format(asked.text, TEXT_CELLS)
    wanted = {"@agent_status_text": text or None}
    if asked.agent:
        wanted["@agent_name"] = asked.agent
    changed = {name: value for name, value in wanted.items() if (options.get(name) or None) != value}
    claim = _claim(asked, published, maker)
    env = {report_variable(pane): f"{asked.at_ms}.{sender}" if claim else ""}
    again = claim is not None and not changed and _stands(claim, published)
    if claim and (maker or asked.detail or again):
        env[hidden(pane, "CLAIM")] = serialise_claim(claim)
    if not again:
        changed["@agent_state"] = f"{asked.word}:{asked.at_ms}"
    else:
        # Said again: tmux would redraw every client for it, so only the book-keeping moves.
        env[hidden(pane, "V")] = f"{Clock().wall_ms()}.{os.getpid()}"
    return PaneChange(
        pane,
        published.version,
        published.raw_state,
        {name: value for name, value in changed.items() if value is not None},
        tuple(name for name, value in changed.items() if value is None),
        env,
    )


def _claim(asked: _Asked, published: Published, maker: Reporter | None) -> Claim | None:
    """The report as the claim to keep: `@agent_state` has no room for a detail, nor for whose word it is.

    It ends with the program that made it; one from elsewhere with the pane's known agent.
    """
    if asked.report.claim is None:
        return None
    claim = replace(asked.report.claim, detail=asked.detail, why=f"agents report {asked.word}")
    if maker:
        return replace(claim, pid=maker.pid, until_ms=claim.at_ms + Windows().report_ms if maker.typed else None)
    kept, pid = parse_claim(published.claim), parse_int(published.options.get("@agent_pid"))
    unowned = kept is not None and kept.source is Source.REPORT and (kept.pid is None or kept.until_ms is not None)
    return replace(claim, pid=pid if pid is not None and not unowned and processes.alive(pid, None) else None)


def _stands(claim: Claim, published: Published) -> bool:
    """Whether exactly this is published already, as a report's word."""
    options = published.options
    same = not published.foreign and published.raw_state == claim.state and not claim.turn_end
    return same and options.get("@agent_source") == Source.REPORT and options.get("@agent_detail") == claim.detail


def _not_applied(why: str) -> int:
    note(f"Not applied: {why}")
    return 0


def _poke(snapshot: Snapshot) -> None:
    find_runtime(snapshot.server_pid).poke()
