"""Whether the published rollups fit the panes. tmux makes them (tmux/rollup.py); this only notices. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agents_plugin.core.evidence import PaneRow, Snapshot
from agents_plugin.core.report import parse_report
from agents_plugin.core.states import STATE_ORDER, State


def summary(states: Iterable[State]) -> str:
    """`blocked:1 working:2` in the fixed order, zeros left out."""
    counts = Counter(states)
    return " ".join(f"{state}:{counts[state]}" for state in STATE_ORDER if counts[state])


def out_of_step(snapshot: Snapshot) -> bool:
    """Whether a window's or the server's rollup is not what its panes say: a pane died unseen, a user unset it."""
    states = {row.pane_id: state for row in snapshot.panes if (state := _state(row)) is not None}
    if summary(states.values()) != snapshot.globals.get("@agents_summary", ""):
        return not snapshot.unreadable
    windows: dict[str, list[PaneRow]] = {}
    for row in snapshot.panes:
        windows.setdefault(row.window_id, []).append(row)
    for rows in windows.values():
        inside = summary(states[row.pane_id] for row in rows if row.pane_id in states)
        marked = sum(1 for row in rows if row.pane_id in states and row.options.get("@agent_attention"))
        if rows[0].window_summary != inside or rows[0].window_attention != (str(marked) if marked else ""):
            return not snapshot.unreadable
    return False


def _state(row: PaneRow) -> State | None:
    raw = row.options.get("@agent_state", "")
    if not raw:
        return None
    try:
        return State(raw)
    except ValueError:
        report = parse_report(raw, 0)
        return report.claim.state if report and report.claim else None
