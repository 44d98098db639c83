"""Self-reports in `@agent_state`, and claims as one hidden value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core.evidence import Claim
from agents_plugin.core.report import foreign, parse_claim, parse_report, serialise_claim
from agents_plugin.core.states import Source, State
from tests.lane import BLOCKED, IDLE, START_MS, UNKNOWN, WORKING

NOW = START_MS


@pytest.mark.parametrize(
    ("raw", "state", "detail", "turn_end", "at"),
    [
        ("working", WORKING, None, False, NOW),
        ("blocked:1712345678", BLOCKED, None, False, 1_712_345_678_000),
        ("blocked:1712345678123", BLOCKED, None, False, 1_712_345_678_123),
        ("idle", IDLE, None, False, NOW),
        ("unknown", UNKNOWN, None, False, NOW),
        ("done", IDLE, None, True, NOW),
        ("needs_input", BLOCKED, None, False, NOW),
        ("errored:1712345678", IDLE, "error", True, 1_712_345_678_000),
        (" Working ", WORKING, None, False, NOW),
        ("working:99999999999999", WORKING, None, False, NOW),
        ("working:0", WORKING, None, False, 0),
    ],
)
def test_words(raw: str, state: State, detail: str | None, turn_end: bool, at: int) -> None:
    report = parse_report(raw, NOW, pid=7)
    assert report and report.claim and not report.clear
    claim = report.claim
    assert (claim.state, claim.detail, claim.turn_end, claim.at_ms) == (state, detail, turn_end, at)
    assert claim.source is Source.REPORT and claim.pid == 7


def test_none_clears() -> None:
    report = parse_report("none", NOW)
    assert report and report.clear and report.claim is None


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "busy",
        "working:",
        "working:abc",
        "working:-5",
        "blocked:1:2",
        "#(touch x)",
        "blocked;",
        "ブロック",
        "idle\n#[x]",
    ],
)
def test_anything_else_is_no_report(raw: str) -> None:
    assert parse_report(raw, NOW) is None


@given(st.text(max_size=60))
def test_any_text_parses_or_not_but_never_fails(raw: str) -> None:
    report = parse_report(raw, NOW)
    assert report is None or report.clear or (report.claim and report.claim.at_ms <= NOW)


@pytest.mark.parametrize(
    ("raw", "published", "expected"),
    [
        ("working", None, True),
        ("working", "working", False),
        ("working:1712345678", "working", True),
        ("blocked", "working", True),
        ("", "working", False),
        ("", None, False),
    ],
)
def test_foreign(raw: str, published: str | None, expected: bool) -> None:
    assert foreign(raw, published) is expected


CLAIMS = st.builds(
    Claim,
    st.sampled_from(State),
    st.integers(0, 2**50),
    st.sampled_from(Source),
    st.none() | st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True),
    st.booleans(),
    why=st.from_regex(r"[A-Za-z0-9_.:-]{0,40}", fullmatch=True),
    pid=st.none() | st.integers(1, 2**22),
    until_ms=st.none() | st.integers(1, 2**50),
)


@given(CLAIMS)
def test_claims_survive_the_hidden_environment(claim: Claim) -> None:
    value = serialise_claim(claim)
    assert re.fullmatch(r"[A-Za-z0-9_.:|-]+", value)
    assert parse_claim(value) == claim


@given(st.text(max_size=200), st.text(max_size=200))
def test_hostile_text_in_a_claim_stays_harmless(why: str, detail: str) -> None:
    value = serialise_claim(Claim(BLOCKED, 1, Source.HOOK, detail or None, why=why, text="#(touch x)"))
    assert re.fullmatch(r"[A-Za-z0-9_.:|-]+", value)
    kept = parse_claim(value)
    assert kept and kept.state is BLOCKED and kept.text == ""


@pytest.mark.parametrize("value", ["", "|", "blocked|x|hook|||||", "nosuch|1|hook|||||", "blocked|1|hook", "a|" * 9])
def test_a_damaged_value_is_no_claim(value: str) -> None:
    assert parse_claim(value) is None
