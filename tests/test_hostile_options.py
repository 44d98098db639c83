"""Options a person sets are taken literally: nothing in them runs, and a wrong one is its default and named."""

from __future__ import annotations

import pytest

from agents_plugin.settings import STATES, parse
from agents_plugin.tmux.rollup import COMMAND
from tests.support import Server, stays

pytestmark = pytest.mark.versions


def roll(server: Server, **options: str) -> str:
    """The segment with these options set, one blocked pane."""
    for name, value in options.items():
        server.cmd("set-option", "-g", f"@agents-{name.replace('_', '-')}", value)
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "blocked")
    done = server.run("source-file", "-", stdin=COMMAND + "\n")
    assert not done.stderr
    return server.global_option("@agents_status")


def test_no_option_of_ours_runs_anything(server: Server) -> None:
    trap = server.base / "trap"
    server.cmd("set-option", "-g", "@bait", f"#(touch {trap})")
    for bait in (f"#(touch {trap})", "#{E:@bait}", f"##(touch {trap})", f"####(touch {trap})", "#{T:@bait}"):
        names = ("glyphs", "order", "clear_on", "scrolled")
        looks = {f"{kind}_{state}": bait for kind in ("glyph", "colour") for state in STATES}
        roll(server, **looks, **dict.fromkeys(names, bait))
        stays(lambda: not trap.exists(), 0.3, "nothing ran")


@pytest.mark.parametrize(
    ("mark", "published"),
    [
        ("C#", "C##"),
        ("#{version}", "##{version}"),
        ("#[bg=red]", "##[bg=red]"),
        ("\\1", "\\1"),
        ("<idle>", "<idle>"),
        ("#S", "##S"),
        (">", ">"),
        ("0", "0"),
        ("a,b}", "a,b}"),
    ],
)
def test_a_mark_is_drawn_as_it_is(server: Server, mark: str, published: str) -> None:
    assert roll(server, glyph_blocked=mark) == f"#[fg=red]{published}1#[default]"
    assert parse({"@agents-glyph-blocked": mark}).problems == ()


@pytest.mark.parametrize("colour", ["#FF8700", "#DDAA00", "colour208", "brightred", "red,bold,reverse", "red,no-bold"])
def test_a_colour_is_taken_as_it_is(server: Server, colour: str) -> None:
    if colour == "red,no-bold":
        assert parse({"@agents-colour-blocked": colour}).problems == ()
    assert roll(server, colour_blocked=colour) == f"#[fg={colour}]▲1#[default]"


@pytest.mark.parametrize("colour", ["red]x#[bg=blue", "#{version}", "#S", "red,list=on", "#(x)", "#12345"])
def test_a_wrong_colour_is_the_default_and_named(server: Server, colour: str) -> None:
    assert roll(server, colour_blocked=colour) == "#[fg=red]▲1#[default]"
    settings = parse({"@agents-colour-blocked": colour})
    assert settings.colours["blocked"] == "red"
    assert "@agents-colour-blocked" in settings.problems[0]


def test_a_mark_of_many_cells_is_named_and_cut(server: Server) -> None:
    assert parse({"@agents-glyph-done": "x" * 17}).problems
    assert parse({"@agents-glyph-done": "\x1b]52;c;x\x07"}).problems
    assert roll(server, glyph_blocked="x" * 40) == f"#[fg=red]{'x' * 16}1#[default]"
