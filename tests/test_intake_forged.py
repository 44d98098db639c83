"""Events that somebody else wrote: what they cannot prove counts less than the pane's own screen."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.core.trees import Proc, attested
from agents_plugin.host import processes
from agents_plugin.host.spool import END, MAGIC, read
from tests.actor import Actor
from tests.lane import BLIND, BLOCKED, COMPOSER, DIALOG, NOTHING, SPINNER, WORKING, working_lane
from tests.stage import IDLE as IDLE_SCREEN
from tests.stage import WORKING as WORKING_SCREEN
from tests.stage import Stage
from tests.support import Server
from tests.telling import catch_up, tell

#: A process that has ended, or was never there, with a living one above it.
STAT = "{pid} (sh) S {ppid} 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4242 5599232 770 1 2\n"


@pytest.fixture
def stage(server: Server) -> Stage:
    return Stage(server)


def forge(server: Server, head: str, body: str = "") -> Path:
    """A spool file as a program writes it that may only write there."""
    spool = server.home / ".local/state/agents.tmux/spool"
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    payload = json.dumps({"session_id": "s1", "prompt_id": "p1", "tool_name": "Bash"})
    file = spool / f"1.{len(list(spool.iterdir()))}"
    text = f"agent=claude\nevent=PermissionRequest\n{head}\n{body}{payload}"
    file.write_bytes(MAGIC + text.encode() + END)
    return file


FORGERIES: dict[str, Callable[[int], tuple[str, str]]] = {
    "parent": lambda pid: (f"parent={pid}\n", ""),
    "grandparent": lambda pid: (f"parent=999999\ngrandparent={pid}\n", ""),
    "its-own-word": lambda pid: (f"parent=999999\nenv.CLAUDE_PID={pid}\n", ""),
    "above-one-that-ended": lambda pid: ("parent=999999\n", STAT.format(pid=999_999, ppid=pid)),
    "in-the-future": lambda pid: (f"parent={pid}\ntime={time.time() + 1.4:.6f}\n", ""),
}


@pytest.mark.parametrize("screen", [IDLE_SCREEN, WORKING_SCREEN], ids=["idle", "working"])
@pytest.mark.parametrize("forgery", [pytest.param(forgery, id=name) for name, forgery in FORGERIES.items()])
def test_a_guessed_sender_blocks_no_pane_that_shows_otherwise(
    forgery: Callable[[int], tuple[str, str]], screen: str, stage: Stage
) -> None:
    actor = Actor(stage.server)
    actor.show(screen)
    stage.step()
    before = actor.state()
    file = forge(stage.server, *forgery(actor.pid))
    for _ in range(4):
        catch_up(stage)
        stage.step(10)
        assert actor.state() == before
    assert before in ("idle", "working") and not file.exists(), "it was heard"


def test_what_the_hook_saw_counts_before_the_screen_shows_it(stage: Stage) -> None:
    actor = Actor(stage.server)
    actor.show(IDLE_SCREEN)
    stage.step()
    tell(stage, actor, "PermissionRequest", tool_name="Bash")
    assert actor.state() == "blocked/permission"


@pytest.mark.parametrize(("reading", "state"), [(SPINNER, WORKING), (COMPOSER, WORKING), (NOTHING, BLOCKED)])
def test_an_unproven_event_waits_for_no_window(reading: object, state: object) -> None:
    """Idle chrome still has to stay for the dwell: until then what was there stands."""
    lane = working_lane(sight=BLIND)
    lane.hear(BLOCKED, proven=False)
    lane.step(10, reading)  # type: ignore[arg-type]
    assert lane.state is state


def test_an_unproven_event_and_a_prompt_agree() -> None:
    lane = working_lane(sight=BLIND)
    lane.hear(BLOCKED, proven=False)
    lane.step(10, DIALOG)
    assert lane.shown == "blocked/permission"


def test_a_proven_event_has_its_window() -> None:
    lane = working_lane(sight=BLIND)
    lane.hear(BLOCKED)
    lane.step(10, SPINNER)
    assert lane.state is BLOCKED


@pytest.mark.parametrize(
    ("ancestors", "expected"),
    [
        pytest.param([(5, 100.0)], True, id="seen"),
        pytest.param([(5, 100.05)], False, id="another-tick"),
        pytest.param([(5, None)], False, id="a-pid"),
        pytest.param([(9, 1.0), (5, 100.0)], True, id="above-one-that-ended"),
        pytest.param([(9, 1.0), (5, None)], False, id="a-pid-above-one-that-ended"),
        pytest.param([(9, 1.0)], False, id="nobody"),
    ],
)
def test_a_start_to_the_tick_is_what_a_hook_saw(ancestors: list[tuple[int, float | None]], expected: bool) -> None:
    assert attested(ancestors, 200_000, {5: Proc(5, 1, 5, "claude", started=100.0)}) is expected


def test_no_event_is_later_than_its_file(tmp_path: Path) -> None:
    """Whatever time it names and the file was given."""
    me = os.getpid()
    file = tmp_path / "1.0"
    for head in (f"time={time.time() + 3600:.6f}", f"time={time.time() + 1:.6f}", "uptime=99999999", ""):
        file.write_bytes(MAGIC + f"agent=claude\nparent={me}\n{head}\n\n{{}}".encode() + END)
        os.utime(file, (time.time() + 3600, time.time() + 3600))
        event = read(file)
        assert event is not None and event.at_ms <= time.time() * 1000 + 20
        assert event.ancestors == ((me, None),) and processes.started_of(me)
