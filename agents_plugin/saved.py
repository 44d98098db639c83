"""Screens from files and recordings: text plus the facts that were noted beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents_plugin.core.evidence import Screen
from agents_plugin.core.numbers import parse_int
from agents_plugin.host.files import load_regular

#: More than any screen.
MAX_BYTES = 8 * 1024 * 1024


def screen_of(text: str, facts: Mapping[str, Any] | None = None) -> Screen:
    """A screen from its text and facts named as tmux names them (`pane_title` or `title`, `cursor_flag`, `cursor_x`,
    `cursor_y`, `alternate_on`, `cols`); numbers may be texts, missing facts stay unknown."""
    facts = facts or {}
    title = facts.get("pane_title", facts.get("title"))
    return Screen(
        lines=tuple(line.rstrip() for line in text.rstrip("\n").split("\n")),
        title=title if isinstance(title, str) else "",
        cursor_x=parse_int(facts.get("cursor_x")),
        cursor_y=parse_int(facts.get("cursor_y")),
        cursor_shown=_flag(facts.get("cursor_flag")),
        alternate=_flag(facts.get("alternate_on")),
        cols=parse_int(facts.get("cols", facts.get("pane_width"))),
    )


def facts_beside(path: Path) -> dict[str, Any]:
    """The facts in the `.json` beside a saved screen; empty when there is none or it holds no mapping."""
    try:
        facts = json.loads(load_regular(path.with_suffix(".json"), MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def load_screen(path: Path) -> tuple[Screen, dict[str, Any]]:
    """A saved screen and the facts beside it. Raises `OSError`; bytes that are not UTF-8 become replacement marks."""
    facts = facts_beside(path)
    return screen_of(load_regular(path, MAX_BYTES).decode("utf-8", "replace"), facts), facts


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    number = parse_int(value)
    return None if number is None else number != 0
