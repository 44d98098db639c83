"""Laws of the fold over made-up histories of claims, screens and clocks."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.core.claims import newest
from agents_plugin.core.evidence import Claim, Match, Reading
from agents_plugin.core.fold import Facts, Sight
from agents_plugin.core.states import Source, State
from tests.lane import ALL, BLOCKED, IDLE, NOTHING, START_MS, UNKNOWN, WORKING, Lane, showing

STATES = st.sampled_from([WORKING, BLOCKED, IDLE])
SOURCES = st.sampled_from([Source.HOOK, Source.REPORT, Source.RECORD])
SETS = st.frozensets(STATES)


@st.composite
def readings(draw: Any, blocked: bool = True) -> Reading:
    if draw(st.integers(0, 9)) == 0:
        return Reading(skip="menu")
    chrome = {state: Match(f"rule-{state}", state) for state in draw(st.sets(STATES, max_size=2))}
    return Reading(chrome.get(BLOCKED) if blocked else None, chrome.get(WORKING), chrome.get(IDLE))


@st.composite
def sights(draw: Any) -> Sight:
    visible = draw(SETS)
    return Sight(visible, draw(SETS) & visible)


@st.composite
def steps(draw: Any, blocked: bool = True) -> dict[str, Any]:
    states = STATES if blocked else st.sampled_from([WORKING, IDLE])
    return {
        "ms": draw(st.sampled_from([0, 1, 250, 1_000, 2_500, 61_000, 301_000, 601_000])),
        "jump": draw(st.sampled_from([0, 0, 0, -3_600_000, 8 * 3_600_000])),
        "claim": draw(st.none() | st.tuples(states, SOURCES, st.integers(0, 5_000))),
        "reading": draw(readings(blocked)),
        "foreground": draw(st.sampled_from([True, True, True, False])),
        "restart": draw(st.sampled_from([False, False, False, True])),
    }


def play(lane: Lane, step: dict[str, Any]) -> None:
    lane.jump(step["jump"])
    if step["claim"]:
        state, source, ago = step["claim"]
        lane.hear(state, source, ago=ago)
    lane.facts = Facts(foreground=step["foreground"])
    if step["restart"]:
        lane.restart()
    lane.step(step["ms"], step["reading"])


@settings(max_examples=300)
@given(sight=sights(), history=st.lists(steps(), min_size=1, max_size=12))
def test_blocked_needs_a_blocked_claim_or_a_prompt_on_the_screen(sight: Sight, history: list[dict[str, Any]]) -> None:
    lane = Lane(sight=sight)
    for step in history:
        before = lane.state
        play(lane, step)
        if lane.state is BLOCKED:
            claimed = any(claim.state is BLOCKED for claim in lane.claims)
            prompt = step["foreground"] and step["reading"].blocked is not None
            hidden = before is BLOCKED and step["foreground"] and step["reading"].skip is not None
            assert claimed or prompt or hidden


@settings(max_examples=200)
@given(sight=sights(), history=st.lists(steps(blocked=False), min_size=1, max_size=12))
def test_nothing_blocked_in_nothing_blocked_out(sight: Sight, history: list[dict[str, Any]]) -> None:
    lane = Lane(sight=sight)
    for step in history:
        play(lane, step)
        assert lane.state in (WORKING, IDLE, UNKNOWN)


@settings(max_examples=200)
@given(sight=sights(), state=STATES, source=SOURCES, waits=st.lists(st.integers(0, 10**7), min_size=1, max_size=6))
def test_silence_never_changes_a_claim(sight: Sight, state: State, source: Source, waits: list[int]) -> None:
    lane = Lane(sight=sight)
    lane.hear(state, source)
    for wait in waits:
        lane.step(wait, NOTHING)
        assert lane.state is state


@settings(max_examples=200)
@given(sight=sights(), history=st.lists(steps(), min_size=1, max_size=8))
def test_the_same_situation_gives_the_same_decision(sight: Sight, history: list[dict[str, Any]]) -> None:
    one, two = Lane(sight=sight), Lane(sight=sight)
    for step in history:
        play(one, step)
        play(two, step)
        assert one.last == two.last


@settings(max_examples=200)
@given(
    sight=sights(),
    reading=readings(),
    claims=st.lists(st.tuples(STATES, SOURCES, st.integers(0, 10_000)), max_size=5, unique_by=lambda item: item[2]),
    data=st.data(),
)
def test_the_order_in_which_claims_are_given_does_not_matter(
    sight: Sight, reading: Reading, claims: list[tuple[State, Source, int]], data: Any
) -> None:
    shuffled = data.draw(st.permutations(claims))
    lanes = []
    for order in (claims, shuffled):
        lane = Lane(sight=sight)
        for state, source, ago in order:
            lane.hear(state, source, ago=ago)
        lane.step(100, reading)
        lanes.append(lane.last)
    assert lanes[0] == lanes[1]


@settings(max_examples=200)
@given(
    claims=st.lists(
        st.builds(
            Claim,
            STATES,
            st.integers(START_MS - 3, START_MS),
            SOURCES,
            st.sampled_from([None, "error"]),
            st.booleans(),
            why=st.sampled_from(["a", "b"]),
        ),
        min_size=1,
        max_size=5,
    ),
    data=st.data(),
)
def test_the_newest_claim_is_the_same_in_any_order_even_at_equal_times(claims: list[Claim], data: Any) -> None:
    assert newest(claims, START_MS) == newest(data.draw(st.permutations(claims)), START_MS)


@settings(max_examples=200)
@given(sight=sights(), history=st.lists(steps(), min_size=1, max_size=12))
def test_times_are_never_in_the_future_and_runs_keep_their_start(sight: Sight, history: list[dict[str, Any]]) -> None:
    lane = Lane(sight=sight)
    for step in history:
        before = lane.verdict
        play(lane, step)
        assert lane.verdict
        if before and before.state is lane.verdict.state:
            assert lane.verdict.since_ms == before.since_ms
        elif not any(past["jump"] for past in history):
            assert lane.verdict.since_ms <= lane.now


@settings(max_examples=200)
@given(sight=sights(), history=st.lists(steps(), min_size=1, max_size=6))
def test_a_second_look_at_once_changes_nothing(sight: Sight, history: list[dict[str, Any]]) -> None:
    """A pass right after a pass with the same screen publishes nothing new: nothing flaps."""
    lane = Lane(sight=sight)
    for step in history:
        play(lane, step)
    last = history[-1]
    lane.step(1, last["reading"])
    settled = lane.verdict
    for _ in range(3):
        lane.step(1, last["reading"])
        due = lane.last.due_mono if lane.last else None
        if due is not None and due <= lane.mono + 10:
            return
        assert lane.verdict and settled
        assert (lane.verdict.state, lane.verdict.since_ms) == (settled.state, settled.since_ms)


@settings(max_examples=100)
@given(proven=st.booleans(), state=STATES, chrome=STATES)
def test_contrary_chrome_wins_in_the_end_when_the_rules_see_the_state(
    proven: bool, state: State, chrome: State
) -> None:
    lane = Lane(sight=Sight(ALL, ALL if proven else frozenset()))
    lane.hear(state)
    reading = showing(chrome)
    lane.step(1_000, reading)
    for _ in range(2):
        lane.step(400_000, reading)
    assert lane.state is chrome
