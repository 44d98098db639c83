"""What tests of the installer share: a home of its own, and what is in it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

VARIABLES = {
    "claude": ("CLAUDE_CONFIG_DIR", "settings.json"),
    "codex": ("CODEX_HOME", "hooks.json"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini/settings.json"),
    "qwen": ("QWEN_HOME", "settings.json"),
    "opencode": ("OPENCODE_CONFIG_DIR", "plugin/agents-tmux.js"),
    "kilo": ("KILO_CONFIG_DIR", "plugin/agents-tmux.js"),
    "copilot": ("COPILOT_HOME", "hooks/agents-tmux.json"),
    "pi": ("PI_CODING_AGENT_DIR", "extensions/agents-tmux.ts"),
}
DEFAULTS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "opencode": ".config/opencode/plugin/agents-tmux.js",
    "kilo": ".config/kilo/plugin/agents-tmux.js",
    "copilot": ".copilot/hooks/agents-tmux.json",
    "pi": ".pi/agent/extensions/agents-tmux.ts",
}
JSON_AGENTS = ("claude", "codex", "gemini", "qwen", "copilot")
MINE = '{\n  "model": "x",\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "say"}]}]\n  }\n}\n'


def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home in force; no agent is on PATH."""
    place = tmp_path / "home"
    place.mkdir()
    for name, _ in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return place


def tree(place: Path) -> dict[str, tuple[bytes, int]]:
    """Every file and link below, with content and mode; ours in ~/.local is left out."""
    return {
        str(path.relative_to(place)): (
            str(path.readlink()).encode() if path.is_symlink() else path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in sorted(place.rglob("*"))
        if (path.is_file() or path.is_symlink()) and ".local" not in path.parts
    }


def put(path: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path
