"""What takes an attention mark down and what does not: real clients, our hooks, every tmux version at hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT, Client, Server, stays, wait_for

pytestmark = pytest.mark.versions

ROLLUP = "set-option -s command-alias[4710] 'agents-rollup=set-environment -gh AGENTS_ROLLED yes'\n"


class Desk:
    """Session `main`: window 0 with panes `a` (active) and `b`, window 1 `c`, window 2 `d`; session `other`: `e`."""

    def __init__(self, server: Server, poked: Path) -> None:
        self.server = server
        self.poked = poked
        self.a = server.format("main:0", "#{pane_id}")
        self.b = server.split(self.a)
        self.c = server.window(target="main:1")
        self.d = server.window(target="main:2")
        self.e = server.start("other")
        server.cmd("set-option", "-g", "assume-paste-time", "0")  # keys sent in one go are keys, not a paste
        self.load()

    def load(self) -> None:
        text = ROLLUP + f"set-environment -gh AGENTS_POKE 'echo x >>{self.poked}'\n"
        text += f"set-environment -gh AGENTS_BEAT {int(time.time())}\n"  # as if a helper lived
        self.server.cmd("source-file", "-", stdin=text + (ROOT / "scripts" / "navigation.tmux").read_text())

    def flag(self, *panes: str) -> None:
        for pane in panes:
            self.server.cmd("set-option", "-p", "-t", pane, "@agent_attention", "1")

    def flagged(self) -> set[str]:
        rows = self.server.cmd("list-panes", "-a", "-F", "#{pane_id} #{@agent_attention}").splitlines()
        return {row.split()[0] for row in rows if row.split()[1:] == ["1"]}

    def becomes(self, *panes: str) -> None:
        """The marks become exactly these, and no pane was thrown into a mode."""
        wait_for(lambda: self.flagged() == set(panes), timeout=5, what=f"marks {panes}, not {self.flagged()}")
        self.quiet()

    def keeps(self, *panes: str) -> None:
        stays(lambda: self.flagged() == set(panes), 0.5, what=f"marks stay {panes}")
        self.quiet()

    def quiet(self) -> None:
        modes = self.server.cmd("list-panes", "-a", "-F", "#{pane_id}#{pane_mode}")
        assert "view-mode" not in modes


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Desk:
    return Desk(server, tmp_path / "poked")


@pytest.fixture
def client(desk: Desk) -> Client:
    """A client on `main`."""
    return desk.server.attach("main")


def prefix(key: str) -> bytes:
    return b"\x02" + key.encode()


Move = Callable[[Desk, Client], object]

ARRIVALS: dict[str, tuple[Move, str]] = {
    "case-099-key-select-pane": (lambda d, c: c.send(prefix("o")), "b"),
    "case-099-out-of-band-select-pane": (lambda d, c: d.server.cmd("select-pane", "-t", d.b), "b"),
    "key-next-window": (lambda d, c: c.send(prefix("n")), "c"),
    "key-window-number": (lambda d, c: c.send(prefix("2")), "d"),
    "switch-client-pane-same-window": (lambda d, c: d.server.cmd("switch-client", "-c", c.name, "-t", d.b), "b"),
    "switch-client-pane-other-window": (lambda d, c: d.server.cmd("switch-client", "-c", c.name, "-t", d.d), "d"),
    "kill-pane": (lambda d, c: d.server.cmd("kill-pane", "-t", d.a), "b"),
    "kill-window": (lambda d, c: d.server.cmd("kill-window", "-t", "main:0"), "d"),
    "zoom-of-another-pane": (lambda d, c: d.server.cmd("resize-pane", "-Z", "-t", d.b), "b"),
}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ARRIVALS])
def test_arriving_clears(name: str, desk: Desk, client: Client) -> None:
    move, where = ARRIVALS[name]
    pane = str(getattr(desk, where))
    desk.flag(pane, desk.e)
    move(desk, client)
    desk.becomes(desk.e)
    wait_for(lambda: desk.server.hidden().get("AGENTS_ROLLED"), what="rollup after a clear")
    wait_for(desk.poked.exists, what="poke after a clear")


def test_last_pane_clears_where_it_lands(desk: Desk, client: Client) -> None:
    client.send(prefix("o"))
    wait_for(lambda: client.where() == desk.b)
    client.settle()
    desk.flag(desk.a, desk.e)
    client.send(prefix(";"))
    desk.becomes(desk.e)


def test_choose_tree_clears_where_it_lands(desk: Desk, client: Client) -> None:
    desk.flag(desk.b, desk.d, desk.e)
    client.send(prefix("w"))
    wait_for(lambda: "tree-mode" in desk.server.format(desk.a, "#{pane_mode}"))
    client.settle()
    client.send("G")  # the last row: session other, its window
    client.send("\r")
    wait_for(lambda: client.where() == desk.e, what="choose-tree went to the other session")
    desk.keeps(desk.b, desk.d, desk.e)  # a session was switched, nothing in it was navigated to
    desk.server.cmd("choose-tree", "-t", desk.e, "-f", "#{==:#{pane_id}," + desk.d + "}")
    client.settle()
    client.send("G")
    client.send("\r")
    desk.becomes(desk.b, desk.e)


def test_mouse_click_clears_where_it_lands(desk: Desk, client: Client) -> None:
    desk.server.cmd("set-option", "-g", "mouse", "on")
    desk.flag(desk.b, desk.e)
    client.settle()
    client.click(5, 20)
    desk.becomes(desk.e)


@pytest.mark.parametrize(
    ("move", "left"),
    [
        pytest.param(lambda d, c: c.send(prefix("o")), "a", id="key-select-pane"),
        pytest.param(lambda d, c: c.send(prefix("n")), "a", id="next-window"),
        pytest.param(lambda d, c: c.send(prefix("c")), "a", id="new-window"),
        pytest.param(
            lambda d, c: d.server.cmd("switch-client", "-c", c.name, "-t", d.d), "a", id="switch-client-to-a-pane"
        ),
    ],
)
def test_leaving_clears(move: Move, left: str, desk: Desk, client: Client) -> None:
    desk.flag(str(getattr(desk, left)), desk.e)
    move(desk, client)
    desk.becomes(desk.e)


def test_leaving_by_last_pane_clears(desk: Desk, client: Client) -> None:
    client.send(prefix("o"))
    wait_for(lambda: client.where() == desk.b)
    desk.flag(desk.b, desk.e)
    client.send(prefix(";"))
    desk.becomes(desk.e)


STAYS: dict[str, Move] = {
    "case-107-select-pane-on-itself": lambda d, c: d.server.cmd("select-pane", "-t", d.a),
    "case-100-select-window-on-itself": lambda d, c: d.server.cmd("select-window", "-t", "main:0"),
    "switch-session": lambda d, c: d.server.cmd("switch-client", "-c", c.name, "-t", "other"),
    "popup": lambda d, c: d.server.cmd("display-popup", "-c", c.name, "-E", "true"),
    "typing-in-a-neighbouring-split": lambda d, c: c.send("hello"),
    "zoom-and-unzoom": lambda d, c: (c.send(prefix("z")), c.settle(0.1), c.send(prefix("z"))),
    "detached-selection-in-a-background-window": lambda d, c: d.server.cmd("select-window", "-t", "other:0"),
    "new-window-in-the-background": lambda d, c: d.server.window(target="main:5"),
    "resize": lambda d, c: c.resize(100, 30),
    "case-153-state-change-elsewhere": lambda d, c: d.server.cmd(
        "set-option", "-pq", "-t", d.b, "@agent_state", "blocked"
    ),
}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in STAYS])
def test_clears_nothing(name: str, desk: Desk, client: Client) -> None:
    marks = (desk.a, desk.b, desk.c, desk.d, desk.e)
    desk.flag(*marks)
    STAYS[name](desk, client)
    desk.keeps(*marks)
    assert not desk.poked.exists()


def test_case_153_a_state_change_moves_no_focus_and_keeps_the_zoom(desk: Desk, client: Client) -> None:
    client.send(prefix("z"))
    wait_for(lambda: desk.server.format(desk.a, "#{window_zoomed_flag}") == "1")
    desk.flag(desk.b)
    desk.server.cmd("set-option", "-p", "-t", desk.b, "@agent_state", "blocked")
    desk.keeps(desk.b)
    assert client.where() == desk.a
    assert desk.server.format(desk.a, "#{window_zoomed_flag}") == "1"


def test_selections_in_a_session_nobody_is_attached_to_clear_nothing(desk: Desk) -> None:
    marks = (desk.a, desk.b, desk.c, desk.d)
    desk.flag(*marks)
    desk.server.cmd("select-pane", "-t", desk.b)
    desk.server.cmd("select-window", "-t", "main:1")
    desk.server.cmd("next-window", "-t", "main")
    desk.keeps(*marks)


def test_selection_in_a_window_that_is_not_shown_clears_nothing(desk: Desk, client: Client) -> None:
    other = desk.server.split(desk.c)
    desk.flag(desk.c, other)
    desk.server.cmd("select-pane", "-t", other)
    desk.keeps(desk.c, other)


def test_closing_a_window_clears_no_window_that_was_not_shown(desk: Desk, client: Client) -> None:
    client.send(prefix("1"))
    client.send(prefix("2"))
    wait_for(lambda: client.where() == desk.d)
    client.settle()
    desk.flag(desk.a, desk.b, desk.c)
    desk.server.cmd("kill-window", "-t", "main:2")
    desk.becomes(desk.a, desk.b)  # c is where it landed; a is tmux's new {last}, nobody left it
    desk.keeps(desk.a, desk.b)


def test_killing_a_pane_clears_no_pane_that_was_not_active(desk: Desk, client: Client) -> None:
    third = desk.server.split(desk.b)
    for pane in (desk.b, third):
        desk.server.cmd("select-pane", "-t", pane)
    desk.flag(desk.a, desk.b)
    desk.server.cmd("kill-pane", "-t", third)
    desk.becomes(desk.a)
    desk.keeps(desk.a)


def test_arriving_in_a_window_clears_one_pane_not_its_neighbour(desk: Desk, client: Client) -> None:
    client.send(prefix("1"))
    wait_for(lambda: client.where() == desk.c)
    desk.flag(desk.a, desk.b)
    desk.server.cmd("switch-client", "-c", client.name, "-t", desk.b)
    desk.becomes(desk.a)
    desk.keeps(desk.a)


def test_arriving_from_another_session_clears_nothing_it_did_not_show(desk: Desk, client: Client) -> None:
    desk.server.cmd("switch-client", "-c", client.name, "-t", "other")
    desk.flag(desk.a, desk.b, desk.d)
    desk.server.cmd("switch-client", "-c", client.name, "-t", desk.d)
    desk.becomes(desk.a, desk.b)
    desk.keeps(desk.a, desk.b)


def test_attaching_elsewhere_than_one_left_clears_nothing_finished_meanwhile(desk: Desk, client: Client) -> None:
    desk.server.cmd("detach-client", "-t", client.name)
    wait_for(lambda: not client.session())
    desk.flag(desk.a, desk.b, desk.d)
    desk.server.attach("main:1")
    desk.keeps(desk.a, desk.b, desk.d)


def test_case_106_two_clients_on_one_session_are_somebody(desk: Desk, client: Client) -> None:
    desk.server.attach("main")
    desk.flag(desk.c, desk.e)
    client.send(prefix("n"))
    desk.becomes(desk.e)


def test_case_109_moves_of_one_client_leave_the_panes_of_the_other(desk: Desk, client: Client) -> None:
    desk.server.attach("other")
    desk.flag(desk.c, desk.e)
    client.send(prefix("n"))
    desk.becomes(desk.e)
    desk.keeps(desk.e)


def test_case_105_the_terminal_gets_the_focus_back(desk: Desk, client: Client) -> None:
    desk.server.cmd("set-option", "-s", "focus-events", "on")
    client.send("\x1b[O")
    desk.flag(desk.a, desk.c)
    desk.keeps(desk.a, desk.c)
    client.send("\x1b[I")
    desk.becomes(desk.c)


@pytest.mark.parametrize("mode", ["dwell", "input"])
def test_case_102_walking_past_clears_nothing_when_so_configured(mode: str, desk: Desk, client: Client) -> None:
    desk.server.cmd("set-option", "-g", "@agents-clear-on", mode)
    marks = (desk.a, desk.b, desk.c, desk.d)
    desk.flag(*marks)
    for _ in range(5):
        client.send(prefix("n"))
    client.send(prefix("o"))
    desk.keeps(*marks)


def test_case_102_walking_past_clears_by_default(desk: Desk, client: Client) -> None:
    desk.flag(desk.a, desk.b, desk.c, desk.d)
    for pane in (desk.c, desk.d, desk.a):
        client.send(prefix("n"))
        wait_for(lambda pane=pane: client.where() == pane and pane not in desk.flagged())  # type: ignore[misc]
    desk.becomes(desk.b)


def test_case_110_a_window_hook_of_the_user_masks_one_path_only(desk: Desk, client: Client) -> None:
    desk.server.cmd("set-hook", "-w", "-t", "main:0", "window-pane-changed", "set-option -g @theirs yes")
    desk.flag(desk.b, desk.e)
    desk.server.cmd("select-pane", "-t", desk.b)
    desk.becomes(desk.e)
    wait_for(lambda: desk.server.global_option("@theirs") == "yes")


def test_navigation_without_marks_starts_no_process(desk: Desk, client: Client) -> None:
    for key in "no;lp":
        client.send(prefix(key))
    client.settle()
    assert not desk.poked.exists()
    assert "AGENTS_ROLLED" not in desk.server.hidden()


@pytest.mark.parametrize("beat", ["", "old"], ids=["never", "long-ago"])
def test_a_helper_that_has_not_passed_for_long_is_poked_once(beat: str, desk: Desk, client: Client) -> None:
    if beat:
        desk.server.cmd("set-environment", "-gh", "AGENTS_BEAT", str(int(time.time()) - 70))
    else:
        desk.server.cmd("set-environment", "-ghu", "AGENTS_BEAT")
    client.send(prefix("n"))
    wait_for(desk.poked.exists, what="poke")
    for key in "nop":
        client.send(prefix(key))
    client.settle()
    assert desk.poked.read_text() == "x\n"
    desk.quiet()


REPORTS = {
    "by-a-program": (("-p", "@agent_state", "blocked:17"), "working", True),
    "the-first": (("-p", "@agent_state", "blocked"), "", True),
    "taken-back": (("-pu", "@agent_state"), "working", True),
    "as-published": (("-p", "@agent_state", "working"), "working", True),
    "said-again": (("-p", "@agent_state", "working"), "working by report", False),
    "our-own": (("-pq", "@agent_state", "blocked"), "working", False),
    "another-option": (("-p", "@agent_status_text", "@agent_state"), "working", False),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_wakes_the_helper(name: str, desk: Desk, client: Client) -> None:
    (flags, *words), published, poked = REPORTS[name]
    published, _, source = published.partition(" by ")
    if published:
        desk.server.cmd("set-option", "-pq", "-t", desk.c, "@agent_state", published)
        desk.server.cmd("set-option", "-pq", "-t", desk.c, "@agent_source", source or "screen")
        desk.server.cmd("set-environment", "-gh", f"AGENTS_{desk.c[1:]}_PUB", published)
    desk.server.cmd("set-option", flags, "-t", desk.c, *words)
    if poked:
        wait_for(desk.poked.exists, what="poke")
    stays(lambda: desk.poked.exists() == poked, 0.3)
    assert not poked or desk.poked.read_text() == "x\n"
    desk.quiet()


def test_a_killed_pane_is_counted_out(desk: Desk) -> None:
    desk.server.cmd("set-option", "-w", "-t", "main:0", "@agent_summary", "blocked:1")
    desk.server.cmd("kill-pane", "-t", desk.b)
    wait_for(lambda: desk.server.hidden().get("AGENTS_ROLLED"))


@pytest.mark.parametrize(
    "poke",
    [
        pytest.param("/nonexistent/poke >/dev/null 2>&1 || true", id="missing"),
        pytest.param("(echo out; echo err >&2; exit 3) >/dev/null 2>&1 || true", id="failing-and-printing"),
        pytest.param("", id="unset"),
    ],
)
def test_case_152_no_hook_throws_a_pane_into_view_mode(poke: str, desk: Desk, client: Client) -> None:
    if poke:
        desk.server.cmd("set-environment", "-gh", "AGENTS_POKE", poke)
    else:
        desk.server.cmd("set-environment", "-ghu", "AGENTS_POKE")
    desk.flag(desk.c, desk.d, desk.e)
    client.send(prefix("n"))
    desk.becomes(desk.d, desk.e)
    client.send(prefix("n"))
    desk.becomes(desk.e)
    desk.keeps(desk.e)


def test_loading_twice_installs_once(desk: Desk) -> None:
    def hooks() -> str:
        return desk.server.cmd("show-hooks", "-g") + desk.server.cmd("show-hooks", "-gw")

    before = hooks()
    desk.load()
    assert hooks() == before
    assert before.count("client-focus-in[4710]") == 1
