"""Sixteen agents at once, events late, doubled and out of order, and a monitor that is killed in the middle."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents_plugin.core.hookfold import HookLog
from agents_plugin.core.hooks import interpret
from agents_plugin.events import key_of
from agents_plugin.host.spool import END, read
from tests.actor import Actor
from tests.stories import hooks_of
from tests.support import ROOT, Server, wait_for

AGENTS, EVENTS, STEP_MS = 16, 50, 40
TURN = ("UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStart", "SubagentStop", "Stop")


@dataclass
class Script:
    """What one agent is going to say: spool files, to be delivered in some order."""

    actor: Actor
    files: list[tuple[str, bytes, int]] = field(default_factory=list)
    wanted: str = ""


def events(number: int, seed: random.Random) -> list[tuple[str, dict[str, object]]]:
    """Turns with tools, requests and subagents; the last one ends wherever fifty events end."""
    found: list[tuple[str, dict[str, object]]] = []
    for place in range(EVENTS):
        turn, name = place // len(TURN), TURN[place % len(TURN)]
        if name == "PermissionRequest" and place < EVENTS - len(TURN) and seed.random() < 0.5:
            name = "PostToolUse"
        found.append(
            (
                name,
                {
                    "session_id": f"s{number}",
                    "prompt_id": f"p{turn}",
                    "prompt": f"turn {turn}",
                    "tool_name": "Bash",
                    "tool_input": {"command": f"step {place}"},
                    "tool_use_id": f"u{place}",
                    "background_tasks": [],
                    **({"agent_id": f"a{turn}"} if name.startswith("Subagent") else {}),
                },
            )
        )
    return found[: EVENTS - number % len(TURN)]


def script_of(actor: Actor, number: int, start_ms: int) -> Script:
    """The agent's events as spool files: one is written by the real hook, the others say the same of themselves."""
    seed = random.Random(number)
    sample = actor.fire("SessionStart", {"session_id": f"s{number}", "source": "startup"})
    head, _, body = sample.read_bytes().partition(b"\n\n")
    sample.unlink()
    stat = body.split(b"\n", 1)[0] + b"\n"
    script = Script(actor)
    signals = []
    for place, (name, payload) in enumerate(events(number, seed)):
        at_ms = start_ms + place * STEP_MS + number
        lines = [line for line in head.split(b"\n") if not line.startswith((b"uptime=", b"time=", b"event="))]
        raw = b"\n".join([*lines, f"event={name}".encode()]) + b"\n\n" + stat + json.dumps(payload).encode() + END
        script.files.append((f"{number}.{place}", raw, at_ms))
        if seed.random() < 1 / 3:
            script.files.append((f"{number}.{place}.again", raw, at_ms))
        path = actor.server.base / "probe"
        path.write_bytes(raw)
        os.utime(path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
        event = read(path)
        assert event and event.at_ms == at_ms
        signal = interpret(hooks_of("claude"), event.event, json.loads(event.payload), event.at_ms, key_of(event))
        if signal:
            signals.append(signal)
    claim = HookLog().hearing(sorted(signals, key=lambda one: one.at_ms)).folded().claim
    assert claim
    script.wanted = "/".join(filter(None, (claim.state.value, claim.detail)))
    # Half of them change places with a neighbour a few files away.
    for place in range(0, len(script.files) - 5, 2):
        other = place + seed.randrange(5)
        script.files[place], script.files[other] = script.files[other], script.files[place]
    return script


def deliver(spool: Path, script: Script) -> None:
    """Write the files one by one, each whole at once as a reader sees it."""
    for name, raw, at_ms in script.files:
        temporary = spool / f".{name}"
        temporary.write_bytes(raw)
        os.utime(temporary, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
        temporary.rename(spool / name)
        time.sleep(0.03)


def monitor(server: Server) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "monitor"],
        env=server.inside() | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.timeout(120)
def test_sixteen_agents_and_a_monitor_killed_in_the_middle(server: Server) -> None:
    """Each pane ends as the pure fold over its sorted events says, and the spool is empty."""
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
    actors = [Actor(server) for _ in range(AGENTS)]
    spool = server.home / ".local/state/agents.tmux/spool"
    start_ms = int(time.time() * 1000)
    # No event is later than its file, nor earlier than its agent: they are delivered when the last one has happened.
    over = (start_ms + EVENTS * STEP_MS + AGENTS) / 1000
    wait_for(lambda: time.time() > over, what="the last event's time")
    scripts = [script_of(actor, number, start_ms) for number, actor in enumerate(actors)]
    assert len({script.wanted for script in scripts}) >= 3
    running = monitor(server)
    try:
        threads = [threading.Thread(target=deliver, args=(spool, script)) for script in scripts]
        for thread in threads:
            thread.start()
        wait_for(lambda: any(actor.state() for actor in actors), what="the monitor at work")
        for _ in range(2):
            time.sleep(0.4)
            running.kill()
            running.wait()
            running = monitor(server)
        for thread in threads:
            thread.join()
        wait_for(lambda: not list(spool.iterdir()), timeout=40, what="the spool empty")
        # A pass later everything heard is written.
        wait_for(
            lambda: [actor.state() for actor in actors] == [script.wanted for script in scripts],
            timeout=10,
            what=str([script.wanted for script in scripts]),
        )
    finally:
        running.kill()
        running.wait()
    assert [actor.option("@agent_session_id") for actor in actors] == [f"s{number}" for number in range(AGENTS)]
