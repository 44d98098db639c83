"""How it stands with each agent, and what doctor says about it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agents_plugin.doctor.finding import Finding, ok, problem, warn
from agents_plugin.host.directories import state_dir
from agents_plugin.host.heard import last
from agents_plugin.integrations import files, wrapper
from agents_plugin.integrations.agents import AGENTS, Agent, Env
from agents_plugin.integrations.hooksjson import HooksJson
from agents_plugin.integrations.jsontext import TextError, parse
from agents_plugin.integrations.tomltext import NotifyToml
from agents_plugin.integrations.work import Refusal, parts_of

INSTALLED = "installed"
OUTDATED = "out of date"
ABSENT = "not installed"
NONE = "no integration"
UNREADABLE = "cannot read"

#: Commands that report to tmux from the same hooks; two voices for one pane contradict each other. One that names tmux
#: does, and programs known to: what a script does inside nobody can tell.
_OTHERS = re.compile(r"tmux|@agent_|herdr|agent-deck|agent-indicator|agent-status|\b(?:tma|tuios)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Status:
    """One agent. `heard`: when its last event was taken (epoch seconds), None for never.

    `why`: what makes it out of date or unreadable. `written`: when the newest of its files was written.
    """

    agent: str
    state: str
    present: bool = False
    files: tuple[str, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    heard: float | None = None
    written: float | None = None


def overview(environ: Env, known: Iterable[str] = ()) -> list[Status]:
    """Every agent with an integration, then those of `known` (manifest ids) without one."""
    rows = [status(agent, environ) for agent in AGENTS.values()]
    return rows + [Status(ident, NONE) for ident in sorted(set(known) - AGENTS.keys())]


def status(agent: Agent, environ: Env) -> Status:
    """How it stands with one agent. Reads files only."""
    ours, outdated, notes, doubled, written = False, "", [], [], []
    parts = parts_of(agent, environ)
    names = tuple(str(part.path) for part in parts)
    present = agent.present(environ)
    for part in parts:
        try:
            found = files.read(part.path)
            text = found.text
            if text is not None and part.format.has_ours(text):
                ours = True
                written.append(_time(part.path) or 0.0)
            if part.format.install(text, files.read_backup(part.path)) != text:
                outdated = outdated or f"{part.path} is not as it should be"
        except (files.FileError, TextError) as error:
            return Status(
                agent.id, UNREADABLE, present, names, str(Refusal(part.path, error)), heard=_heard(agent, environ)
            )
        if isinstance(part.format, HooksJson) and text:
            doubled += [said for said in part.format.foreign(text) if _OTHERS.search(said)]
            notes += _switches(agent.id, part.format, text)
        if isinstance(part.format, NotifyToml) and part.format.taken(text):
            notes.append(f"{part.path}: notify is yours and stays; turns are known by the hooks alone")
        if isinstance(part.format, NotifyToml) and ours and not _trusted(text or "", parts[0].path):
            notes.append("Codex does not trust the hooks yet, so it does not run them: accept them in /hooks")
    state = ABSENT if not ours else OUTDATED if outdated else INSTALLED
    why = outdated if state == OUTDATED else ""
    if ours and not why:
        why = _wrapper_fault(environ)
        state = OUTDATED if why else state
    heard = _heard(agent, environ)
    return Status(agent.id, state, present, names, why, tuple(notes), tuple(doubled), heard, max(written, default=None))


def findings(rows: Iterable[Status], now: float, panes_missing: Iterable[str] = ()) -> Iterator[Finding]:
    """What doctor says. `panes_missing`: agents whose events came without TMUX_PANE. Pure."""
    bare = set(panes_missing)
    for row in rows:
        if row.state == NONE or (row.state == ABSENT and not row.present):
            continue
        said = f"{row.agent}: "
        if row.state == UNREADABLE:
            yield warn("agents", f"{said}cannot read {row.why}")
        elif row.state == ABSENT:
            yield ok("agents", f"{said}its hooks are not installed (agents install {row.agent}); its screen is read")
        elif row.state == OUTDATED:
            yield warn("agents", f"{said}out of date: {row.why}; run agents install {row.agent}")
        elif row.heard is None:
            yield warn("agents", f"{said}installed, but never heard from: {_likely(row)}")
        elif row.written is not None and row.heard < row.written:
            yield warn("agents", f"{said}installed, not heard from since: {_likely(row)}")
        else:
            yield ok("agents", f"{said}installed, last heard from {_ago(now - row.heard)} ago")
        for command in row.doubled:
            yield warn("agents", f"{said}another tool's hook reports to tmux too: {command}")
        for note in row.notes:
            yield (problem if "turned off" in note and row.state == INSTALLED else ok)("agents", f"{said}{note}")
        if row.agent in bare:
            yield warn("agents", f"{said}its events come without TMUX_PANE: only its processes tell the pane")


def diagnose(environ: Env) -> Iterator[Finding]:
    """Doctor's part: looks, then says."""
    yield from findings(overview(environ), time.time(), missing_panes(environ))


def missing_panes(environ: Env) -> list[str]:
    """Agents with an event waiting in the spool that came out of tmux without TMUX_PANE."""
    from agents_plugin.host.spool import Spool, spool_dir

    waiting = Spool(spool_dir(environ)).pending(int(time.time() * 1000))
    return sorted(
        {event.agent for event in waiting if event.variables.get("TMUX") and not event.variables.get("TMUX_PANE")}
    )


def _likely(row: Status) -> str:
    if row.agent == "codex":
        return "Codex runs hooks only after you trust them (/hooks), and a shared daemon only after it was started anew"
    if row.agent == "pi":
        return "sessions that were running need /reload"
    return "sessions that were running before do not use it; start a new one"


def _switches(ident: str, form: HooksJson, text: str) -> list[str]:
    """Switches of the user's that keep all hooks from running."""
    if not text.removeprefix("\ufeff").strip():
        return []
    data = parse(text, form.comments).data()
    if ident in ("claude", "qwen") and data.get("disableAllHooks") is True:
        return ["all hooks are turned off by disableAllHooks"]
    config = data.get("hooksConfig")
    if ident == "gemini" and isinstance(config, dict) and config.get("enabled") is False:
        return ["all hooks are turned off by hooksConfig.enabled"]
    return []


def _trusted(config: str, hooks: Path) -> bool:
    """Whether Codex trusts hooks of that file: config.toml then has tables `[hooks.state."FILE:event:0:0"]`."""
    return f"{hooks}:" in config


def _wrapper_fault(environ: Env) -> str:
    """What is wrong with the wrapper; empty when it is as it should be."""
    place = wrapper.path(environ)
    try:
        text = files.read(place).text
    except files.FileError as error:
        return f"{place}: {error}"
    if text is None:
        return f"{place} is gone"
    if not os.access(place, os.X_OK):
        return f"{place} is not executable"
    if text == wrapper.text(wrapper.plugin_home()):
        return ""
    target = wrapper.target(text)
    if target is not None and not target.is_file():
        return f"{place} calls {target}, which is gone"
    return f"{place} is of another version or calls another copy of the plugin"


def _heard(agent: Agent, environ: Env) -> float | None:
    state = state_dir(environ)
    return last(state / "heard" if state else None, agent.id)


def _time(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _ago(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def as_json(row: Status) -> Mapping[str, object]:
    """For `agents integrations --json`. Times are epoch milliseconds."""
    return {
        "agent": row.agent,
        "state": row.state,
        "present": row.present,
        "files": list(row.files),
        "why": row.why or None,
        "notes": list(row.notes),
        "heard_at": None if row.heard is None else int(row.heard * 1000),
    }
