"""Files in which an agent keeps a record of its own state. Read-only, bounded; what is not known is no evidence.

Claude Code writes `<config>/sessions/<pid>.json` 10 to 600 ms after every change, Esc and denied prompts included, and
leaves it behind after kill -9. The `.key` file beside it is a secret and never opened.
Copilot CLI writes all its open sessions into one file, and a lock named after the process into the folder of each.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agents_plugin.core.evidence import Claim, Identity
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.states import Source, State
from agents_plugin.host import processes
from agents_plugin.host.files import read_regular

MAX_BYTES = 64 * 1024
#: A file may be stamped a little before the process start that we compute from clock ticks.
START_SLACK_MS = 2_000

Stamp = tuple[int, int, int]  # mtime in ns, size, inode


@dataclass(frozen=True)
class Record:
    """What a record says: the claim (None: nothing we know how to read) and the conversation's id."""

    claim: Claim | None
    session_id: str | None = None
    version: str | None = None
    status: str = ""


@dataclass
class _Cached:
    path: Path
    stamp: Stamp | None = None
    record: Record | None = None
    broken: Stamp | None = None


class Records:
    """The records of the agents at hand. `changed` costs one `stat`, and `read` no more while the file is the same."""

    def __init__(
        self,
        environ_of: Callable[[int, Iterable[str]], Mapping[str, str]] = processes.environ_of,
        start_token: Callable[[int], str] = processes.start_token,
    ) -> None:
        self._environ_of, self._start_token = environ_of, start_token
        self._known: dict[tuple[str, int, float | None], _Cached] = {}

    def changed(self, kind: str, identity: Identity) -> bool:
        """Whether the record is not the one last read (also: appeared, went away)."""
        cached = self._cached(kind, identity)
        return cached is not None and _stamp(cached.path) != cached.stamp

    def read(self, kind: str, identity: Identity) -> Record | None:
        """The record of an agent's process; None when there is none, or it is another process's left-over."""
        cached = self._cached(kind, identity)
        if cached is None:
            return None
        stamp = _stamp(cached.path)
        if stamp == cached.stamp:
            return cached.record
        if stamp is None:
            cached.stamp = cached.record = None
            return None
        data = _load(cached.path)
        if data is None and stamp != cached.broken:
            # Caught in the middle of a rewrite: what was said last holds until the file is read again.
            cached.broken = stamp
            return cached.record
        cached.stamp, cached.broken = stamp, None
        cached.record = self._judge(kind, data, identity, cached) if data is not None else None
        return cached.record

    def keep(self, identities: Iterable[Identity]) -> None:
        """Forget every process but these."""
        alive = {(identity.pid, identity.started) for identity in identities}
        self._known = {key: value for key, value in self._known.items() if key[1:] in alive}

    def _cached(self, kind: str, identity: Identity) -> _Cached | None:
        if kind not in _PATHS or identity.pid is None:
            return None
        key = (kind, identity.pid, identity.started)
        if key not in self._known:
            environment = self._environ_of(identity.pid, ("CLAUDE_CONFIG_DIR", "COPILOT_HOME", "HOME"))
            self._known[key] = _Cached(_PATHS[kind](identity.pid, environment))
        return self._known[key]

    def _judge(self, kind: str, data: Mapping[str, Any], identity: Identity, cached: _Cached) -> Record | None:
        """The record, unless it was left behind by an earlier process with this pid."""
        mtime_ms = cached.stamp[0] // 1_000_000 if cached.stamp else 0
        if kind == COPILOT:
            return copilot_record(data, identity, cached.path.parent, mtime_ms)
        if data.get("pid") != identity.pid or identity.pid is None:
            return None
        if identity.started is not None and mtime_ms < identity.started * 1000 - START_SLACK_MS:
            return None
        start, token = parse_int(data.get("procStart")), parse_int(self._start_token(identity.pid))
        if start is not None and token is not None and start != token:
            return None
        return claude_record(data, mtime_ms)


CLAUDE = "claude-sessions"
_WAITING = {"permission prompt": "permission", "input needed": "question"}


def claude_record_path(pid: int, environment: Mapping[str, str]) -> Path:
    """Where Claude Code with this environment keeps the record of process `pid`."""
    config = environment.get("CLAUDE_CONFIG_DIR")
    base = Path(config) if config else Path(environment.get("HOME") or Path.home()) / ".claude"
    return base / "sessions" / f"{pid}.json"


def claude_record(data: Mapping[str, Any], mtime_ms: int) -> Record:
    """What a Claude Code session record says. `mtime_ms` bounds and replaces its own time of the change."""
    status, reason = data.get("status"), data.get("waitingFor")
    kind = data.get("kind", "interactive")
    at = data.get("statusUpdatedAt")
    at_ms = min(at, mtime_ms) if isinstance(at, int) and not isinstance(at, bool) and at > 0 else mtime_ms
    meaning = _claude_meaning(status, reason) if kind == "interactive" else None
    claim = None
    if meaning:
        why = f"record {status}" + (f" ({reason})" if status == "waiting" else "")
        claim = Claim(meaning[0], at_ms, Source.RECORD, meaning[1], why=why, pid=data.get("pid"))
    return Record(claim, _text(data.get("sessionId")), _text(data.get("version")), _text(status) or "")


def _claude_meaning(status: object, reason: object) -> tuple[State, str | None] | None:
    if status == "busy":
        return State.WORKING, None
    if status == "idle":
        return State.IDLE, None
    if status == "shell":  # the turn is over, a background shell is alive
        return State.IDLE, "background"
    if status == "waiting":
        if reason == "dialog open":  # a menu the user opened while no turn ran
            return State.IDLE, None
        if isinstance(reason, str) and reason in _WAITING:
            return State.BLOCKED, _WAITING[reason]
    return None


COPILOT = "copilot-sessions"
_MAX_SESSIONS = 200


def copilot_record_path(pid: int, environment: Mapping[str, str]) -> Path:
    """Where Copilot CLI with this environment keeps the states of its sessions, `pid`'s among them."""
    home = environment.get("COPILOT_HOME")
    base = Path(home) if home else Path(environment.get("HOME") or Path.home()) / ".copilot"
    return base / "open-sessions-state.json"


def copilot_record(data: Mapping[str, Any], identity: Identity, base: Path, mtime_ms: int) -> Record | None:
    """What the file says of the session that `identity`'s process holds open. A dialog is not in it: that is working,
    or idle when no turn runs (trust). At `/clear` a process holds two sessions for a moment: the newer one counts.
    """
    held: list[tuple[int, str, Mapping[str, Any]]] = []
    for session, entry in list(data.items())[:_MAX_SESSIONS]:
        if not isinstance(entry, dict) or entry.get("schemaVersion") != 1 or "/" in session or session.startswith("."):
            continue
        lock = _stamp(base / "session-state" / session / f"inuse.{identity.pid}.lock")
        opened = _iso_ms(entry.get("openedAt"))
        if lock is None or opened is None:
            continue
        # Left behind by an earlier process with this pid.
        if identity.started is None or lock[0] // 1_000_000 >= identity.started * 1000 - START_SLACK_MS:
            held.append((opened, session, entry))
    if not held:
        return None
    opened, session, entry = max(held, key=lambda one: one[:2])
    working = entry.get("working")
    if not isinstance(working, bool):
        return Record(None, _text(session))
    at_ms = min(_iso_ms(entry.get("refreshedAt")) or mtime_ms, mtime_ms)
    state, status = (State.WORKING, "working") if working else (State.IDLE, "not working")
    return Record(
        Claim(state, at_ms, Source.RECORD, why=f"record {status}", pid=identity.pid), _text(session), status=status
    )


def _iso_ms(value: object) -> int | None:
    """Epoch milliseconds of `2026-11-30T20:14:22.835Z`; None for anything else."""
    try:
        return int(datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


_PATHS: Mapping[str, Callable[[int, Mapping[str, str]], Path]] = {
    CLAUDE: claude_record_path,
    COPILOT: copilot_record_path,
}


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _stamp(path: Path) -> Stamp | None:
    try:
        facts = os.stat(path)  # noqa: PTH116  hot: several times a second
    except (OSError, ValueError):
        return None
    return (facts.st_mtime_ns, facts.st_size, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


def _load(path: Path) -> dict[str, Any] | None:
    raw = read_regular(path, MAX_BYTES + 1)
    if raw is None or len(raw) > MAX_BYTES:
        return None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
