"""`agents jump` moves the client that asked, and says where to."""

from __future__ import annotations

import pytest

from tests.cli import agents, asked, load
from tests.support import Client, Server, wait_for


@pytest.fixture
def waiting(server: Server) -> tuple[str, str]:
    """Two blocked panes in windows of their own, the first the longer one."""
    load(server)
    panes = server.window(name="one"), server.window(name="two")
    for pane in panes:
        server.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")
        server.cmd("set-option", "-p", "-t", pane, "@agent_attention", "1")
        server.cmd("set-option", "-p", "-t", pane, "@agent_name", "claude")
    server.cmd("set-option", "-g", "@agents_queue", f"{panes[0]} {panes[1]} ")
    return panes


def test_it_goes_round_and_says_where(server: Server, waiting: tuple[str, str]) -> None:
    client = server.attach("main")
    said = asked(server, "jump", pane=server.format("main:0", "#{pane_id}"))
    assert client.where() == waiting[0]
    assert said == f"{waiting[0]} main:1.0 one: claude, blocked\n"
    assert server.option(waiting[0], "@agent_attention") == ""
    asked(server, "jump", pane=waiting[0])
    assert client.where() == waiting[1]


def test_a_job_of_tmux_jumps_for_its_session(server: Server, waiting: tuple[str, str]) -> None:
    client = server.attach("main")
    asked(server, "jump")
    assert client.where() == waiting[0]


@pytest.mark.parametrize("behind", [False, True], ids=["the-last-used", "not-the-last-used"])
def test_the_named_client_is_the_one_that_moves(server: Server, waiting: tuple[str, str], behind: bool) -> None:
    server.start("other")
    away = server.start("away")
    server.cmd("set-option", "-p", "-t", away, "@agent_state", "blocked")
    server.cmd("set-option", "-g", "@agents_queue", f"{away} {waiting[0]} ")
    first, second = server.attach("main"), server.attach("other")
    third = server.attach("main") if behind else second
    if behind:

        def used_later() -> bool:
            third.send("x")
            return int(third.format("#{client_activity}")) > int(first.format("#{client_activity}"))

        wait_for(used_later, interval=0.2, what="another client of the session was used later")
    said = asked(server, "jump", "-c", first.name)
    assert said.startswith(f"{away} away:0.0")
    assert (first.where(), second.where() == away) == (away, False)
    assert not behind or third.session() != first.session()


def test_case_098_a_linked_window_is_reached_in_the_named_clients_own_session(
    server: Server, waiting: tuple[str, str]
) -> None:
    away = server.start("away")
    server.cmd("link-window", "-d", "-s", "away:0", "-t", "main:7")
    server.cmd("set-option", "-p", "-t", away, "@agent_state", "blocked")
    server.cmd("set-option", "-g", "@agents_queue", f"{away} ")
    first, rival, there = server.attach("main"), server.attach("main"), server.attach("away")
    for earlier, later in ((first, rival), (rival, there)):

        def used_later(earlier: Client = earlier, later: Client = later) -> bool:
            later.send("x")
            rows = server.cmd("list-clients", "-F", "#{client_name} #{client_activity}").splitlines()
            used = {name: int(second) for name, second in (row.split() for row in rows)}
            return used[later.name] > used[earlier.name]

        wait_for(used_later, interval=0.2, what="each used after the one before")
    asked(server, "jump", "-c", first.name)
    assert (first.where(), first.session()) == (away, server.format("main:", "#{session_id}"))


def test_nobody_waits(server: Server) -> None:
    load(server)
    server.attach("main")
    assert "no other agent waits" in asked(server, "jump")


@pytest.mark.parametrize(
    ("loaded", "attached", "words", "said"),
    [
        (True, False, (), "no client is attached"),
        (True, True, ("-c", "/dev/nowhere"), "no client /dev/nowhere is attached"),
        (False, True, (), "the plugin is not loaded in this tmux server"),
    ],
    ids=["no-client", "no-such-client", "not-loaded"],
)
def test_what_keeps_it_from_jumping(
    server: Server, loaded: bool, attached: bool, words: tuple[str, ...], said: str
) -> None:
    if loaded:
        load(server)
    if attached:
        server.attach("main")
    done = agents(server, "jump", *words)
    assert (done.returncode, done.stderr) == (1, f"agents jump: {said}\n")
