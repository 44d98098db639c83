"""A stopped agent (Ctrl-Z, SIGSTOP): nothing on the screen is its own, what it said waits until it runs again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from agents_plugin.core.fold import Facts
from agents_plugin.core.states import Source
from agents_plugin.host import processes
from agents_plugin.host.processes import Procfs, Psutil
from agents_plugin.monitor import Monitor
from tests.actor import Actor
from tests.lane import BLOCKED, COMPOSER, DIALOG, IDLE, NOTHING, SPINNER, WORKING, Lane, working_lane
from tests.stage import BLOCKED as DIALOG_SCREEN
from tests.stage import WORKING as WORKING_SCREEN
from tests.stage import Stage
from tests.stories import asking
from tests.support import Server, wait_for
from tests.test_monitor import Start, plugged, start

__all__ = ["plugged", "start"]

STOPPED = Facts(foreground=False, stopped=True)
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def stop_and_go_on(lane: Lane, seconds: int = 5) -> None:
    """Ctrl-Z, the shell's prompt for a while, and `fg`."""
    lane.facts = STOPPED
    for _ in range(seconds):
        lane.step(1_000, None)
        assert (lane.shown, lane.marked) == ("idle/suspended", False)
    lane.facts = Facts()


@pytest.mark.parametrize("source", [Source.HOOK, Source.RECORD, Source.REPORT, None])
@pytest.mark.parametrize("foreground", [True, False], ids=["SIGSTOP", "Ctrl-Z"])
def test_a_stopped_agent_waits_for_nobody(source: Source | None, foreground: bool) -> None:
    lane = Lane()
    if source:
        lane.hear(BLOCKED, source, detail="permission")
    lane.step(1_000, DIALOG)
    assert (lane.shown, lane.marked) == ("blocked/permission", True)
    lane.facts = Facts(foreground=foreground, stopped=True)
    lane.step(500, None)
    assert (lane.shown, lane.marked) == ("idle/suspended", False)
    assert lane.verdict and lane.verdict.source is Source.PROCESS and not lane.verdict.text


def test_its_screen_is_nobodys_evidence() -> None:
    lane = working_lane()
    lane.facts = Facts(stopped=True)
    for reading in (DIALOG, SPINNER, COMPOSER):
        lane.step(1_000, reading)
        assert lane.shown == "idle/suspended"


def test_what_it_said_before_stands_again() -> None:
    lane = Lane()
    lane.hear(BLOCKED, detail="permission")
    lane.step(1_000, NOTHING)
    stop_and_go_on(lane)
    lane.step(500, NOTHING)
    assert lane.shown == "blocked/permission"


def test_what_the_screen_said_before_stands_again_until_it_is_drawn() -> None:
    lane = working_lane()
    since = lane.verdict and lane.verdict.since_ms
    stop_and_go_on(lane)
    assert lane.steps(2, NOTHING) == [WORKING, WORKING]
    assert lane.verdict and lane.verdict.since_ms == since, "the same run goes on"


def test_the_dialog_is_back_with_its_mark() -> None:
    story = asking()
    stop_and_go_on(story.lane)
    assert story.look(500, DIALOG) == "blocked/permission"
    assert story.lane.marked and story.verdict.text == "approve Bash: make"


def test_at_rest_again_it_is_no_longer_suspended() -> None:
    lane = Lane()
    lane.hear(IDLE, why="Stop", turn_end=True)
    lane.step(1_000, COMPOSER)
    stop_and_go_on(lane)
    lane.step(500, NOTHING)
    assert (lane.shown, lane.marked) == ("idle", False)


def test_a_turn_that_goes_on_and_ends_raises_its_mark() -> None:
    lane = working_lane()
    stop_and_go_on(lane)
    assert lane.steps(1, COMPOSER) == [WORKING], "a screen that is just drawn anew is no rest yet"
    lane.steps(4, COMPOSER)
    assert (lane.shown, lane.marked) == ("idle", True)


def test_something_newer_said_meanwhile_counts() -> None:
    lane = Lane()
    lane.hear(BLOCKED, detail="permission")
    lane.step(1_000, DIALOG)
    lane.facts = STOPPED
    lane.step(1_000, None)
    lane.hear(WORKING)
    lane.step(1_000, None)
    assert lane.shown == "idle/suspended"
    lane.facts = Facts()
    assert lane.steps(1, NOTHING) == [WORKING]


def test_an_agent_first_met_stopped_is_not_known_when_it_goes_on() -> None:
    lane = Lane(facts=STOPPED)
    lane.step(1_000, None)
    lane.facts = Facts()
    lane.step(1_000, NOTHING)
    assert lane.shown == "unknown"
    assert not lane.raised


# --- with real processes


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[psutil.Popen]:
    """A process with a child, in a group of its own."""
    code = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    process = psutil.Popen([sys.executable, "-c", code], start_new_session=True)
    wait_for(lambda: process.children(), what="a child")
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("backend", [pytest.param(Procfs, marks=linux), Psutil])
def test_a_stop_is_read_of_the_very_process(backend: Callable[[], Procfs | Psutil], sleeper: psutil.Popen) -> None:
    reader = backend()

    def stopped() -> bool:
        proc, pulse = reader.stat(sleeper.pid), reader.pulse(sleeper.pid)
        assert proc and pulse and proc.stopped is pulse.stopped
        return proc.stopped

    child = sleeper.children()[0]
    child.suspend()
    wait_for(lambda: (found := reader.stat(child.pid)) and found.stopped, what="the child stopped")
    assert not stopped()
    os.kill(sleeper.pid, signal.SIGSTOP)
    wait_for(stopped, what="stopped")
    os.kill(sleeper.pid, signal.SIGCONT)
    wait_for(lambda: not stopped(), what="continued")
    assert reader.pulse(2**22 + 1) is None


def queue(stage: Stage) -> str:
    """Who waits."""
    return stage.server.global_option("@agents_queue")


def test_sigstop_takes_the_pane_out_of_the_queue_and_sigcont_puts_it_back(stage: Stage) -> None:
    actor = Actor(stage.server, below=True)
    actor.show(DIALOG_SCREEN)
    stage.step()
    text = actor.option("@agent_status_text")
    assert text and queue(stage) == f"{actor.pane} "
    os.kill(actor.pid, signal.SIGSTOP)
    wait_for(lambda: (proc := processes.glance(actor.pid, None)) and proc.stopped, what="stopped")
    stage.step()
    assert (actor.state(), actor.option("@agent_attention"), queue(stage)) == ("idle/suspended", "", "")
    assert not actor.option("@agent_status_text")
    os.kill(actor.pid, signal.SIGCONT)
    wait_for(lambda: (proc := processes.glance(actor.pid, None)) and not proc.stopped, what="continued")
    stage.step()
    assert (actor.state(), actor.option("@agent_status_text")) == ("blocked/permission", text)
    assert queue(stage) == f"{actor.pane} "


@pytest.mark.versions
def test_ctrl_z_in_a_shell_and_fg(stage: Stage) -> None:
    """Job control as a person uses it, the agent behind a launcher that is stopped with it."""
    server = stage.server
    agent = server.base / "claude"
    agent.symlink_to("/bin/sleep")
    launcher = server.base / "launch"
    launcher.write_text(f"#!/bin/sh\n{agent} 1000\nexit\n")
    launcher.chmod(0o755)
    pane = server.window("exec bash --norc --noprofile -i")

    def seen() -> str:
        stage.step()
        return f"{server.option(pane, '@agent_state')}/{server.option(pane, '@agent_detail')}"

    for command in (str(agent) + " 1000", str(launcher)):
        server.cmd("send-keys", "-t", pane, command, "Enter")
        wait_for(lambda: seen() == "unknown/", what="the agent")
        server.cmd("send-keys", "-t", pane, "C-z")
        wait_for(lambda: seen() == "idle/suspended", what="suspended")
        server.cmd("send-keys", "-t", pane, "fg", "Enter")
        wait_for(lambda: seen() == "unknown/", what="on again")
        server.cmd("send-keys", "-t", pane, "C-z")
        wait_for(lambda: seen() == "idle/suspended", what="suspended again")
        server.cmd("send-keys", "-t", pane, "bg", "Enter")
        # It runs on behind the shell: no longer stopped, and its screen is still not there to read.
        wait_for(lambda: seen() == "unknown/", what="in the background")
        server.cmd("send-keys", "-t", pane, "fg", "Enter")
        wait_for(lambda: "sleep" in (now := server.format(pane, "#{pane_current_command}")) or now != "bash", what="fg")
        server.cmd("send-keys", "-t", pane, "C-c")
        wait_for(lambda: seen() == "/", what="the agent gone")


def test_the_monitor_notices_within_a_moment(plugged: Server, start: Start) -> None:
    """The glance between passes sees a stop and the end of it: no pass is due for seconds while an agent rests."""
    server = plugged
    actor = Actor(server, below=True)
    actor.show(WORKING_SCREEN)
    start(server)
    wait_for(lambda: actor.state() == "working", what="working")
    os.kill(actor.pid, signal.SIGSTOP)
    wait_for(lambda: actor.state() == "idle/suspended", timeout=4, what="suspended")
    os.kill(actor.pid, signal.SIGCONT)
    wait_for(lambda: actor.state() == "working", timeout=2.5, what="working again")


def test_the_glance_compares_with_what_the_pass_saw(stage: Stage) -> None:
    actor = Actor(stage.server, below=True)
    actor.show(DIALOG_SCREEN)
    last = stage.step()
    watch = Monitor.__new__(Monitor)
    watch._ticks = {}
    assert not watch._glance_at_processes(last, True)
    os.kill(actor.pid, signal.SIGSTOP)
    wait_for(lambda: watch._glance_at_processes(last, False), what="the stop noticed")
    last = stage.step()
    assert not watch._glance_at_processes(last, False)
    os.kill(actor.pid, signal.SIGCONT)
    wait_for(lambda: watch._glance_at_processes(last, False), what="the end of the stop noticed")
