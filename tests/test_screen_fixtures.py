"""Every saved screen reads as it is named, every rule is seen at work, and no rule rests on one width."""

from __future__ import annotations

import pytest

from agents_plugin.core.evidence import Screen
from agents_plugin.core.screen import read, trace
from tests.fixtures_index import FULL_DEPTH, SCREENS, Saved, manifest, saved
from tests.reflow import reflow

#: Screens that say nothing or less than their name, and why.
SILENT = {
    "menu": "the user opened it",
    "transcript-view": "the user opened it",
    None: "Codex's search row hides the composer's footer; it is the user's too",
}
WIDTHS = (30, 40, 60, 100, 200)
#: Rules for screens we know but have no recording of; written down below.
UNSEEN = {"claude": {"limit", "scrolled"}, "codex": {"update", "transcript-view"}}
KNOWN = {
    ("claude", "onboarding"): [
        "Let's get started.",
        "",
        "Choose the text style that looks best with your terminal",
        "❯ 1. Dark mode",
    ],
    ("claude", "rate-limit"): [
        "❯ go",
        "",
        "✻ 529 Overloaded · retrying in 4s · attempt 2/10",
        "",
        "─" * 80,
        "❯",
        "─" * 80,
        "",
    ],
    ("claude", "limit"): [
        *(
            "─" * 80,
            " What do you want to do?",
            "",
            " ❯ 1. Stop and wait for limit to reset",
            "   2. Upgrade your plan",
        ),
        *("", " Enter to confirm · Esc to cancel"),
    ],
    ("claude", "scrolled"): ["● word0 word1", "", "  word2", "                     Jump to bottom (ctrl+End) ↓"],
    ("codex", "update"): [
        "  Update available!",
        "",
        "› 1. Update now",
        "  2. Skip until next version",
        "",
        "  Press enter to continue",
    ],
    ("codex", "transcript-view"): ["/ T R A N S C R I P T / / / /", "", "• Hello", "", " ↑/↓ to scroll   q to quit"],
}


def ids(items: list[Saved]) -> list[str]:
    return [item.id for item in items]


@pytest.mark.parametrize("item", SCREENS, ids=ids(SCREENS))
def test_reads_as_recorded(item: Saved) -> None:
    reading = read(manifest(item.agent), item.screen)
    best = reading.best
    got = {
        "state": str(best.state) if best else None,
        "detail": best.detail if best else None,
        "rule": reading.skip or (best.rule if best else None),
    }
    assert got == item.expect


@pytest.mark.parametrize("item", SCREENS, ids=ids(SCREENS))
def test_expectation_agrees_with_the_name(item: Saved) -> None:
    state, rule = item.expect["state"], item.expect["rule"]
    if item.truth == "blocked":
        assert state == "blocked" and item.expect["detail"]
    elif item.truth == "dead":
        assert state is None
    elif state is None:
        assert rule in SILENT
    else:
        assert state == item.truth


#: The panel at the right exists on wide screens only.
NARROWABLE = [item for item in SCREENS if item.facts["cols"] < 200 or "│" not in "".join(item.screen.lines)]


@pytest.mark.parametrize("item", NARROWABLE, ids=ids(NARROWABLE))
def test_case_173_same_verdict_at_another_width(item: Saved) -> None:
    for cols in WIDTHS:
        reading = read(manifest(item.agent), reflow(item.screen, cols))
        best = reading.best
        if item.truth == "blocked":
            assert best is not None and (str(best.state), best.detail) == ("blocked", item.expect["detail"]), cols
        else:
            assert reading.blocked is None, cols
            assert (str(best.state) if best else None) == item.expect["state"], cols


@pytest.mark.parametrize("agent", FULL_DEPTH)
def test_every_rule_is_seen_at_work(agent: str) -> None:
    found = manifest(agent)
    seen = {outcome.rule for item in saved(agent) for outcome in trace(found, item.screen) if outcome.matched}
    known = {rule.id for rule in (*found.skips, *found.rules)}
    assert known - seen == UNSEEN[agent]


@pytest.mark.parametrize(("agent", "rule"), KNOWN, ids=[f"{agent}-{rule}" for agent, rule in KNOWN])
def test_rule_without_a_recording(agent: str, rule: str) -> None:
    reading = read(manifest(agent), Screen(tuple(KNOWN[agent, rule]), cols=80))
    assert rule in (reading.skip, reading.best and reading.best.rule)


@pytest.mark.parametrize("agent", FULL_DEPTH)
def test_no_blocked_rule_holds_on_a_screen_that_is_not_blocked(agent: str) -> None:
    found = manifest(agent)
    for item in saved(agent):
        if item.truth != "blocked":
            assert [o.rule for o in trace(found, item.screen) if o.matched and o.state == "blocked"] == [], item.id
