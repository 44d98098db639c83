"""Names of Codex conversations: its windows show them in their titles, `session_index.jsonl` says whose they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from agents_plugin.host.files import read_regular

MAX_BYTES = 256 * 1024
#: What Codex writes before the name: a spinner, or that it asks.
_MARK = re.compile(r"^(?:[\u2800-\u28ff] |\[ [!.] \] Action Required \| )")


def name_of(session: str, environment: Mapping[str, str]) -> str | None:
    """What the conversation is called now; None when the end of the index does not say it."""
    home = environment.get("CODEX_HOME") or Path(environment.get("HOME") or Path.home()) / ".codex"
    raw = read_regular(Path(home) / "session_index.jsonl", MAX_BYTES, tail=True) or b""
    for line in reversed(raw.decode("utf-8", "replace").splitlines()):
        if session in line:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and entry.get("id") == session:
                name = entry.get("thread_name")
                return name if isinstance(name, str) and name.strip() else None
    return None


def shows(title: str, name: str) -> bool:
    """Whether a window's title (`name | project`) is that of a conversation called so."""
    title = _MARK.sub("", title)
    return title == name or title.startswith(f"{name} | ")
