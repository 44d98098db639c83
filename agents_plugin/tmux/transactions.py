"""Renders planned changes as guarded transactions; runs a batch, with the rollup at its end, in one process."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable

from agents_plugin.core.plan import PaneChange
from agents_plugin.core.text import strip_controls
from agents_plugin.core.text_forms import even
from agents_plugin.tmux.contract import (
    QUEUE,
    claim_variable,
    published_variable,
    quote,
    report_variable,
    said_variable,
    version_variable,
)
from agents_plugin.tmux.formats import bounded_state
from agents_plugin.tmux.rollup import COMMAND, FORGET
from agents_plugin.tmux.runner import Runner, is_pane_id

#: Characters a published value may have: a text is 32 cells, a session id or a model name a few dozen.
LONGEST = 256

_OPTION = re.compile(r"@agent_[a-z_]+")
_VARIABLE = re.compile(r"AGENTS_[0-9]+_[A-Z]+")
_TOKENS = re.compile(r"[A-Za-z0-9_.:|-]*")
_STATE = re.compile(r"[A-Za-z0-9_.:-]*")


def write(
    runner: Runner,
    changes: Iterable[PaneChange],
    queue: str | None = None,
    forget: Iterable[str] = (),
    rollup: bool = True,
    stale: bool = False,
    refused: Callable[[str, ValueError], object] | None = None,
) -> frozenset[str]:
    """Run a batch in one process: the pane ids whose change the server accepted.

    `queue` is the new `@agents_queue` (None: leave it), `forget` are panes that are gone and whose hidden variables go
    too. The rollup follows when an option may have changed, or when the rollups are known to be stale. Nothing to do
    starts no process. Raises as the runner does. A change that is not fit to write is told to `refused` (pane id, why)
    and left out; without it the batch is refused: ValueError.
    """
    nonce = secrets.token_hex(8)
    planned = list(changes)
    lines = []
    for change in planned:
        try:
            lines.append(transaction(change, nonce))
        except ValueError as error:
            if refused is None:
                raise
            refused(change.pane_id, error)
    lines += [forgetting(pane) for pane in forget if is_pane_id(pane)]
    if queue is not None:
        lines.append(queueing(queue))
    if stale:
        lines.append(f"{FORGET}\n")
    if stale or (rollup and (queue is not None or any(change.set or change.unset for change in planned))):
        lines.append(f"{COMMAND}\n")
    if not lines:
        return frozenset()
    answer = runner.source("".join(lines)).stdout
    return frozenset(f"%{number}" for number in re.findall(rf"^{nonce} ([0-9]+)$", answer, re.MULTILINE))


def transaction(change: PaneChange, nonce: str) -> str:
    """One line: the guard, and the block that runs whole or not at all and then says `nonce <pane number>`.

    Raises ValueError for a name that is not ours to write.
    """
    pane = change.pane_id
    if not is_pane_id(pane):
        raise ValueError(f"not a pane id: {pane!r}")
    commands = []
    for name, value in change.set.items():
        commands.append(f"set-option -pq -t {pane} {_checked(_OPTION, name)} {quote(fit(value))}")
    for name in change.unset:
        commands.append(f"set-option -pqu -t {pane} {_checked(_OPTION, name)}")
    for name, value in change.env.items():
        commands.append(_variable(_checked(_VARIABLE, name), _checked(_TOKENS, value)))
    commands.append(f"display-message -p '{nonce} {pane[1:]}'")
    return f"if-shell -F -t {pane} '{guard(change)}' {{ {' ; '.join(commands)} }}\n"


def guard(change: PaneChange) -> str:
    """The format that is true while the pane is what the change was decided on."""
    pane = change.pane_id
    here = f"#{{==:#{{pane_id}},{pane}}}"
    version = f"#{{==:#{{{version_variable(pane)}}},{_checked(_TOKENS, change.expected_version)}}}"
    # `#{&&:}` takes two operands before tmux 3.6.
    return f"#{{&&:{here},#{{&&:{version},{_state_guard(change.expected_state)}}}}}"


def _state_guard(raw: str) -> str:
    if _STATE.fullmatch(raw):
        return f"#{{==:#{{@agent_state}},{raw}}}"
    # Text of others is never put into a format: all garbage is the same garbage, also what is too long to be read.
    return f"#{{m/r:[^A-Za-z0-9_.:-],{bounded_state()}}}"


def forgetting(pane: str) -> str:
    """Lines that drop the hidden variables of a pane that is gone (tmux never gives an id twice)."""
    ours = (version_variable, claim_variable, published_variable, report_variable, said_variable)
    names = [variable(pane) for variable in ours]
    return "".join(f"{_variable(name, '')}\n" for name in names)


def queueing(queue: str) -> str:
    """A line that writes the queue when it differs. ValueError unless it is pane ids, each followed by a blank."""
    if not re.fullmatch(r"(%[0-9]+ )*", queue):
        raise ValueError(f"not a queue: {queue!r}")
    command = f"set-option -gq {QUEUE} '{queue}'" if queue else f"set-option -gqu {QUEUE}"
    return f"if-shell -F '#{{!=:#{{{QUEUE}}},{queue}}}' {{ {command} }}\n"


def fit(value: str) -> str:
    """A value made harmless once more, without changing one that already is: one line, bounded, no live style."""
    return even(strip_controls(value)[:LONGEST])


def _variable(name: str, value: str) -> str:
    return f"set-environment -gh {name} {quote(value)}" if value else f"set-environment -gu {name}"


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"not fit to write: {text[:60]!r}")
    return text
