"""More events than a pass has time for: everybody has a turn, and nothing is told from half of what was said."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from agents_plugin import events
from agents_plugin.core.turns import from_both_ends, in_turn
from agents_plugin.host import spool
from agents_plugin.host.spool import END, MAGIC, Spool
from tests.actor import Actor
from tests.file_times import date
from tests.stage import Stage
from tests.support import Server
from tests.telling import catch_up


def said(actor: Actor, number: int, event: str, at_ms: int, **payload: Any) -> None:
    """A spool file as the agent in this pane would leave it."""
    directory = actor.server.home / ".local/state/agents.tmux/spool"
    directory.mkdir(parents=True, exist_ok=True)
    head = f"agent=claude\nevent={event}\ntime={at_ms / 1000:.6f}\n\n".encode()
    body = json.dumps({"session_id": f"s{actor.pid}", **payload}).encode()
    file = directory / f"{actor.pid}.{number}"
    file.write_bytes(MAGIC + head + Path(f"/proc/{actor.pid}/stat").read_bytes() + body + END)
    date(file, at_ms)


def waiting(server: Server) -> int:
    return len(list((server.home / ".local/state/agents.tmux/spool").iterdir()))


def now() -> int:
    return int(time.time() * 1000)


def test_turns() -> None:
    items = [f"a{number}" for number in range(5)] + ["b0", "b1", "c0"]
    assert in_turn(items, lambda item: item[0]) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"]
    for length in range(6):
        assert sorted(from_both_ends(range(length))) == list(range(length))
    assert list(from_both_ends("abcde")) == ["a", "e", "b", "d", "c"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has time for 16 events a pass."""
    monkeypatch.setattr(events, "SLICE", 16)
    monkeypatch.setattr(events, "SLICE_S", 60)
    monkeypatch.setattr(spool, "_READ_S", 60)


def test_nobody_waits_behind_a_flood(slow: None, server: Server) -> None:
    """480 events of one pane: another's is told by the first pass, and all come in their order."""
    loud, quiet = Actor(server), Actor(server)
    stage = Stage(server)
    start = now() - 1_000
    for number in range(480):
        said(loud, number, "PreToolUse" if number % 2 else "PostToolUse", start + number, tool_name="Bash")
    said(loud, 480, "Stop", start + 500, background_tasks=[])
    said(quiet, 0, "PermissionRequest", start + 490, tool_name="Bash")
    catch_up(stage)
    last = stage.step(10)
    assert quiet.state() == "blocked/permission"
    assert last.due_ms == 0, "the rest is due at once"
    assert waiting(server) == 481
    passes = 1
    while waiting(server) and passes < 60:
        stage.step(10)
        passes += 1
    assert 25 < passes < 40
    assert (loud.state(), quiet.state()) == ("idle", "blocked/permission")
    assert stage.step(10).due_ms != 0


def test_half_a_story_is_not_told(slow: None, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question in the middle of a flood was answered before its end: never blocked. Patience has an end."""
    actor = Actor(server)
    stage = Stage(server)
    start = now() - 1_000

    def flood() -> set[str]:
        said(actor, 0, "UserPromptSubmit", start, prompt="go")
        for number in range(1, 100):
            event = "PermissionRequest" if 40 < number < 80 else "PostToolUse"
            said(actor, number, event, start + number, tool_name=f"Tool{number}")
        catch_up(stage)
        seen = set()
        for _ in range(20):
            stage.step(10)
            seen.add(actor.state())
        assert waiting(server) == 0
        return seen

    assert flood() == {"unknown", "working"}
    monkeypatch.setattr(events, "PATIENCE_S", -1)
    start = now() - 100
    assert "blocked/permission" in flood()
    assert actor.state() == "working"


def test_a_helper_that_ends_in_the_middle_of_a_flood_loses_nothing(slow: None, server: Server) -> None:
    actor = Actor(server)
    stage = Stage(server)
    start = now() - 1_000
    order = [("UserPromptSubmit", {"prompt": "go"}), *[("PostToolUse", {"tool_name": "Bash"})] * 60]
    order.append(("PermissionRequest", {"tool_name": "Bash"}))
    for number, (event, payload) in random.Random(1).sample(list(enumerate(order)), len(order)):
        said(actor, number, event, start + number, **payload)
    catch_up(stage)
    stage.step(10)
    stage.step(10)
    stage.cycle = stage.fresh()
    for _ in range(8):
        stage.step(10)
    assert (actor.state(), waiting(server)) == ("blocked/permission", 0)


def test_what_waits_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long payloads are not kept but read again; of more than may be kept, the newest is read first of all."""
    monkeypatch.setattr(spool, "_KEPT", 100_000)
    monkeypatch.setattr(spool, "_READ_S", 60)
    start = now() - 60_000
    for number in range(300):
        file = tmp_path / str(number)
        payload = (str(number) * 50_000)[:50_000]
        file.write_bytes(MAGIC + b"agent=claude\nevent=Stop\n\n" + payload.encode() + END)
        os.utime(file, ns=((start + number) * 1_000_000,) * 2)
    reader = Spool(tmp_path)
    found = reader.pending(now())
    assert reader.unread > 50
    assert sum(event.size for event in found) < 110_000
    names = [event.path.name for event in found]
    assert (names[0], names[-1]) == ("0", "299")
    assert reader.whole(found[-1]).payload.startswith("299299")
    seen = set()
    for _ in range(3):
        for event in reader.pending(now()):
            seen.add(event.path.name)
            assert reader.take(event)
    assert len(seen) == 300


def test_events_nobody_wants_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in the spool for another server; here neither kept nor read again, and they hide nothing."""
    for number in range(3_000):
        (tmp_path / str(number)).write_bytes(MAGIC + b"agent=claude\nevent=Stop\n\n{}" + END)
    monkeypatch.setattr(spool, "_READ_S", 60)
    reader = Spool(tmp_path)
    names = {event.path.name for event in reader.pending(now())}
    assert len(names) == 3_000
    (tmp_path / "new").write_bytes(MAGIC + b"agent=claude\nevent=Stop\n\n{}" + END)
    assert [event.path.name for event in reader.pending(now(), names)] == ["new"]
    monkeypatch.setattr(spool, "read", lambda path: pytest.fail(f"read {path} again"))
    assert [event.path.name for event in reader.pending(now(), names)] == ["new"]
    assert len(reader._events) == 1
