"""Texts of any length and any kind: what tmux hands over is bounded, and what is short is exact."""

from __future__ import annotations

import pytest

from agents_plugin.core.evidence import Snapshot
from agents_plugin.settings import parse as settings_of
from agents_plugin.tmux import formats, listing
from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.contract import quote
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.runner import Runner
from tests.actor import Actor
from tests.stage import IDLE, Stage
from tests.support import Server, wait_for
from tests.test_runner import runner_of

pytestmark = pytest.mark.versions

SHORT = (
    "plain",
    "two\twords | here",
    "a # b ## c ### d #### e",
    "##[fg=red]x#[bold]y ###[z]",
    "#[never closed",
    "#{pane_id} #(id) #{?1,a,b}",
    "comma, brace } and { quote'd \" $HOME \\ ;",
    "é漢字👩\u200d💻 e\u0301 ﷽",
    "100% %H:%M",
    "x" * 256,
    "漢" * 256,
    "#" * 200,
)
LONG = {
    "letters": "x" * 900_000,
    "marks": "e" + "\u0301" * 440_000,
    "wide": "漢" * 300_000,
    "hashes": "#" * 900_000,
    "style": "#[" + "x" * 900_000 + "]",
    "tabs": "x\t" * 440_000,
    "letters-cut": "x" * 60_000,
    "marks-cut": "e" + "\u0301" * 30_000,
}


def put(server: Server, option: str, value: str, flags: str = "-p -t %0") -> None:
    server.cmd("source-file", "-", stdin=f"set-option {flags} {option} {quote(value)}\n")


@pytest.mark.parametrize("value", SHORT)
def test_a_short_text_is_read_as_it_is(value: str, server: Server) -> None:
    options = ("@agent_status_text", "@agent_hint", "@agent_session_id")
    for option in options:
        put(server, option, value)
    put(server, "@agents-alert-command", value, "-g")
    found = observe(runner_of(server))
    (row,) = found.panes
    # What only we write has no controls.
    wanted = {name: value.replace("\t", "") if name == "@agent_session_id" else value for name in options}
    assert {name: row.options[name] for name in options} == wanted
    assert found.settings == {"@agents-alert-command": value}


def read_whole(runner: Runner, panes: list[str]) -> Snapshot | None:
    """A listing with these panes. tmux >= 3.7 ends an expansion after 100 ms: then the pane is named as unreadable."""
    found = observe(runner)
    listed = [row.pane_id for row in found.panes]
    assert sorted([*listed, *found.unreadable]) == sorted(panes)
    return found if listed == panes else None


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_is_cut_by_tmux(kind: str, server: Server) -> None:
    """Title, names, options, a report: the answer is small, every pane is in it, and the state can be overwritten."""
    other = server.window("cat")
    title = server.base / "title"
    title.write_text(f"\033]2;{LONG[kind].replace(chr(9), '')}\033\\end\n", encoding="utf-8")
    noisy = server.window(f"cat {title}; exec cat", name="noisy")
    wait_for(lambda: "end" in server.screen(noisy), what="the title set")
    for option in ("@agent_status_text", "@agent_hint", "@agent_state", "@agent_detail"):
        put(server, option, LONG[kind], f"-p -t {noisy}")
    put(server, "@agents-alert-command", LONG[kind], "-g")
    runner = runner_of(server)
    found = wait_for(lambda: read_whole(runner, ["%0", other, noisy]), what="a listing that tmux did not cut")
    row = found.panes[2]
    assert row.options["@agent_state"] == formats.NO_STATE
    texts = (row.title, row.window_name, row.session_name, *row.options.values())
    assert max(map(len, texts)) <= formats.CHARACTERS
    assert settings_of(found.settings).problems == ("@agents-alert-command is too long; using ''",)
    assert len(capture(runner, [noisy])[noisy].title) <= formats.CHARACTERS
    # @agent_detail is written by few: marks without a width come through once, and are not kept.
    server.cmd("set-option", "-pu", "-t", noisy, "@agent_detail")
    answer = runner.check("list-panes", "-a", "-F", listing.pane_format("n"))
    assert len(answer) < 3 * 8_000
    assert sum(len(part) for parts in listing._rows for part in parts) < 3 * 8_000


def test_rows_that_are_gone_are_not_kept(server: Server) -> None:
    """As many rows as the last listing had, however many titles there were; an unchanged row is the same object."""
    runner = runner_of(server)
    server.window("cat")
    for number in range(50):
        server.cmd("select-pane", "-t", "%0", "-T", f"title {number}")
        found = observe(runner)
        assert len(listing._rows) == 2
    again = observe(runner)
    assert [one is other for one, other in zip(found.panes, again.panes, strict=True)] == [True, True]


def test_a_report_that_is_too_long_is_overwritten(server: Server) -> None:
    """It is no report, and it does not keep what we publish away."""
    stage = Stage(server)
    actor = Actor(server)
    actor.show(IDLE)
    stage.step()
    assert actor.state() == "idle"
    for value in ("a" * 100_000, "blocked" + " " * 100_000):
        put(server, "@agent_state", value, f"-p -t {actor.pane}")
        stage.step()
        assert actor.state() == "idle"


@pytest.mark.parametrize(
    "text", ["x" * 900_000, "e" + "\u0301" * 440_000, "x" * 5_000], ids=["letters", "marks", "cut"]
)
def test_a_text_that_is_too_long_does_not_stay_shown(text: str, server: Server) -> None:
    """Beside a report: a status text of any length is made one of 32 cells, or goes."""
    stage = Stage(server)
    put(server, "@agent_status_text", text)
    put(server, "@agent_state", "working")
    stage.step()
    assert server.option("%0", "@agent_state") == "working"
    assert len(server.option("%0", "@agent_status_text")) <= 64


def test_the_servers_row_is_within_what_display_message_takes() -> None:
    """Beyond 8191 bytes strftime gives nothing, and there is no listing."""
    assert len(listing._server_format("0" * 8)) < 8_000


def test_a_variable_of_somebody_else_is_not_forgotten_again_and_again(server: Server) -> None:
    """What only looks like ours costs no pass a process."""
    server.cmd("set-environment", "-gh", "AGENTS_77_V", "1.1")
    server.cmd("set-environment", "-gh", "AGENTS_77_OTHER", "x")
    server.cmd("set-environment", "-gh", "AGENTS_78_V", "y" * 5_000)
    stage = Stage(server)
    stage.step()
    assert [name for name in server.hidden() if name.startswith("AGENTS_7")] == ["AGENTS_77_OTHER", "AGENTS_78_V"]
    before = stage.cycle.runner.processes
    stage.step()
    assert stage.cycle.runner.processes == before + 1
