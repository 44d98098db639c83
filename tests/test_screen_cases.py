"""Reported faults of tools that read screens, over every agent of which there are recordings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.core.evidence import Screen
from agents_plugin.core.fold import Sight
from agents_plugin.core.screen import read, trace
from agents_plugin.core.states import State, Tier
from tests.fixtures_index import CATALOG, ROOT, Saved, manifest, saved
from tests.lane import Lane

AGENTS = sorted(folder.name for folder in ROOT.iterdir() if CATALOG.get(folder.name) and saved(folder.name))


def told(item: Saved, screen: Screen) -> str | None:
    best = read(manifest(item.agent), screen).best
    return str(best.state) if best else None


def readable(agent: str, state: str) -> list[Saved]:
    return [item for item in saved(agent) if item.truth == state == item.expect["state"]]


@pytest.mark.parametrize("agent", AGENTS)
def test_case_013_the_end_of_a_turn_is_seen_on_the_screen(agent: str) -> None:
    """No hooks: a composer without a status row ends the turn, at every width there is a recording of."""
    found = manifest(agent)
    pairs = [(work, rest) for work in readable(agent, "working") for rest in readable(agent, "idle")]
    turns = [(work, rest) for work, rest in pairs if work.facts["cols"] == rest.facts["cols"]]
    assert turns or found.tier is not Tier.PROVEN
    for work, rest in turns:
        lane = Lane(sight=Sight(found.visible, found.proven, found.dwell_ms))
        lane.step(1_000, read(found, work.screen))
        assert lane.state is State.WORKING, work.id
        assert lane.steps(6, read(found, rest.screen))[-1] is State.IDLE, (work.id, rest.id)


@pytest.mark.parametrize("agent", AGENTS)
def test_case_043_what_is_drawn_in_every_state_says_nothing(agent: str) -> None:
    """The foot of an idle screen alone, however much of it is there, is neither work nor a question."""
    for item in readable(agent, "idle"):
        lines = item.screen.lines
        for start in range(1, len(lines)):
            down = None if item.screen.cursor_y is None else item.screen.cursor_y - start
            foot = replace(item.screen, lines=lines[start:], cursor_y=down if down is not None and down >= 0 else None)
            assert told(item, foot) in ("idle", None), (item.id, start)


@pytest.mark.parametrize("agent", AGENTS)
def test_case_043_no_rule_of_a_question_holds_in_another_state(agent: str) -> None:
    asking = {rule.id for rule in manifest(agent).rules if rule.state == "blocked"}
    for item in saved(agent):
        # A menu the user opened may borrow a dialog's frame: then a rule says so first.
        if item.truth != "blocked" and not read(manifest(agent), item.screen).skip:
            held = {outcome.rule for outcome in trace(manifest(agent), item.screen) if outcome.matched}
            assert not asking & held, item.id


BANNER = (
    " ✨ Update available! 1.2.3 → 1.3.0. Run npm install -g the-agent to update.",
    " What's new: subagents may now ask for permission, `allow` rules, working directories, (y/n) prompts",
    " Release notes: run /changelog; permission prompts of subagents are now shown in the main view",
    "",
)


@pytest.mark.parametrize("agent", AGENTS)
def test_case_052_a_banner_of_news_asks_nothing(agent: str) -> None:
    for item in readable(agent, "idle"):
        down = None if item.screen.cursor_y is None else item.screen.cursor_y + len(BANNER)
        screen = replace(item.screen, lines=(*BANNER, *item.screen.lines), cursor_y=down)
        assert told(item, screen) == "idle", item.id


ODD = st.text(alphabet="é\u0301\u200d👩‍💻\ufe0f\x00\x1b\u2028\ud800❯›>│╭╰─━┃▌✻⠋ 1.yYesNo?(:…\t", max_size=60)


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=15)
@given(rows=st.lists(ODD, max_size=30), title=ODD)
def test_case_172_no_screen_is_too_odd(agent: str, rows: list[str], title: str) -> None:
    reading = read(manifest(agent), Screen(tuple(rows), title=title, cols=80))
    assert reading.blocked is None or reading.blocked.state is State.BLOCKED


@pytest.mark.parametrize("agent", AGENTS)
def test_case_173_blanks_at_the_ends_of_rows_change_nothing(agent: str) -> None:
    """`capture-pane -J` keeps them, and people save screens with it."""
    for item in saved(agent):
        cols = item.facts["cols"]
        screen = replace(item.screen, lines=tuple(line.ljust(cols) for line in item.screen.lines))
        assert told(item, screen) == item.expect["state"], item.id
