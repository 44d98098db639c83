"""Whose word a report is: the program that ran the command, which itself ends at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agents_plugin.core import programs
from agents_plugin.core.trees import Proc, Table, ancestry


@dataclass(frozen=True)
class Reporter:
    """The process a report lives with. `typed`: an interactive shell, so a person typed it and nothing else ends it."""

    pid: int
    typed: bool = False


def reporter(pid: int, table: Table, pane_pid: int) -> Reporter | None:
    """Who made the report that process `pid` of a pane writes; None when nothing above it is known.

    What only runs one command for another (`timeout`, `env`, the `sh -c` of a program) is passed over. A `sh -c` that
    somebody typed is a program of its own.
    """
    texts: Proc | None = None
    for proc in list(ancestry(pid, table))[1:]:
        what = programs.program(proc.comm, proc.argv, proc.exe)
        if what.shell:
            return Reporter(texts.pid) if texts else Reporter(proc.pid, typed=True)
        if what.direct or proc.pid == pane_pid:
            return Reporter(proc.pid)
        if programs.normalise(proc.argv[0] if proc.argv else proc.comm) in programs.SHELLS:
            texts = proc
    return None


def is_shell(proc: Proc) -> bool:
    """Whether a process is an interactive shell: what was typed there has no other program."""
    return programs.program(proc.comm, proc.argv, proc.exe).shell


def sets_options(proc: Proc) -> bool:
    """Whether a process is `tmux set …`: the hand of a report, neither its maker nor a tmux inside of tmux."""
    what = programs.program(proc.comm, proc.argv, proc.exe)
    return "tmux" in what.names and any(word in ("set", "set-option") for word in what.args)
