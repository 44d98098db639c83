"""Names of the contract: options, aliases, hidden environment; and the formats that read them."""

from __future__ import annotations

import re

from agents_plugin.core.plan import PUBLISHED

#: Pane options, ours and those others write; all are read in every listing.
PANE_OPTIONS = (*PUBLISHED, "@agent_display_name", "@agent_hint", "@agent_ignore", "@agent_mute_until")

WINDOW_SUMMARY = "@agent_summary"
WINDOW_ATTENTION = "@agent_attention_count"
SESSION_SUMMARY = "@agent_session_summary"
SUMMARY = "@agents_summary"
STATUS = "@agents_status"
QUEUE = "@agents_queue"
GLOBAL_OPTIONS = (SUMMARY, STATUS, QUEUE)

#: Index in arrays of tmux (hooks, command-alias) that is ours: high enough to be nobody else's.
INDEX = 4710
_OF_A_PANE = re.compile(r"AGENTS_([0-9]{1,10})_(?:V|CLAIM|PUB|BY)")
ROLLUP_ALIAS = "agents-rollup"


def version_variable(pane_id: str) -> str:
    """Hidden variable with the token of the last accepted write of a pane's tuple."""
    return f"AGENTS_{pane_id[1:]}_V"


def claim_variable(pane_id: str) -> str:
    """Hidden variable with a pane's newest claim."""
    return f"AGENTS_{pane_id[1:]}_CLAIM"


def published_variable(pane_id: str) -> str:
    """Hidden variable with the state we published last."""
    return f"AGENTS_{pane_id[1:]}_PUB"


def said_variable(pane_id: str) -> str:
    """Hidden variable of our hook: `1` when others wrote another token than ours, `<0|1>.<epoch s>` when they wrote the
    same (1: after another one)."""
    return f"AGENTS_{pane_id[1:]}_SAID"


def report_variable(pane_id: str) -> str:
    """Hidden variable of `agents report`: `<ms>.<inside|outside|unknown>`, its last report and whether it came from the
    pane's own processes."""
    return f"AGENTS_{pane_id[1:]}_BY"


def noted_pane(variable: str) -> str | None:
    """The pane a hidden variable of ours is about; None for any other variable."""
    found = _OF_A_PANE.fullmatch(variable)
    return f"%{found[1]}" if found else None


def quote(text: str) -> str:
    """One word of tmux's command language that means exactly `text`, in scripts and in `{ }` blocks.

    Single quotes keep everything but themselves; a line break inside them would still end the line of a script on some
    versions, so line breaks are refused: ValueError. Text of others is cleaned before it comes here.
    """
    if "\n" in text or "\r" in text or "\0" in text:
        raise ValueError("a line break or NUL cannot be quoted")
    return "'" + text.replace("'", "'\\''") + "'"
