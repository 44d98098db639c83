"""Recorded events of real agents, with what their driver did in between: what was true, and when it can be checked."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_plugin.core.hooks import Hooks, Signal, interpret
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.states import State
from agents_plugin.manifests import Catalog
from tests.support import ROOT

LOGS = sorted((ROOT / "fixtures" / "hooks").glob("*.jsonl.gz"))
CATALOG = Catalog()
#: How long after an action its state must stand at the latest.
LATEST_MS = 3_500
#: The driver saw a change a little later than the agent told of it.
SLACK_MS = 50

#: What an action of a driver was, by its first match.
_KINDS = [
    (
        "nothing",
        r"^NO |allowed background bash|^hooks trusted|^now idle|start screen|first TUI|plan mode on|menu closed",
    ),
    ("gone", r"kill|^/exit|exit /|^exit|^/quit|process gone|SIGTERM|ctrl-c twice|^## cmd|pane_dead|^killed"),
    ("start", r"^launch|^start|session started|SECOND SESSION|third session|second TUI|^resumed|^claude --resume"),
    ("trust", r"^trust dialog"),
    ("dialog", r"(dialog|question|permission|limit menu|plan review) on screen"),
    ("answer", r"^(answered|allowed|answer: allow|answer allow|answer question|plan approved)"),
    ("deny", r"^(denied|deny|answer: deny|answer deny|question dismissed|plan rejected|plan: Esc|C-c$|choose Stop)"),
    ("interrupt", r"^(Esc|Ctrl-C|interrupt)"),
    ("submit", r"^(submitted|prompt .*|send: please|bg job)"),
    (
        "over",
        r"over|^idle after|(end of|after) slow|cancelled on screen|^ready|trusted, idle|prompt ready|error (on|shown)",
    ),
]
#: Where the driver was wrong about the agent: (log, action) by the start of its text and its second.
_WRONG = {
    ("gemini", 105),  # typed while the last turn still ran
    ("gemini", 145),  # waited for a dialog in vain and went on
    ("gemini", 147),
    ("gemini", 161),  # queued behind a turn
    ("gemini", 185),
    ("kilo", 35),  # a second dialog asks for the reason
    ("kilo", 43),  # typed into that dialog
    ("kilo", 92),  # waited for a question in vain
    ("kilo", 94),
    ("copilot", 75),  # nothing had been asked
    ("copilot", 83),  # the key was not taken
    ("copilot", 144),
}

#: pi's log has no driver's lines; its extension was told of what the person did.
_BY_EVENT = {"input": "submit", "ui_prompt_start": "dialog", "ui_prompt_end": "answer", "agent_settled": "over"}


@dataclass(frozen=True)
class Entry:
    """A line of a log. `t_ms` counts from its first line; `kind` is of an action, `payload` of an event."""

    t_ms: int
    text: str
    kind: str = ""
    payload: Any = None

    @property
    def event(self) -> bool:
        """Whether the agent fired this."""
        return not self.kind


@dataclass(frozen=True)
class Check:
    """What must be true at a time, and the action that made it so."""

    t_ms: int
    state: State
    action: Entry


def agent_of(path: Path) -> str:
    """The manifest a log is of."""
    return re.sub(r"-\d.*", "", path.name.split(".jsonl")[0])


def manifest_of(path: Path) -> Manifest:
    """That manifest."""
    found = CATALOG.get(agent_of(path))
    assert found and found.hooks, CATALOG.problems
    return found


def hooks_of(path: Path) -> Hooks:
    """Its hooks."""
    hooks = manifest_of(path).hooks
    assert hooks
    return hooks


def load(path: Path) -> list[Entry]:
    """A log's lines in order of time."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    start = rows[0]["t_ms"]
    entries = [
        Entry(row["t_ms"] - start, row["action"], kind_of(agent_of(path), row["t_ms"] - start, row["action"]))
        if "action" in row
        else Entry(row["t_ms"] - start, row["event"], "", row["payload"])
        for row in rows
    ]
    if not any(entry.kind for entry in entries):
        entries += [Entry(e.t_ms, e.text, kind) for e in entries if (kind := _BY_EVENT.get(e.text))]
    return sorted(entries, key=lambda entry: (entry.t_ms, bool(entry.kind)))


def kind_of(agent: str, t_ms: int, action: str) -> str:
    """What an action was; `nothing` for what changes no state."""
    if (agent, t_ms // 1000) in _WRONG:
        return "nothing"
    return next((kind for kind, pattern in _KINDS if re.search(pattern, action)), "nothing")


def signal_of(hooks: Hooks, entry: Entry, number: int = 0) -> Signal | None:
    """What an event says."""
    return interpret(hooks, entry.text, entry.payload, entry.t_ms, f"{number}")


def checks(path: Path) -> Iterator[Check]:
    """Every moment at which the truth is known: after each action, before whatever changes it."""
    entries, hooks = load(path), hooks_of(path)
    meant = [signal_of(hooks, entry) if entry.event else None for entry in entries]
    for place, entry in enumerate(entries):
        if entry.kind not in ("dialog", "answer", "deny", "interrupt", "submit", "over"):
            continue
        later = range(place + 1, len(entries))
        action_at = next((entries[i].t_ms for i in later if entries[i].kind not in ("", "nothing")), 1 << 60)
        if entry.kind in ("deny", "interrupt", "over", "dialog"):
            state = State.BLOCKED if entry.kind == "dialog" else State.IDLE
            busy = next((entries[i].t_ms for i in later if (s := meant[i]) and s.state is State.WORKING), 1 << 60)
            at = min(action_at, busy, entry.t_ms + LATEST_MS) - SLACK_MS
            if at - entry.t_ms >= (0 if state is State.BLOCKED else 2_500):
                yield Check(at, state, entry)
            continue
        moved = next(
            (
                entries[i].t_ms
                for i in later
                if (s := meant[i]) and s.state in (State.IDLE, State.BLOCKED) and not s.actor
            ),
            1 << 60,
        )
        at = min(action_at, moved, entry.t_ms + LATEST_MS) - SLACK_MS
        if entry.kind == "submit":
            said = next((entries[i].t_ms for i in later if (s := meant[i]) and s.turn == "start"), 1 << 60)
            if said < at:
                yield Check(at, State.WORKING, entry)
        elif at - entry.t_ms >= 2_500:
            yield Check(at, State.WORKING, entry)
