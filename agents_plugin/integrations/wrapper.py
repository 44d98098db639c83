"""The one stable file agents' configurations call: it outlives plugin updates, and without a plugin it does nothing.

It lives at `${XDG_DATA_HOME:-~/.local/share}/agents.tmux/bin/agent-hook`. Its path is also how our entries are known.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

#: Where every path of the wrapper ends, wherever it is.
TAIL = "/agents.tmux/bin/agent-hook"
#: Agents that parse what a hook prints: to them nothing is said by an empty mapping.
SPEAKING = frozenset({"gemini", "qwen"})
_HERE = Path(__file__).resolve().parent.parent.parent

_PATH = r"((?:'[^']*'|\"'\"|[\w@%+=:,./-])+)"
_ENTRY = re.compile(
    rf"(?:\[ ! -x {_PATH} \] \|\| exec |\[ -x {_PATH} \] && exec )?"
    rf"{_PATH} ([a-z0-9-]+)(?: ([A-Za-z]+))?(?:; echo '\{{\}}')?"
)
_BAKED = re.compile(r"^agents_hook=(.*)$", re.MULTILINE)

# Read, not started: a second shell would cost as much as everything else.
_TEXT = """#!/bin/sh
# Agents call this, so that their configuration outlives the plugin. Written by `agents install`.
agents_hook={hook}
if [ -f "$agents_hook" ] && [ -r "$agents_hook" ]; then . "$agents_hook"; fi
# No plugin: the agent must not notice. What it sends is read, what it waits for is said.
case ${{1:-}} in gemini | qwen) echo '{{}}' 2>/dev/null ;; esac
for last in "$@"; do :; done
case ${{last:-}} in '{{'*) ;; *) [ -t 0 ] || cat >/dev/null 2>&1 ;; esac
exit 0
"""


def path(environ: Mapping[str, str]) -> Path:
    """Where the wrapper is or will be. The same directory as in `scripts/lib.sh`."""
    base = environ.get("XDG_DATA_HOME", "")
    home = environ.get("HOME", "")
    place = Path(base) if base.startswith("/") else Path(home or "/nonexistent") / ".local/share"
    return place / "agents.tmux/bin/agent-hook"


def plugin_home() -> Path:
    """Where the plugin is, as it was called: a resolved link may point into a version that an update removes."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main:
        called = Path(main)
        if called.is_absolute() and called.parts[-2:] == ("agents_plugin", "__main__.py"):
            return called.parent.parent
    return _HERE


def text(home: Path) -> str:
    """The wrapper of the plugin in `home`."""
    return _TEXT.format(hook=shlex.quote(str(home / "scripts/agent-hook")))


def target(content: str) -> Path | None:
    """The script a wrapper runs; None when it is none of ours."""
    found = _BAKED.search(content)
    try:
        words = shlex.split(found[1]) if found else []
    except ValueError:
        return None
    return Path(words[0]) if len(words) == 1 else None


def command(hook: Path, agent: str, event: str) -> str:
    """The shell command of an entry. It says nothing and succeeds also when the wrapper is gone; any shell reads it."""
    quoted = shlex.quote(str(hook))
    if agent in SPEAKING:
        return f"[ -x {quoted} ] && exec {quoted} {agent} {event}; echo '{{}}'"
    return f"[ ! -x {quoted} ] || exec {quoted} {agent} {event}"


def is_ours(said: object, agent: str) -> bool:
    """Whether a command is an entry of ours for this agent, of whatever place or version; never a part of another's."""
    if not isinstance(said, str):
        return False
    found = _ENTRY.fullmatch(said.strip())
    if not found or found[4] != agent:
        return False
    try:
        return "".join(shlex.split(found[3])).endswith(TAIL)
    except ValueError:
        return False
