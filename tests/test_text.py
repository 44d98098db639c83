"""Text helpers: wrapping, borders, cells, and what must never reach a status line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core.text import clip, flow, squash, strip_border, strip_controls, width
from agents_plugin.core.text_forms import for_format


def test_squash_is_the_same_however_a_box_wraps_it() -> None:
    wide = "│ Do you want to proceed?          │"
    narrow = "│ Do you want  │\n│ to proceed?  │"
    assert squash(wide) == squash(narrow) == "Doyouwanttoproceed?"


@given(st.text(alphabet="ab ─│\xa0", max_size=40), st.integers(1, 8))
def test_squash_forgets_every_wrap(text: str, cols: int) -> None:
    rows = [text[at : at + cols] for at in range(0, len(text), cols)]
    assert squash("\n".join(f"│ {row} │" for row in rows)) == squash(text)


def test_flow_joins_rows_without_borders() -> None:
    assert flow(["╭──────╮", "│ Yes,  │", "│  go on │", "╰──────╯"]) == "Yes, go on"
    assert strip_border("  ┃  text here  ") == "text here"


@pytest.mark.parametrize(
    ("hostile", "plain"),
    [
        pytest.param("a\x1b[31mred\x1b[0m", "ared", id="csi"),
        pytest.param("a\x1b]0;title\x07b", "ab", id="osc-bell"),
        pytest.param("a\x1b]8;;http://x\x1b\\b", "ab", id="osc-st"),
        pytest.param("a\x1b]0;never ends", "a", id="osc-open"),
        pytest.param("one\ntwo\tthree\x1f\x00four", "one two three four", id="controls"),
        pytest.param("a\u202eb\u2066c\u200bd\ufeff", "abcd", id="bidi-and-invisible"),
        pytest.param("  a   b  ", "a b", id="blanks"),
        pytest.param("a\ud800b", "a?b", id="lone-surrogate"),
        pytest.param("a\x9b31mb", "a 31mb", id="c1"),
    ],
)
def test_strip_controls(hostile: str, plain: str) -> None:
    assert strip_controls(hostile) == plain


def test_case_126_style_brackets_are_made_literal() -> None:
    assert for_format("#[bg=red]x") == "##[bg=red]x"
    assert for_format("##[x] #x [y]") == "####[x] ##x [y]"
    assert for_format("#(touch X) #[fg=red]") == "##(touch X) ##[fg=red]"


@given(st.text(max_size=60), st.integers(0, 40))
def test_clip_never_takes_more_cells_than_given(text: str, cells: int) -> None:
    clipped = clip(text, cells)
    assert width(clipped) <= cells
    if width(text) <= cells:
        assert clipped == (text if cells else "")


@pytest.mark.parametrize(
    ("text", "cells", "clipped"),
    [
        pytest.param("abcdef", 6, "abcdef", id="fits"),
        pytest.param("abcdef", 4, "abc…", id="cut"),
        pytest.param("日本語", 4, "日…", id="wide-not-halved"),
        pytest.param("abc def", 5, "abc…", id="no-blank-before-the-ellipsis"),
        pytest.param("abc", 0, "", id="nothing"),
    ],
)
def test_clip(text: str, cells: int, clipped: str) -> None:
    assert clip(text, cells) == clipped


def test_case_168_emoji_presentation_takes_two_cells() -> None:
    assert width("⚠️") == 2
    assert width("e\u0301") == 1


def test_a_long_text_is_cut_before_the_exact_work() -> None:
    assert width(for_format("x" * 1_000_000)) == 32


@given(st.text(max_size=200))
def test_clean_is_one_printable_line(text: str) -> None:
    cleaned = for_format(text)
    assert "\n" not in cleaned and "\x1b" not in cleaned
    assert width(cleaned.replace("##[", "#[")) <= 32 or "##" in cleaned
