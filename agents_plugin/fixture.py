"""Writes the screen of a live pane as a saved screen: text and facts, without what is personal. Reads tmux only."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents_plugin import server
from agents_plugin.core.evidence import PaneRow, Screen
from agents_plugin.core.programs import normalise
from agents_plugin.core.redact import Person, redact
from agents_plugin.cycle import Cycle
from agents_plugin.reach import Refused
from agents_plugin.tmux.captures import capture as capture_panes

_WORD = re.compile(r"[a-z0-9][a-z0-9_.-]*", re.IGNORECASE)


def capture(
    found: server.Target,
    pane: str,
    into: str,
    truth: str,
    what: str,
    *,
    agent: str | None = None,
    words: Sequence[str] = (),
) -> tuple[Path, dict[str, int]]:
    """Write `into/<agent>/<truth>__<what>__w<cols>.txt` and the `.json` beside it, new files only.

    Returns the file and what was replaced, by kind. Raises Refused, `OSError`, and what tmux raises.
    """
    what = "_".join(what.split())
    if not _WORD.fullmatch(what) or "__" in what:
        raise Refused(f"not a name for a file: {what[:40]}", 2)
    cycle = Cycle(found.socket, server_pid=found.pid)
    subjects, snapshot = cycle.observe()
    row = next((row for row in snapshot.panes if row.pane_id == pane), None)
    screen = capture_panes(cycle.runner, [pane]).get(pane)
    if row is None or screen is None:
        raise Refused(f"pane {pane} does not exist")
    known = next((s.identity.agent for s in subjects if s.row.pane_id == pane and s.identity), None)
    agent = agent or known or normalise(row.command) or "agent"
    if not _WORD.fullmatch(agent):
        raise Refused(f"not a name of an agent: {agent[:40]}; give --agent", 2)
    text, facts, counts = neutral(screen, row, person(words))
    folder = Path(into).expanduser() / agent
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{truth}__{what}__w{screen.cols or row.width}.txt"
    head = {"agent": agent, "version": "", "truth": truth, "what": what}
    # The facts first: a text without them would be read as another screen.
    with file.with_suffix(".json").open("x", encoding="utf-8") as out:
        out.write(json.dumps({**head, **facts}, indent=1, ensure_ascii=False) + "\n")
    with file.open("x", encoding="utf-8") as out:
        out.write(text)
    return file, counts


def person(words: Sequence[str] = ()) -> Person:
    """Whose machine this is."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    return Person(str(Path.home()), user, socket.gethostname(), tuple(words))


def neutral(screen: Screen, row: PaneRow, who: Person) -> tuple[str, dict[str, Any], dict[str, int]]:
    """A screen as file contents: text, facts by tmux's names, and how often each kind was replaced."""
    text = redact("\n".join(screen.lines), who)
    title = redact(screen.title, who)
    facts = {
        "cols": screen.cols or row.width,
        "rows": row.height,
        "pane_title": title.text,
        "pane_current_command": redact(row.command, who).text,
        "alternate_on": str(int(bool(screen.alternate))),
        "cursor_x": screen.cursor_x,
        "cursor_y": screen.cursor_y,
        "cursor_flag": str(int(bool(screen.cursor_shown))),
    }
    return text.text + "\n", facts, dict(Counter(text.counts) + Counter(title.counts))
