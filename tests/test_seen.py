"""Marks with everything at work: plugin loaded, helper alive, an agent that finishes, clients that look and type."""

from __future__ import annotations

import subprocess

import pytest

from tests.actor import Actor
from tests.loading import give_python, load, monitor_pid, settle
from tests.support import Client, Server, stays, wait_for

pytestmark = [pytest.mark.versions, pytest.mark.timeout(120)]

BLOCKED = "blocked__bash_permission__w100"


class Scene:
    """`agent` in a window of its own with a split beside it; `main` is another window."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.cmd("set-option", "-g", "assume-paste-time", "0")
        give_python(server)
        load(server)
        settle(server)
        wait_for(lambda: monitor_pid(server), what="monitor")
        self.main = server.format("main:0", "#{pane_id}")
        self.agent = Actor(server)
        self.pane = self.agent.pane

    def marked(self) -> bool:
        return self.server.option(self.pane, "@agent_attention") == "1"

    def look_at(self, client: Client, pane: str) -> None:
        self.server.cmd("switch-client", "-c", client.name, "-t", pane)
        wait_for(lambda: client.where() == pane)
        client.settle()

    def block(self) -> None:
        self.agent.show(BLOCKED)
        wait_for(self.marked, what="mark")


@pytest.fixture
def scene(server: Server) -> Scene:
    return Scene(server)


@pytest.fixture
def client(scene: Scene) -> Client:
    return scene.server.attach("main", 120, 45)


def test_typing_there_clears(scene: Scene, client: Client) -> None:
    scene.look_at(client, scene.pane)
    scene.block()
    stays(scene.marked, 1.5)  # being on the screen is not being looked at
    client.send("x")
    wait_for(lambda: not scene.marked(), what="cleared by typing")
    assert scene.agent.state() == "blocked/permission"


def test_typing_in_a_popup_clears_nothing(scene: Scene, client: Client) -> None:
    scene.look_at(client, scene.pane)
    scene.block()
    typed = scene.server.base / "typed"
    argv = [*scene.server.argv, "display-popup", "-c", client.name, "-E", f"cat >{typed}"]
    popup = subprocess.Popen(argv, env=scene.server.env)  # it waits until the popup closes
    wait_for(typed.exists, what="popup open")
    client.send("typed into the popup\r")
    wait_for(lambda: "popup" in typed.read_text(), what="the popup has it")
    stays(scene.marked, 1.5)
    client.send("\x04")
    assert popup.wait(timeout=10) == 0
    stays(scene.marked, 1.5)


def test_typing_in_a_neighbouring_split_clears_nothing(scene: Scene, client: Client) -> None:
    beside = scene.server.split(scene.pane)
    scene.look_at(client, beside)
    scene.block()
    client.send("hello\r")
    stays(scene.marked, 2)


def test_attaching_and_switching_session_clear_nothing(scene: Scene, client: Client) -> None:
    scene.server.start("other")
    scene.server.cmd("select-window", "-t", scene.pane)
    scene.server.cmd("switch-client", "-c", client.name, "-t", "other")
    scene.block()
    second = scene.server.attach("main")
    stays(scene.marked, 2)
    scene.server.cmd("detach-client", "-t", second.name)
    stays(scene.marked, 1)


def test_case_102_dwell_takes_staying(scene: Scene, client: Client) -> None:
    scene.server.cmd("set-option", "-g", "@agents-clear-on", "dwell")
    scene.block()
    client.send("\x02n")
    wait_for(lambda: client.where() == scene.pane)
    client.send("\x02n")
    wait_for(lambda: client.where() == scene.main)
    stays(scene.marked, 1.5)
    scene.server.cmd("switch-client", "-c", client.name, "-t", scene.pane)
    wait_for(lambda: not scene.marked(), what="cleared by staying")


def test_case_102_input_takes_typing(scene: Scene, client: Client) -> None:
    scene.server.cmd("set-option", "-g", "@agents-clear-on", "input")
    scene.block()
    scene.server.cmd("switch-client", "-c", client.name, "-t", scene.pane)
    stays(scene.marked, 3.5)
    client.send("x")
    wait_for(lambda: not scene.marked(), what="cleared by typing")


def test_jump_from_the_queue_the_helper_wrote(scene: Scene, client: Client) -> None:
    scene.block()
    wait_for(lambda: scene.server.global_option("@agents_queue") == f"{scene.pane} ", what="queue")
    wait_for(lambda: "1" in scene.server.global_option("@agents_status"), what="segment")
    client.send("\x02j")
    wait_for(lambda: client.where() == scene.pane)
    wait_for(lambda: not scene.marked())
    client.send("\x02J")
    wait_for(lambda: client.where() == scene.main)


def test_a_killed_pane_leaves_every_count(scene: Scene, client: Client) -> None:
    beside = scene.server.split(scene.pane)
    scene.block()
    wait_for(lambda: scene.server.window_option(beside, "@agent_summary") == "blocked:1")
    scene.server.cmd("kill-pane", "-t", scene.pane)
    wait_for(lambda: scene.server.window_option(beside, "@agent_summary") == "")
    wait_for(lambda: scene.server.global_option("@agents_summary") == "")
