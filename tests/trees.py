"""Processes, trees and manifests to identify agents by."""

from __future__ import annotations

import shlex
from pathlib import Path

from agents_plugin.core.evidence import PaneRow
from agents_plugin.core.manifest import Manifest, build
from agents_plugin.core.trees import Proc, Table

SPECS: dict[str, dict[str, object]] = {
    "claude": {
        "names": ["claude"],
        "scripts": ["@anthropic-ai/claude-code", "claude-code/cli.js"],
        "exe": ["claude/versions"],
        "headless": ["-p", "--print"],
    },
    "codex": {"names": ["codex"], "scripts": ["@openai/codex"], "headless": ["exec"]},
    "opencode": {"names": ["opencode"], "scripts": ["opencode-ai/bin/opencode"], "headless": ["run"]},
    "gemini": {"names": ["gemini"], "scripts": ["@google/gemini-cli"], "headless": ["-p"], "title": None},
    "aider": {"names": ["aider"], "modules": ["aider"], "headless": ["--message"]},
    "copilot": {"names": ["copilot"], "scripts": ["@github/copilot"]},
    "pi": {"names": ["pi"], "headless": ["-p", "--mode json", "--mode rpc"]},
    "hermes": {"names": ["hermes"], "not_argv": ["gateway"]},
    "goose": {"names": ["goose"], "argv": ["session"]},
    "cursor": {"names": ["agent"], "title": "^Cursor"},
    "far": {"names": ["far-away-long-named-agent"], "title": "^FAR "},
}


def manifest(ident: str, spec: dict[str, object], aliases: tuple[str, ...] = ()) -> Manifest:
    spec = {key: value for key, value in spec.items() if value is not None}
    extra = {"aliases": list(aliases)} if aliases else {}
    return build({"schema": 1, "id": ident, "identity": spec, **extra}, ident)


MANIFESTS = [manifest(ident, spec, ("claude-code",) if ident == "claude" else ()) for ident, spec in SPECS.items()]


def pane(command: str = "", title: str = "", pid: int = 10, **options: str) -> PaneRow:
    return PaneRow(
        pane_id="%1",
        pane_pid=pid,
        tty="/dev/pts/1",
        session_id="$1",
        window_id="@1",
        window_index=0,
        pane_index=0,
        active=True,
        dead=False,
        width=80,
        height=24,
        cursor_x=0,
        cursor_y=0,
        cursor_shown=True,
        alternate=False,
        scroll_position=0,
        in_mode=False,
        window_activity=0,
        command=command,
        title=title,
        options={f"@agent_{key}": value for key, value in options.items()},
    )


def proc(
    pid: int, ppid: int, command: str | list[str], comm: str = "", pgrp: int = 0, exe: str = "", started: float = 1000.0
) -> Proc:
    argv = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    name = comm or Path(argv[0]).name[:15] if argv or comm else ""
    return Proc(pid, ppid, pgrp or pid, name, argv, exe, started)


def tree(*procs: Proc) -> Table:
    return {each.pid: each for each in procs}


SHELL = proc(10, 1, "-zsh", "zsh")
