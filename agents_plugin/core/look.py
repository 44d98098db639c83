"""May this pass skip a pane's capture? Only when the screen is proven unchanged; it then counts as seen now. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents_plugin.core.evidence import Look, PaneRow


@dataclass(frozen=True)
class Seen:
    """The last look at a pane and what was listed of the pane just before the capture."""

    look: Look  # at_ms: when the pane was listed, so before its capture
    row: PaneRow
    foreground: bool
    rules: object  # the manifest that made the reading, itself: an id() is given again


@dataclass(frozen=True)
class Plan:
    """Capture, or judge `look` (the cached reading, true as of now) again; `why` says what forces a capture."""

    capture: bool
    look: Look | None
    why: str


def plan_look(
    seen: Seen | None,
    row: PaneRow,
    now_ms: int,
    *,
    foreground: bool,
    rules: object,
    claim_at_ms: int | None = None,
    due: bool = False,
) -> Plan:
    """Decide for one pane. `now_ms` is when `row` was listed, `due` whether a dwell, settle or decay is running."""
    if seen is None:
        return Plan(True, None, "never seen")
    why = _change(seen, row, now_ms, foreground, rules, claim_at_ms, due)
    if why:
        return Plan(True, None, why)
    return Plan(False, replace(seen.look, at_ms=now_ms), "unchanged since the look")


def _change(
    seen: Seen, row: PaneRow, now_ms: int, foreground: bool, rules: object, claim_at_ms: int | None, due: bool
) -> str:
    old = seen.row
    if rules is not seen.rules:
        return "other rules"
    if foreground != seen.foreground or row.command != old.command or row.pane_pid != old.pane_pid:
        return "another program has the terminal"
    if _drawn(row) != _drawn(old):
        return "size, title or cursor changed"
    # Activity has whole seconds: a look in the very second of the last output may have missed the rest of that second.
    if row.window_activity != old.window_activity or row.window_activity >= seen.look.at_ms // 1000:
        return "output in the window"
    if now_ms < seen.look.at_ms:
        return "the clock went back"
    if claim_at_ms is not None and claim_at_ms >= seen.look.at_ms:
        return "a claim is newer"
    return "a dwell, settle or decay is running" if due else ""


def _drawn(row: PaneRow) -> tuple[object, ...]:
    """What shows on the pane without counting as output (a resize, a title set from outside)."""
    return (row.width, row.height, row.title, row.cursor_x, row.cursor_y, row.cursor_shown, row.alternate, row.progress)
