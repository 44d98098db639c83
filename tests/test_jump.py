"""Jump, back and list: pure tmux, pressed by real clients, with no helper alive."""

from __future__ import annotations

import subprocess

import pytest

from tests.support import ROOT, Client, Server, stays, wait_for

pytestmark = pytest.mark.versions

ROLLUP = "set-option -s command-alias[4710] 'agents-rollup=set-environment -gh AGENTS_ROLLED yes'\n"
KEYS = "".join(f"bind-key {key[0]} run-shell -C agents-{key[2:]}\n" for key in ("j jump", "J back", "A list"))


class Desk:
    """Session `main`: window 0 panes a b, window 1 pane c. Session `other`: window 0 pane d, window 1 pane e."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.cmd("set-option", "-g", "assume-paste-time", "0")
        self.a = server.format("main:0", "#{pane_id}")
        self.b = server.split(self.a)
        self.c = server.window(target="main:1")
        self.d = server.start("other")
        self.e = server.window(target="other:1")
        server.cmd("source-file", "-", stdin=ROLLUP + (ROOT / "scripts" / "navigation.tmux").read_text() + KEYS)

    def blocked(self, *panes: str) -> None:
        for pane in panes:
            self.server.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")

    def done(self, *panes: str) -> None:
        for pane in panes:
            self.server.cmd("set-option", "-p", "-t", pane, "@agent_state", "idle")
            self.server.cmd("set-option", "-p", "-t", pane, "@agent_attention", "1")

    def queue(self, *panes: str) -> None:
        self.server.cmd("set-option", "-g", "@agents_queue", "".join(f"{pane} " for pane in panes))


@pytest.fixture
def desk(server: Server) -> Desk:
    return Desk(server)


@pytest.fixture
def client(desk: Desk) -> Client:
    return desk.server.attach("main")


def press(client: Client, key: str) -> None:
    client.send("\x02" + key)


def lands(client: Client, pane: str) -> None:
    wait_for(lambda: client.where() == pane, timeout=5, what=f"in {pane}")


def says(client: Client, text: str) -> None:
    wait_for(lambda: text.encode() in bytes(client.output), timeout=5, what=f"message {text}")


def test_the_order_of_the_queue_and_around(desk: Desk, client: Client) -> None:
    desk.blocked(desk.e, desk.c)
    desk.done(desk.b)
    desk.queue(desk.e, desk.c, desk.b)
    press(client, "j")
    lands(client, desk.e)
    press(client, "j")
    lands(client, desk.c)
    press(client, "j")
    lands(client, desk.b)
    # b was only unseen: it is seen now and drops out.
    press(client, "j")
    lands(client, desk.e)
    press(client, "j")
    lands(client, desk.c)
    press(client, "j")
    lands(client, desk.e)


def test_it_clears_the_mark_it_lands_on_and_no_other(desk: Desk, client: Client) -> None:
    desk.done(desk.c, desk.d, desk.e)
    desk.queue(desk.c, desk.d, desk.e)
    press(client, "j")
    lands(client, desk.c)
    wait_for(lambda: not desk.server.option(desk.c, "@agent_attention"))
    wait_for(lambda: desk.server.hidden().get("AGENTS_ROLLED"))
    stays(
        lambda: desk.server.option(desk.d, "@agent_attention") == desk.server.option(desk.e, "@agent_attention") == "1"
    )


def test_a_mark_in_another_session_where_nothing_else_changes_is_cleared(desk: Desk, client: Client) -> None:
    desk.done(desk.d)
    desk.queue(desk.d)
    press(client, "j")
    lands(client, desk.d)
    wait_for(lambda: not desk.server.option(desk.d, "@agent_attention"))


def test_marks_are_left_when_they_come_down_by_typing(desk: Desk, client: Client) -> None:
    """Jump always clears where it lands: pressing it is an answer, whatever walking past means."""
    desk.server.cmd("set-option", "-g", "@agents-clear-on", "input")
    desk.done(desk.c)
    desk.queue(desk.c)
    press(client, "j")
    wait_for(lambda: not desk.server.option(desk.c, "@agent_attention"))


def test_gone_and_settled_panes_are_skipped(desk: Desk, client: Client) -> None:
    desk.blocked(desk.b, desk.e)
    desk.queue("%999", desk.c, desk.e, desk.b)
    press(client, "j")
    lands(client, desk.e)


def test_panes_that_are_not_queued_are_found_too(desk: Desk, client: Client) -> None:
    desk.server.cmd("set-option", "-p", "-t", desk.c, "@agent_state", "blocked:1796000000")
    press(client, "j")
    lands(client, desk.c)
    desk.blocked(desk.e)
    desk.queue(desk.e)
    press(client, "j")
    lands(client, desk.e)
    press(client, "j")
    lands(client, desk.c)


def test_ids_that_begin_alike_are_told_apart(desk: Desk, client: Client) -> None:
    panes = [desk.server.window(target=f"main:{index}") for index in range(10, 22)]
    long = next(pane for pane in panes if len(pane) == 3)
    desk.blocked(long)
    desk.queue(desk.b, long[:-1], long)
    press(client, "j")
    lands(client, long)


@pytest.mark.parametrize("state", ["none", "working", "idle"])
def test_nobody_waits(state: str, desk: Desk, client: Client) -> None:
    if state != "none":
        desk.server.cmd("set-option", "-p", "-t", desk.c, "@agent_state", state)
        desk.queue(desk.c)
    press(client, "j")
    says(client, "agents.tmux: no agent waits for you")
    assert client.where() == desk.a


def test_case_107_already_at_the_only_one(desk: Desk, client: Client) -> None:
    desk.done(desk.a)
    desk.queue(desk.a)
    press(client, "j")
    says(client, "agents.tmux: no other agent waits for you")
    wait_for(lambda: not desk.server.option(desk.a, "@agent_attention"))
    assert client.where() == desk.a


@pytest.mark.parametrize("how", ["key", "command-in-a-pane"])
def test_case_098_a_linked_window_is_reached_in_the_clients_own_session(how: str, desk: Desk, client: Client) -> None:
    desk.server.cmd("link-window", "-d", "-s", "other:1", "-t", "main:7")
    other = desk.server.attach("other")
    desk.blocked(desk.e)
    desk.queue(desk.e)
    other.send(" ")
    other.settle()  # the other session is the more recent one now
    if how == "key":
        press(client, "j")
    else:
        argv = [desk.server.binary.path, "agents-jump"]
        subprocess.run(argv, env=desk.server.inside(desk.a), check=True, timeout=10)
    lands(client, desk.e)
    assert client.format("#{session_name}:#{window_index}") == "main:7"
    assert other.where() == desk.d


def test_panes_nobody_queued_take_turns(desk: Desk, client: Client) -> None:
    desk.blocked(desk.c, desk.e)
    for pane in (desk.c, desk.e, desk.c):
        press(client, "j")
        lands(client, pane)


def test_it_moves_only_the_client_that_pressed_it(desk: Desk, client: Client) -> None:
    second = desk.server.attach("other")
    desk.blocked(desk.c)
    desk.queue(desk.c)
    press(second, "j")
    wait_for(lambda: second.format("#{session_name}") == "main")
    lands(second, desk.c)
    press(client, "j")
    says(client, "no other agent")


def test_a_zoomed_window_shows_the_pane_zoomed(desk: Desk, client: Client) -> None:
    press(client, "z")
    wait_for(lambda: desk.server.format(desk.a, "#{window_zoomed_flag}") == "1")
    desk.blocked(desk.b)
    desk.queue(desk.b)
    press(client, "j")
    lands(client, desk.b)
    assert desk.server.format(desk.b, "#{window_zoomed_flag}") == "1"


def test_back_to_where_the_jumps_began(desk: Desk, client: Client) -> None:
    press(client, "J")
    says(client, "agents.tmux: you have not jumped yet")
    desk.blocked(desk.c, desk.e)
    desk.queue(desk.c, desk.e)
    for pane in (desk.c, desk.e):
        press(client, "j")
        lands(client, pane)
    press(client, "J")
    lands(client, desk.a)
    press(client, "J")
    lands(client, desk.e)
    press(client, "J")
    lands(client, desk.a)


def test_back_is_every_clients_own(desk: Desk, client: Client) -> None:
    second = desk.server.attach("other")
    desk.blocked(desk.c)
    desk.queue(desk.c)
    press(client, "j")
    lands(client, desk.c)
    press(second, "J")
    says(second, "you have not jumped yet")
    press(client, "J")
    lands(client, desk.a)


def test_back_follows_a_pane_that_moved_and_says_when_it_is_gone(desk: Desk, client: Client) -> None:
    desk.blocked(desk.c)
    desk.queue(desk.c)
    press(client, "j")
    lands(client, desk.c)
    desk.server.cmd("break-pane", "-d", "-s", desk.a, "-t", "main:9")
    press(client, "J")
    lands(client, desk.a)
    press(client, "j")
    lands(client, desk.c)
    desk.server.cmd("kill-pane", "-t", desk.a)
    press(client, "J")
    says(client, "agents.tmux: the pane you came from is gone")
    assert client.where() == desk.c


def test_the_list_shows_agents_only_state_first(desk: Desk, client: Client) -> None:
    press(client, "A")
    says(client, "agents.tmux: no agent in any pane")
    desk.blocked(desk.b)
    desk.done(desk.e)
    for pane, name in ((desk.b, "claude"), (desk.e, "codex")):
        desk.server.cmd("set-option", "-p", "-t", pane, "@agent_name", name)
    desk.server.cmd("set-option", "-p", "-t", desk.b, "@agent_detail", "permission")
    press(client, "A")
    wait_for(lambda: "tree-mode" in desk.server.format(desk.a, "#{pane_mode}"))
    says(client, "blocked  claude (permission)")
    says(client, "done     codex")
    client.settle()
    client.send("G")
    client.send("\r")
    lands(client, desk.e)


HOSTILE: dict[str, str] = {
    "style": "#[bg=red]x",
    "job": "#(touch PLANTED)",
    "format": "#{E:@hostile}#{T:@hostile}",
    "command": "'; run-shell 'touch PLANTED' ; \"} {",
    "braces": "},} #{ ,",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=f"case-127-{name}") for name, text in HOSTILE.items()])
def test_hostile_text_runs_nothing(text: str, desk: Desk, client: Client) -> None:
    planted = desk.server.base / "planted"
    text = text.replace("PLANTED", str(planted))
    desk.server.cmd("set-option", "-g", "@hostile", f"#(touch {planted})")
    for option in ("@agent_name", "@agent_detail", "@agent_status_text", "@agent_display_name"):
        desk.server.cmd("set-option", "-p", "-t", desk.c, option, text)
    desk.blocked(desk.c)
    desk.server.cmd("set-option", "-p", "-t", desk.e, "@agent_state", text)
    desk.server.cmd("set-option", "-p", "-t", desk.e, "@agent_attention", text)
    desk.server.cmd("set-option", "-g", "@agents_queue", f"{text} {desk.c} {text}")
    press(client, "j")
    lands(client, desk.c)
    press(client, "J")
    lands(client, desk.a)
    press(client, "A")
    wait_for(lambda: "tree-mode" in desk.server.format(desk.a, "#{pane_mode}"))
    client.settle()
    stays(lambda: not planted.exists(), 0.5)
    assert desk.server.option(desk.e, "@agent_state") == text


@pytest.mark.parametrize(
    "queue",
    [pytest.param("; kill-server ", id="case-128-command"), pytest.param("%1; kill-server %1 ", id="case-128-id")],
)
def test_a_planted_queue_is_no_command(queue: str, desk: Desk, client: Client) -> None:
    desk.server.cmd("set-option", "-g", "@agents_queue", queue)
    desk.blocked(desk.b)
    press(client, "j")
    lands(client, desk.b)
