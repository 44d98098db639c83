"""Many screens in one tmux process: in order, whatever bytes they show, and without those that vanished meanwhile."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

from agents_plugin.core.evidence import Screen
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.regions import MAX_COLS
from agents_plugin.tmux import formats
from agents_plugin.tmux.runner import Runner, is_pane_id

# Read together with the rows, so that cursor and screen belong to the same moment.
_FACTS = ("cursor_x", "cursor_y", "cursor_flag", "alternate_on", "pane_width")


def capture(runner: Runner, panes: Iterable[str]) -> dict[str, Screen]:
    """The live screens of panes by pane id; one that is gone is not in the answer. Raises what the runner raises.

    A capture reads the live grid also while the user scrolls back in copy mode. No process when nothing is asked.
    """
    wanted = [pane for pane in panes if is_pane_id(pane)]
    if not wanted:
        return {}
    nonce = secrets.token_hex(8)
    return parse(runner.source(script(wanted, nonce)).stdout, nonce)


def script(panes: Iterable[str], nonce: str) -> str:
    """One guarded line per pane: a vanished pane costs its line only, where a `;` chain would stop."""
    facts, title = " ".join(f"#{{{name}}}" for name in _FACTS), formats.bounded("pane_title")
    return "".join(
        # Without the percent sign of the id: display-message reads its text through strftime.
        f"if-shell -F -t {pane} '#{{==:#{{pane_id}},{pane}}}' {{ "
        f"display-message -p -t {pane} '{nonce} {pane[1:]} {facts} {title}{nonce}' ; "
        f"capture-pane -p -t {pane} }}\n"
        for pane in panes
    )


def parse(answer: str, nonce: str) -> dict[str, Screen]:
    """Screens from the answer to `script`. A title may hold line breaks: it ends at the nonce."""
    screens: dict[str, Screen] = {}
    parts = answer.split(nonce)
    # Before the first mark nothing is ours; then head and rows alternate.
    for head, rows in zip(parts[1::2], parts[2::2], strict=False):
        found = re.match(r" ([0-9]+) ([0-9]*) ([0-9]*) ([01]?) ([01]?) ([0-9]*) (.*)", head, re.DOTALL)
        if found is None:
            continue
        number, x, y, shown, alternate, cols, title = found.groups()
        screens[f"%{number}"] = Screen(
            lines=_lines(rows),
            title=_printable(formats.plain(title)),
            cursor_x=parse_int(x),
            cursor_y=parse_int(y),
            cursor_shown=shown == "1" if shown else None,
            alternate=alternate == "1" if alternate else None,
            cols=parse_int(cols),
        )
    return screens


def _lines(rows: str) -> tuple[str, ...]:
    # Only line feeds separate rows: str.splitlines would also break at characters an agent may draw.
    lines = _printable(rows).removeprefix("\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    # What rules look at; a cell may hold a dozen characters.
    return tuple(line[:MAX_COLS].rstrip() for line in lines)


def _printable(text: str) -> str:
    """Bytes that are no UTF-8 become U+FFFD: rules match text, not bytes."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
