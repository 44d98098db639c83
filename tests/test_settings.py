"""The table of options and what is read from it."""

from __future__ import annotations

import pytest

from agents_plugin.settings import BY_NAME, OPTIONS, STATES, defaults, markdown, parse


def test_defaults() -> None:
    settings = defaults()
    assert settings.problems == ()
    assert (settings.enabled, settings.monitor, settings.jump_key) == (True, True, "j")
    assert (settings.dwell_ms, settings.settle_ms) == (3000, 2000)
    assert (settings.hook_decay_ms, settings.blocked_decay_ms) == (60_000, 300_000)
    assert settings.order == ("blocked", "working", "done")
    assert [settings.glyphs[state] for state in STATES] == ["▲", "●", "○", "■", "□"]


def test_every_default_is_valid_and_every_name_ours() -> None:
    assert parse({option.name: option.default for option in OPTIONS}).problems == ()
    assert len(BY_NAME) == len(OPTIONS)
    assert all(option.name.startswith("@agents-") and option.doc for option in OPTIONS)


def test_values() -> None:
    settings = parse(
        {
            "@agents-monitor": "off",
            "@agents-dwell": "1.5",
            "@agents-scrolled": "freeze",
            "@agents-alert": "bell",
            "@agents-glyphs": "ascii",
            "@agents-glyph-blocked": "B ",
            "@agents-colour-working": "#00ff00",
            "@agents-order": "done blocked",
            "@agents-jump-key": "none",
        }
    )
    assert settings.problems == ()
    assert (settings.monitor, settings.dwell_ms, settings.scrolled) == (False, 1500, "freeze")
    assert (settings.alert, settings.ascii, settings.order) == (("bell",), True, ("done", "blocked"))
    assert (settings.glyphs["blocked"], settings.glyphs["done"]) == ("B", "#")
    assert settings.colours["working"] == "#00ff00"
    assert settings.jump_key == "none"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("@agents-dwell", "soon"),
        ("@agents-dwell", "-3"),
        ("@agents-dwell", "٣"),
        ("@agents-monitor", "maybe"),
        ("@agents-scrolled", "up"),
        ("@agents-order", "blocked green"),
        ("@agents-colour-blocked", "red]#(x)"),
        ("@agents-glyphs", "emoji"),
        ("@agents-alert", "bell siren"),
        ("@agents-nonsense", "1"),
    ],
)
def test_a_wrong_value_is_its_default_and_one_line_for_doctor(name: str, value: str) -> None:
    settings = parse({name: value})
    (problem,) = settings.problems
    assert name in problem
    assert "\n" not in problem
    assert {**vars(settings), "problems": ()} == {**vars(defaults()), "problems": ()}


def test_a_hostile_value_is_shown_clipped() -> None:
    (problem,) = parse({"@agents-glyphs": "\x1b[31m#(touch x)\n" + "y" * 100_000}).problems
    assert len(problem) < 200
    assert "\x1b" not in problem


def test_the_table_lists_every_option() -> None:
    table = markdown()
    assert table.count("\n") == len(OPTIONS) + 2
    assert all(f"`{option.name}`" in table for option in OPTIONS)
