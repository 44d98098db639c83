"""Marks and alerts of real passes: what a client's input takes down, and what rings once."""

from __future__ import annotations

import time

import pytest

from agents_plugin.host.faults import Faults
from agents_plugin.monitor import Ringer
from tests.actor import Actor
from tests.stage import BLOCKED, IDLE, WORKING, Stage
from tests.support import wait_for


def test_input_in_the_pane_takes_the_mark_down(stage: Stage) -> None:
    """Typing where the prompt is counts as seen; attaching and typing elsewhere do not (case 107)."""
    server = stage.server
    actor = Actor(server)
    actor.show(BLOCKED)
    client = server.attach("main", 100, 40)
    other = server.cmd("display-message", "-p", "-t", "main:0", "#{pane_id}")
    assert client.where() == other
    time.sleep(2.1)  # activity has whole seconds, and the first one after attaching proves nothing
    stage.clock.wall = int(time.time() * 1000)
    stage.cycle.run_pass()
    assert actor.option("@agent_attention") == "1"
    time.sleep(1.1)
    client.send("x")
    time.sleep(0.2)
    stage.step()
    assert actor.option("@agent_attention") == "1"
    server.cmd("select-window", "-t", actor.pane)
    time.sleep(1.1)
    client.send("x")
    wait_for(lambda: stage.step(100) and actor.option("@agent_attention") == "", what="mark down")
    assert actor.state() == "blocked/permission"  # case 035: seen is not answered


def test_case_113_an_alert_rings_once_per_blocked_run(stage: Stage) -> None:
    """Bell through tmux, command with the facts in variables; a restart of the helper repeats nothing (case 115)."""
    server = stage.server
    noted = server.base / "noted"
    server.cmd("set-option", "-g", "@agents-alert", "bell")
    server.cmd("set-option", "-g", "@agents-alert-command", f'echo "$AGENT_PANE $AGENT_STATE" >> {noted}')
    server.cmd("set-option", "-g", "monitor-bell", "on")
    actor = Actor(server)
    actor.show(BLOCKED)
    ring = Ringer(Faults())
    for _ in range(6):
        ring(stage.step())
    wait_for(noted.exists, what="the command ran")
    wait_for(lambda: server.format(actor.pane, "#{window_bell_flag}") == "1", what="bell flag")
    stage.cycle = stage.fresh()
    for _ in range(3):
        ring(stage.step())
    time.sleep(0.3)
    assert noted.read_text().splitlines() == [f"{actor.pane} blocked"]


def test_a_muted_pane_rings_nothing(stage: Stage) -> None:
    """`@agent_mute_until` in the future."""
    server = stage.server
    server.cmd("set-option", "-g", "@agents-alert", "bell")
    actor = Actor(server)
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_mute_until", str(stage.clock.wall + 60_000))
    actor.show(BLOCKED)
    assert not any(stage.step().alerts for _ in range(4))
    assert any(stage.step(61_000).alerts for _ in range(2))


@pytest.mark.versions
def test_the_pane_somebody_has_before_them_rings_nothing(stage: Stage) -> None:
    """One of several clients is enough; one that lost the focus, is in control mode, or shows another pane is none."""
    server = stage.server
    server.cmd("set-option", "-g", "@agents-alert", "bell")
    server.cmd("set-option", "-s", "focus-events", "on")
    server.cmd("new-session", "-d", "-s", "other", "-t", "main")
    actor = Actor(server)
    actor.show(BLOCKED)
    elsewhere, here = server.attach("other", 100, 40), server.attach("main", 100, 40)
    server.cmd("select-window", "-t", "main:1")
    server.cmd("select-window", "-t", "other:0")
    assert (here.where(), elsewhere.where() != actor.pane) == (actor.pane, True)
    for _ in range(3):
        assert not stage.step().alerts, "shown"
    assert (actor.state(), actor.option("@agent_attention")) == ("blocked/permission", "1")
    assert actor.option("@agent_notified_at") == ""
    here.send(b"\x1b[O")
    wait_for(lambda: "focused" not in here.format("#{client_flags}"), what="focus lost")
    (rung,) = stage.step().alerts
    assert rung.row.pane_id == actor.pane
    assert not stage.step().alerts


@pytest.mark.parametrize("shown_by", ["nobody", "a client in control mode", "a client on the pane beside it"])
def test_what_is_not_looked_at_rings(stage: Stage, shown_by: str) -> None:
    server = stage.server
    server.cmd("set-option", "-g", "@agents-alert", "bell")
    actor = Actor(server)
    actor.show(BLOCKED)
    server.cmd("select-window", "-t", actor.pane)
    if shown_by == "a client in control mode":
        server.attach("main", args=("-C",))
    elif shown_by == "a client on the pane beside it":
        server.split(actor.pane, detached=False)
        server.attach("main", 100, 40)
    assert sum(len(stage.step().alerts) for _ in range(3)) == 1


def test_case_113_a_prompt_answered_at_once_rings_nothing(stage: Stage) -> None:
    """Blocked for less than a second."""
    stage.server.cmd("set-option", "-g", "@agents-alert", "bell")
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    assert not stage.step(200).alerts
    actor.show(WORKING)
    assert not stage.step(400).alerts
    assert not stage.step(2_000).alerts


def test_answering_a_prompt_is_input_to_its_mark(stage: Stage) -> None:
    """The key that answered came before the run that follows: it still counts for the mark the prompt raised."""
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    client = stage.server.attach("main", 100, 40)
    stage.server.cmd("select-window", "-t", actor.pane)
    time.sleep(2.1)
    stage.clock.wall = int(time.time() * 1000)
    stage.cycle.run_pass()
    assert actor.option("@agent_attention") == "1"
    time.sleep(1.1)
    client.send("y")
    wait_for(lambda: int(client.format("#{client_activity}")) * 1000 > int(actor.option("@agent_since")), what="input")
    actor.show(IDLE)
    stage.clock.wall = int(time.time() * 1000) + 2_000
    stage.step(1)
    assert (actor.state(), actor.option("@agent_attention")) == ("idle", "")


@pytest.mark.parametrize("mode", ["dwell", "input"])
def test_case_102_the_key_that_brings_you_is_no_answer(stage: Stage, mode: str) -> None:
    """With dwell and input, arriving by key while passes run leaves the mark; staying, or typing there, takes it."""
    server = stage.server
    server.cmd("set-option", "-g", "@agents-clear-on", mode)
    actor = Actor(server)
    actor.show(BLOCKED)
    client = server.attach("main", 100, 40)
    time.sleep(2.1)
    stage.clock.wall = int(time.time() * 1000)
    stage.cycle.run_pass()
    assert (actor.state(), actor.option("@agent_attention")) == ("blocked/permission", "1")
    time.sleep(1.1)
    client.send(b"\x02n")
    wait_for(lambda: client.where() == actor.pane, what="arrived")
    stage.clock.wall = int(time.time() * 1000)
    for _ in range(3):
        stage.step(400)
    assert actor.option("@agent_attention") == "1"
    if mode == "dwell":
        stage.step(2_000)
    else:
        stage.step(5_000)
        assert actor.option("@agent_attention") == "1"
        # Input is later than the passes' own clock only if real time catches up with it.
        server.cmd("select-window", "-t", "main:0")
        stage.clock.wall = int(time.time() * 1000)
        stage.step(0)
        server.cmd("select-window", "-t", actor.pane)
        stage.step(0)
        time.sleep(1.2)
        client.send("x")
        time.sleep(0.2)
        stage.step(10)
    assert actor.option("@agent_attention") == ""
