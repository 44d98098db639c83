"""The one table of our options: name, default, kind, what it does; and the typed settings read from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from agents_plugin.core.numbers import parse_float
from agents_plugin.core.text import strip_controls
from agents_plugin.core.text_forms import for_person

STATES = ("blocked", "working", "idle", "done", "unknown")


class Kind(str, Enum):
    """How a value is read."""

    FLAG = "on|off"
    SECONDS = "seconds"
    CHOICE = "choice"
    WORDS = "words"
    TEXT = "text"
    KEY = "key"
    COLOUR = "colour"
    MARK = "mark"


@dataclass(frozen=True)
class Option:
    """One row of the table. `choices` are the allowed words of CHOICE and WORDS."""

    name: str
    default: str
    kind: Kind
    doc: str
    choices: tuple[str, ...] = ()


def _look() -> tuple[Option, ...]:
    colours = {"blocked": "red", "working": "yellow", "idle": "default", "done": "green", "unknown": "default"}
    glyphs = tuple(
        Option(f"@agents-glyph-{state}", "", Kind.MARK, f"the mark of {state}, instead of `{uni}` or ascii `{plain}`")
        for state, (uni, plain) in GLYPHS.items()
    )
    return glyphs + tuple(
        Option(f"@agents-colour-{state}", colour, Kind.COLOUR, f"the colour of {state} in the status line")
        for state, colour in colours.items()
    )


#: Unicode and ASCII mark of each shown state: one code point, one cell, a shape of its own.
GLYPHS = {"blocked": ("▲", "!"), "working": ("●", "*"), "idle": ("○", "o"), "done": ("■", "#"), "unknown": ("□", "?")}

OPTIONS: tuple[Option, ...] = (
    Option("@agents-enabled", "on", Kind.FLAG, "`off` takes everything away and runs nothing; `on` brings it back"),
    Option(
        "@agents-monitor", "on", Kind.FLAG, "keep one warm helper per tmux server; `off` runs one pass per status tick"
    ),
    Option("@agents-python", "", Kind.TEXT, "a Python (3.10 or newer with libtmux, psutil, pyyaml) to use"),
    Option(
        "@agents-manifests", "", Kind.TEXT, "directory of your own manifests; default `~/.config/agents.tmux/manifests`"
    ),
    Option("@agents-jump-key", "j", Kind.KEY, "after the prefix: go to the agent that needs you; `none` binds nothing"),
    Option("@agents-back-key", "J", Kind.KEY, "after the prefix: back to where you were"),
    Option("@agents-list-key", "A", Kind.KEY, "after the prefix: choose among the agents"),
    Option("@agents-jump-fallback-key", "M-j", Kind.KEY, "after the prefix: jump, when the jump key is taken by you"),
    Option("@agents-dwell", "3", Kind.SECONDS, "how long a working agent must look idle before it is idle"),
    Option("@agents-settle", "2", Kind.SECONDS, "age of a claim before proven chrome on the screen may overrule it"),
    Option("@agents-hook-decay", "60", Kind.SECONDS, "age of a claim before other chrome may overrule it"),
    Option("@agents-blocked-decay", "300", Kind.SECONDS, "the same for a claim that says blocked"),
    Option(
        "@agents-scrolled",
        "live",
        Kind.CHOICE,
        "while you scroll back: `live` goes on reading the live screen, `freeze` holds the state",
        ("live", "freeze"),
    ),
    Option(
        "@agents-background",
        "on",
        Kind.FLAG,
        "live background subagents keep a finished turn working; `off` makes it idle",
    ),
    Option(
        "@agents-clear-on",
        "visit",
        Kind.CHOICE,
        "what takes an attention mark down: arriving, staying for a moment, or typing there",
        ("visit", "dwell", "input"),
    ),
    Option(
        "@agents-remote",
        "off",
        Kind.CHOICE,
        "panes that run ssh, docker or another tmux: `off` says nothing, `screen` reads those that have `@agent_hint`",
        ("off", "screen"),
    ),
    Option("@agents-alert", "", Kind.WORDS, "what happens once per blocked run: `bell`", ("bell",)),
    Option("@agents-alert-command", "", Kind.TEXT, "a command run once per blocked run"),
    Option("@agents-glyphs", "unicode", Kind.CHOICE, "the set of marks", ("unicode", "ascii")),
    Option(
        "@agents-order", "blocked working done", Kind.WORDS, "which states the status segment shows, in order", STATES
    ),
    *_look(),
)

BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}

#: Stands for a value that was not read: nothing that tmux could hold.
TOO_LONG = "\0"

_NUMBER = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
#: A colour as tmux writes it, and attributes behind it: `red`, `colour208`, `#ff8700`, `red,bold`.
COLOUR = r"([A-Za-z][A-Za-z0-9]*|[#]" + "[0-9A-Fa-f]" * 6 + ")(,[a-z][a-z-]*)*"
_COLOUR = re.compile(COLOUR)
#: Cells a mark may have.
MARK_CELLS = 16
_TRUE = {"on", "1", "yes", "true"}
_FALSE = {"off", "0", "no", "false"}


@dataclass(frozen=True)
class Settings:
    """The options as values. Durations are milliseconds. `problems` are readable lines for doctor."""

    enabled: bool
    monitor: bool
    python: str
    manifests: str
    jump_key: str
    back_key: str
    list_key: str
    jump_fallback_key: str
    dwell_ms: int
    settle_ms: int
    hook_decay_ms: int
    blocked_decay_ms: int
    scrolled: str
    background: bool
    clear_on: str
    remote: str
    alert: tuple[str, ...]
    alert_command: str
    ascii: bool
    order: tuple[str, ...]
    glyphs: Mapping[str, str]
    colours: Mapping[str, str]
    problems: tuple[str, ...] = ()


def parse(values: Mapping[str, str]) -> Settings:
    """Settings from options as tmux holds them; an absent, empty or wrong value counts as its default.

    A wrong value and an unknown `@agents-` name each leave a line in `problems`.
    """
    problems = [
        f"{strip_controls(name)[:60]} is not an option of ours"
        for name in values
        if name.startswith("@agents-") and name not in BY_NAME
    ]

    def read(name: str) -> str:
        option = BY_NAME[name]
        value = values.get(name, "").strip()
        if not value:
            return option.default
        if value == TOO_LONG:
            problems.append(f"{name} is too long; using {option.default!r}")
            return option.default
        problem = _problem(option, value)
        if problem:
            problems.append(f"{name} is {strip_controls(value)[:40]!r}, {problem}; using {option.default!r}")
            return option.default
        return value

    ascii_only = read("@agents-glyphs") == "ascii"
    return Settings(
        enabled=_flag(read("@agents-enabled")),
        monitor=_flag(read("@agents-monitor")),
        python=read("@agents-python"),
        manifests=read("@agents-manifests"),
        jump_key=read("@agents-jump-key"),
        back_key=read("@agents-back-key"),
        list_key=read("@agents-list-key"),
        jump_fallback_key=read("@agents-jump-fallback-key"),
        dwell_ms=_ms(read("@agents-dwell")),
        settle_ms=_ms(read("@agents-settle")),
        hook_decay_ms=_ms(read("@agents-hook-decay")),
        blocked_decay_ms=_ms(read("@agents-blocked-decay")),
        scrolled=read("@agents-scrolled"),
        background=_flag(read("@agents-background")),
        clear_on=read("@agents-clear-on"),
        remote=read("@agents-remote"),
        alert=tuple(read("@agents-alert").split()),
        alert_command=read("@agents-alert-command"),
        ascii=ascii_only,
        order=tuple(read("@agents-order").split()),
        glyphs={state: read(f"@agents-glyph-{state}") or GLYPHS[state][ascii_only] for state in STATES},
        colours={state: read(f"@agents-colour-{state}") for state in STATES},
        problems=tuple(problems),
    )


def defaults() -> Settings:
    """The settings of somebody who set nothing."""
    return parse({})


def _problem(option: Option, value: str) -> str:
    """What is wrong with a value, empty when nothing is."""
    if option.kind is Kind.FLAG and value not in _TRUE | _FALSE:
        return "not on or off"
    if option.kind is Kind.SECONDS and not _NUMBER.fullmatch(value):
        return "not a number of seconds"
    if option.kind is Kind.CHOICE and value not in option.choices:
        return f"not one of {', '.join(option.choices)}"
    if option.kind is Kind.WORDS and not set(value.split()) <= set(option.choices):
        return f"not words out of {', '.join(option.choices)}"
    if option.kind is Kind.COLOUR and not _COLOUR.fullmatch(value):
        return "not a colour tmux knows (`colour208`, `red`, `#ff8700`, `red,bold`)"
    if option.kind is Kind.MARK and for_person(value, MARK_CELLS) != value:
        return f"not one line of at most {MARK_CELLS} cells"
    return ""


def _flag(value: str) -> bool:
    return value in _TRUE


def _ms(value: str) -> int:
    return round((parse_float(value) or 0.0) * 1000)


def markdown() -> str:
    """The table as README shows it."""
    rows = ["| option | default | what it does |", "| --- | --- | --- |"]
    for option in OPTIONS:
        default = f"`{option.default}`" if option.default else ""
        rows.append(f"| `{option.name}` | {default} | {option.doc} |")
    return "\n".join(rows) + "\n"
