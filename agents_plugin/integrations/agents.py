"""The agents we can be installed into: where each keeps its configuration, and what an entry of ours is in it.

Places and forms are those seen to fire on real agents; the events come from the manifest's `hooks:`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents_plugin.integrations.bridgefile import BridgeFile
from agents_plugin.integrations.hooksjson import HooksJson
from agents_plugin.integrations.tomltext import NotifyToml
from agents_plugin.integrations.wrapper import command

Env = Mapping[str, str]


class Format(Protocol):
    """How one file is edited, as text. Every method raises `TextError` for a text it does not understand."""

    def has_ours(self, text: str) -> bool:
        """Whether anything in it is ours."""

    def install(self, text: str | None, backup: str | None) -> str:
        """The text with ours, exactly as now wanted. None: there is no file. `backup`: its first version, if kept."""

    def remove(self, text: str, backup: str | None) -> str | None:
        """The text without ours. None: the file goes."""


@dataclass(frozen=True)
class Part:
    """One file of an integration."""

    path: Path
    format: Format


@dataclass(frozen=True)
class Agent:
    """An agent with an integration. `binary` is what to look for on PATH."""

    id: str
    binary: str
    #: What it may be asked to tell: seen to fire, seen not to decide anything when we say nothing, and not so frequent
    #: that it slows the agent down. The manifest says which of them mean something.
    events: tuple[str, ...]
    after: tuple[str, ...] = ()  # what the user must still do

    def home(self, environ: Env) -> Path:
        """Its configuration directory."""
        return _homes(environ)[self.id]

    def present(self, environ: Env) -> bool:
        """Whether it seems to be used here: its directory is there, or its binary is on PATH."""
        return self.home(environ).is_dir() or shutil.which(self.binary, path=environ.get("PATH")) is not None

    def parts(self, environ: Env, hook: Path, events: Sequence[str] = ()) -> list[Part]:
        """Its files, with what ours is in each: the wrapper at `hook` called for `events`."""
        return _parts(self.id, self.home(environ), hook, tuple(events) or self.events)


_NEW = "running sessions go on without it: start new ones"

AGENTS: Mapping[str, Agent] = {
    agent.id: agent
    for agent in (
        Agent(
            "claude",
            "claude",
            (
                *("SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
                *("PostToolUseFailure", "Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
                *("PreCompact", "PostCompact"),
            ),
            (_NEW,),
        ),
        Agent(
            "codex",
            "codex",
            (
                *("SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
                *("Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
            ),
            (
                "Codex runs new hooks only when they are trusted: accept them at its next start or in /hooks",
                "a shared daemon keeps what it has read: end all of its sessions, then start new ones",
            ),
        ),
        Agent(
            "gemini",
            "gemini",
            ("SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification"),
            (_NEW,),
        ),
        Agent(
            "qwen",
            "qwen",
            (
                *("SessionStart", "SessionEnd", "UserPromptSubmit", "PermissionRequest", "PreToolUse", "PostToolUse"),
                *("PostToolUseFailure", "Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
                *("PreCompact", "PostCompact"),
            ),
            (_NEW,),
        ),
        Agent("opencode", "opencode", (), (_NEW,)),
        Agent("kilo", "kilo", (), (_NEW,)),
        Agent(
            "copilot",
            "copilot",
            (
                *("sessionStart", "sessionEnd", "userPromptSubmitted", "preToolUse", "postToolUse", "notification"),
                *("postToolUseFailure", "agentStop", "errorOccurred", "subagentStart", "subagentStop", "preCompact"),
            ),
            (_NEW,),
        ),
        Agent("pi", "pi", (), ("running sessions take it with /reload, new ones by themselves",)),
    )
}

#: Claude's events that take a matcher; `*` is what was seen to fire.
_MATCHED = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Notification"}) | {
    *("SessionStart", "SessionEnd", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
    "PermissionDenied",
}


def _homes(environ: Env) -> dict[str, Path]:
    home = Path(environ.get("HOME") or "/nonexistent")

    def place(variable: str, default: Path) -> Path:
        value = environ.get(variable, "").strip()
        if not value:
            return default
        # The shell expands ~ only when it is not quoted; agents do it for themselves.
        return home / value[2:] if value.startswith("~/") else home if value == "~" else Path(value).absolute()

    config = place("XDG_CONFIG_HOME", home / ".config")
    return {
        "claude": place("CLAUDE_CONFIG_DIR", home / ".claude"),
        "codex": place("CODEX_HOME", home / ".codex"),
        "gemini": place("GEMINI_CLI_HOME", home) / ".gemini",
        "qwen": place("QWEN_HOME", home / ".qwen"),
        "opencode": place("OPENCODE_CONFIG_DIR", config / "opencode"),
        "kilo": place("KILO_CONFIG_DIR", config / "kilo"),
        "copilot": place("COPILOT_HOME", home / ".copilot"),
        "pi": place("PI_CODING_AGENT_DIR", home / ".pi/agent"),
    }


def _parts(ident: str, home: Path, hook: Path, events: tuple[str, ...]) -> list[Part]:
    if ident in ("opencode", "kilo"):
        return [Part(home / "plugin/agents-tmux.js", BridgeFile(ident, "opencode.js", hook))]
    if ident == "pi":
        return [Part(home / "extensions/agents-tmux.ts", BridgeFile(ident, "pi.ts", hook))]
    calls = {event: command(hook, ident, event) for event in events}
    if ident == "copilot":
        wanted = {name: {"type": "command", "bash": call, "timeoutSec": 10} for name, call in calls.items()}
        file = HooksJson(ident, wanted, "bash", grouped=False, scaffold={"version": 1})
        return [Part(home / "hooks/agents-tmux.json", file)]
    groups = {name: _group(ident, name, call) for name, call in calls.items()}
    if ident == "codex":
        calls.pop("notify", None)
        groups.pop("notify", None)
        return [Part(home / "hooks.json", HooksJson(ident, groups)), Part(home / "config.toml", NotifyToml(hook))]
    return [Part(home / "settings.json", HooksJson(ident, groups, comments=ident in ("gemini", "qwen")))]


def _group(ident: str, event: str, call: str) -> dict[str, object]:
    handler: dict[str, object] = {"type": "command", "command": call}
    if ident in ("claude", "codex"):
        handler["timeout"] = 10
    elif ident == "gemini":
        # Shown while it runs, and in milliseconds.
        handler |= {"name": "agents.tmux", "timeout": 5000}
    else:
        # No timeout: Qwen counted it in milliseconds before it counted in seconds.
        handler["name"] = "agents.tmux"
    matched = (ident == "claude" and event in _MATCHED) or (ident == "gemini" and event in ("BeforeTool", "AfterTool"))
    return {"matcher": "*", "hooks": [handler]} if matched else {"hooks": [handler]}
