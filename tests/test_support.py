"""The fixtures themselves: a server of our own, a client that is really attached, keys that really arrive."""

from __future__ import annotations

import pytest

from tests.support import Server, wait_for


@pytest.mark.versions
def test_server_is_private_and_of_the_asked_version(server: Server) -> None:
    assert server.format("main", "#{version}") == server.version
    assert server.socket == server.format("main", "#{socket_path}")
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "idle")
    assert server.option("%0", "@agent_state") == "idle"
    assert server.option("%0", "@agent_detail") == ""


@pytest.mark.versions
def test_client_types_and_is_counted(server: Server) -> None:
    client = server.attach("main", 100, 30)
    client.settle()
    before = client.received
    client.send("hello\r")
    wait_for(lambda: server.screen("%0").count("hello") == 2)
    assert client.received > before
    other = server.window(name="other")
    client.send(b"\x02n")
    wait_for(lambda: client.where() == other)


def test_mouse_reaches_tmux(server: Server) -> None:
    server.cmd("set-option", "-g", "mouse", "on")
    other = server.split("%0")
    client = server.attach("main", 80, 24)
    client.settle()
    assert client.where() == "%0"
    client.click(5, 20)
    wait_for(lambda: client.where() == other)
