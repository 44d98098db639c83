"""The demo's stand-in agents: they look like the recordings, carry the agent's name, and take answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, Server, wait_for

INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def stand_in(server: Server, agent: str, scene: str, target: str = "main") -> str:
    """Open a window with a stand-in agent; its pane."""
    link = server.base / "bin" / agent
    link.parent.mkdir(exist_ok=True)
    if not link.exists():
        link.symlink_to(INTERPRETER)
    return server.window(f"exec '{link}' '{ROOT / 'scripts' / 'stand_in.py'}' {scene}", target=f"{target}:")


@pytest.mark.parametrize(
    ("agent", "scene", "asks", "rests"),
    [
        ("claude", "claude-permission", "Do you want to proceed?", "⏸ manual mode on"),
        ("codex", "codex-permission", "Would you like to run the following command?", "Ask Codex to do anything"),
    ],
)
@pytest.mark.parametrize("cols", [100, 60])
def test_prompt_can_be_answered(bare_server: Server, agent: str, scene: str, asks: str, rests: str, cols: int) -> None:
    server = bare_server
    server.start(cols=cols, rows=24)
    pane = stand_in(server, agent, scene)
    wait_for(lambda: asks in server.screen(pane), what="the prompt")
    assert server.format(pane, "#{pane_current_command} #{alternate_on} #{cursor_flag}") == f"{agent} 1 0"
    server.cmd("send-keys", "-t", pane, "Enter")
    wait_for(lambda: asks not in server.screen(pane) and rests in server.screen(pane), what="an answer taken")


def test_prompt_can_be_denied_and_the_agent_left(server: Server) -> None:
    pane = stand_in(server, "claude", "claude-permission")
    wait_for(lambda: "Do you want to proceed?" in server.screen(pane), what="the prompt")
    server.cmd("send-keys", "-t", pane, "Escape")
    wait_for(lambda: "Interrupted" in server.screen(pane), what="the denial")
    server.cmd("send-keys", "-t", pane, "C-c")
    wait_for(lambda: pane not in server.cmd("list-panes", "-a", "-F", "#{pane_id}").split(), what="its end")


def test_rule_lines_are_as_wide_as_the_pane(bare_server: Server) -> None:
    bare_server.start(cols=90, rows=24)
    pane = stand_in(bare_server, "claude", "claude-permission")
    wait_for(lambda: "Do you want to proceed?" in bare_server.screen(pane), what="the prompt")
    assert "─" * 90 in bare_server.screen(pane).splitlines()


def test_unknown_scene_is_named(tmp_path: Path, server: Server) -> None:
    link = server.base / "agent"
    link.symlink_to(INTERPRETER)
    pane = server.window(f"'{link}' '{ROOT / 'scripts' / 'stand_in.py'}' no-such-scene; cat")
    wait_for(lambda: "no scene named no-such-scene" in server.screen(pane), what="the reason")
