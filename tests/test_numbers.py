"""Numbers from outside: one parser, which raises for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core.numbers import MAX, MAX_PID, parse_float, parse_int, parse_pid

NINES = "9" * 5000


@pytest.mark.parametrize(
    "value",
    ["", " 1", "1 ", "1_0", "+1", "1.0", "²", "٣", "nan", "0x1", "-1", NINES, f"{MAX + 1}", None, True, 1.0, []],
)
def test_what_is_no_whole_number_within_bounds_is_none(value: object) -> None:
    assert parse_int(value) is None


@pytest.mark.parametrize(("value", "number"), [("0", 0), ("007", 7), (b"42", 42), (42, 42), (f"{MAX}", MAX)])
def test_a_whole_number_is_taken_from_text_bytes_and_int(value: object, number: int) -> None:
    assert parse_int(value) == number


def test_bounds_are_the_callers() -> None:
    assert (parse_int("-5", -9), parse_int("-5"), parse_int("10", high=9)) == (-5, None, None)
    assert (parse_pid("1"), parse_pid("2"), parse_pid(str(MAX_PID + 1))) == (None, 2, None)


@pytest.mark.parametrize("value", ["", ".5", "1e3", "nan", "inf", "-1", NINES, f"1.{NINES}", None, True, float("nan")])
def test_what_is_no_decimal_within_bounds_is_none(value: object) -> None:
    assert parse_float(value) is None


def test_a_decimal_is_taken_with_either_mark() -> None:
    assert (parse_float("1.5"), parse_float("1,5"), parse_float("1."), parse_float(b"2"), parse_float(3)) == (
        1.5,
        1.5,
        1.0,
        2.0,
        3.0,
    )


@given(st.one_of(st.text(), st.binary(), st.integers(), st.floats(), st.text("0123456789.-,", max_size=6000)))
def test_nothing_raises_and_every_answer_is_within_bounds(value: object) -> None:
    whole, decimal = parse_int(value), parse_float(value)
    assert whole is None or 0 <= whole <= MAX
    assert decimal is None or 0 <= decimal <= MAX
