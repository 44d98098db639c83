"""Events fired in panes of a stage, and what is left of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.actor import HOOK, Actor
from tests.stage import Stage
from tests.support import Server


def catch_up(stage: Stage) -> None:
    """Let the clock by hand be the machine's again: spool files carry its time."""
    stage.clock.wall = max(stage.clock.wall, int(time.time() * 1000))


def tell(stage: Stage, actor: Actor, event: str, hook: Path = HOOK, agent: str = "", **payload: Any) -> None:
    """Fire an event and pass once."""
    data = {"session_id": "s1", "prompt_id": "p1", **payload}
    actor.fire(event, data, agent, hook)
    catch_up(stage)
    stage.step(10)


def spool(server: Server) -> list[Path]:
    return list((server.home / ".local/state/agents.tmux/spool").glob("*"))


def around(server: Server, name: str, text: str) -> Path:
    """A program that stands between an agent and the hook."""
    file = server.base / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file
