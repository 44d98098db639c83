"""What holds for any events in any order: hypothesis makes them up."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.core.evidence import Reading
from agents_plugin.core.hookfold import HookLog, apply
from agents_plugin.core.hooks import Signal, interpret
from agents_plugin.core.hookstore import dump, load
from agents_plugin.core.states import State
from tests.lane import BLOCKED, IDLE, NOTHING, WORKING, showing
from tests.stories import ALWAYS, CATALOG, Story, hooks_of, key

AGENTS = sorted(ALWAYS)
SETTINGS = settings(max_examples=25)
#: Fields that conditions ask for; the rest of a payload is noise.
FIELDS: dict[str, list[Any]] = {
    "prompt": ["go", "", "<task-notification>x"],
    "tool_name": ["Bash", "AskUserQuestion", "ExitPlanMode", "ask_user_question", "request_user_input"],
    "notification_type": ["permission_prompt", "idle_prompt", "ToolPermission", "elicitation_dialog"],
    "status": [{"type": "busy"}, {"type": "idle"}, {"type": "retry", "message": "later"}],
    "background_tasks": [[], [{"id": "a", "type": "subagent", "status": "running", "agent_type": "x"}], "junk", 7],
    "source": ["startup", "clear", "compact"],
    "agent_id": ["a", "b"],
    "id": ["r1", "r2"],
    "requestID": ["r1", "r2"],
    "prompt_id": ["p1", "p2"],
    "turn_id": ["t1", "t2"],
    "sessionID": ["root", "kid"],
    "info": [{"id": "root"}, {"id": "kid", "parentID": "root"}],
    "reason": ["startup", "new"],
    "trigger": ["manual", "auto"],
    "aborted": [True, False],
    "error": [{"name": "MessageAbortedError"}, "rate_limit", None],
    "type": ["agent-turn-complete", "user-input"],
    "source_": [{"deep": [1, 2]}],
}


@st.composite
def events(draw: st.DrawFn, agent: str, most: int = 40) -> list[Signal]:
    """Signals of an agent at distinct times."""
    hooks = hooks_of(agent)
    names = sorted({name for rule in hooks.events for name in rule.on})
    count = draw(st.integers(1, most))
    found = []
    for number in range(count):
        name = draw(st.sampled_from(names))
        fields = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=5, unique=True))
        payload = {**ALWAYS[agent], **{field: draw(st.sampled_from(FIELDS[field])) for field in fields}, "n": number}
        at = 1_800_000_000_000 + number * draw(st.sampled_from([4, 400, 2_500])) + number
        signal = interpret(hooks, name, payload, at, key(name, payload))
        if signal:
            found.append(signal)
    return sorted(found, key=lambda signal: signal.at_ms)


def distinct(signals: list[Signal]) -> list[Signal]:
    times: set[int] = set()
    return [s for s in signals if s.at_ms not in times and not times.add(s.at_ms)]  # type: ignore[func-returns-value]


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_the_order_of_delivery_does_not_matter(agent: str, data: st.DataObject) -> None:
    signals = distinct(data.draw(events(agent)))
    shuffled = list(signals)
    random.Random(data.draw(st.integers(0, 1 << 16))).shuffle(shuffled)
    log = HookLog()
    while shuffled:
        size = data.draw(st.integers(1, 5))
        log, shuffled = log.hearing(shuffled[:size]), shuffled[size:]
    assert log.folded() == HookLog().hearing(signals).folded()


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_hearing_everything_twice_changes_nothing(agent: str, data: st.DataObject) -> None:
    signals = data.draw(events(agent))
    log = HookLog().hearing(signals)
    assert log.hearing(signals) is log
    again = data.draw(st.lists(st.sampled_from(signals), max_size=5)) if signals else []
    assert log.hearing(again).folded() == log.folded()


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_nothing_but_a_blocked_event_blocks(agent: str, data: st.DataObject) -> None:
    signals = [signal for signal in data.draw(events(agent)) if signal.state is not State.BLOCKED]
    memory = HookLog().base
    for signal in signals:
        memory = apply(memory, signal)
        assert memory.claim is None or memory.claim.state is not BLOCKED


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_nothing_blocks_a_pane_without_an_event_or_chrome_that_says_so(agent: str, data: st.DataObject) -> None:
    story = Story(agent)
    for signal in data.draw(events(agent, 15)):
        if signal.state is not State.BLOCKED:
            story.log = story.log.hearing([signal])
        story.lane.now = max(story.lane.now, signal.at_ms)
        readings: list[Reading] = [NOTHING, showing(WORKING), showing(IDLE), Reading(skip="menu")]
        assert not story.look(data.draw(st.integers(0, 4_000)), data.draw(st.sampled_from(readings))).startswith(
            "blocked"
        )


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_silence_changes_no_claim(agent: str, data: st.DataObject) -> None:
    story = Story(agent)
    for signal in data.draw(events(agent, 15)):
        story.log = story.log.hearing([signal])
        story.lane.now = max(story.lane.now, signal.at_ms)
    claim = story.memory.claim
    first = story.look(10, NOTHING)
    for _ in range(3):
        assert story.look(data.draw(st.integers(0, 3_600_000)), NOTHING) == first
    assert story.memory.claim == claim


@pytest.mark.parametrize("agent", AGENTS)
@SETTINGS
@given(data=st.data())
def test_a_log_survives_being_stored(agent: str, data: st.DataObject) -> None:
    log = HookLog().hearing(data.draw(events(agent)))
    assert load(dump(log)) == log


def test_a_long_log_stays_short_and_adds_up_all_the_same() -> None:
    hooks = hooks_of("claude")
    log, start = HookLog(), 1_800_000_000_000
    for number in range(500):
        name = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")[number % 4]
        payload = {"session_id": "s1", "prompt_id": f"p{number // 4}", "prompt": "go", "tool_name": "Bash"}
        signal = interpret(hooks, name, payload, start + number * 100, f"{number}")
        assert signal
        log = log.hearing([signal])
    assert len(log.signals) <= 64
    memory = log.folded()
    assert memory.claim and memory.claim.state is IDLE and memory.session == "s1"


@pytest.mark.parametrize(
    "payload", [None, 7, "x", [], [[]], {"tool_input": 3}, {"session_id": {"a": 1}}, {"prompt": 5}]
)
@pytest.mark.parametrize("agent", AGENTS)
def test_any_payload_is_read(agent: str, payload: object) -> None:
    """Whatever an agent sends, or what is left of it: an answer, no exception."""
    hooks = hooks_of(agent)
    for event in ["", "nonsense", *{name for rule in hooks.events for name in rule.on}]:
        signal = interpret(hooks, event, payload, 1, "k")
        if signal:
            HookLog().hearing([signal]).folded()


def test_bundled_hooks_need_no_answer() -> None:
    """Where an answer decides something, silence must mean "go on": nothing here is allowed to say more."""
    assert {manifest.id for manifest in CATALOG if manifest.hooks} >= set(AGENTS)
    for manifest in CATALOG:
        assert not manifest.hooks or manifest.hooks.covers <= frozenset((WORKING, BLOCKED, IDLE))
