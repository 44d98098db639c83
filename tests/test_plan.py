"""What is written for a decision: everything once, nothing for nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.core.attention import Mark, mark
from agents_plugin.core.evidence import Identity, Verdict
from agents_plugin.core.fold import Decision
from agents_plugin.core.memory import Memory
from agents_plugin.core.plan import Labels, PaneChange, Published, plan, presentable
from agents_plugin.core.report import parse_claim, serialise_claim
from agents_plugin.core.states import Source, State
from tests.lane import BLOCKED, IDLE, NOTHING, START_MS, WORKING, Lane, claim, showing

LABELS = Labels("claude", pid=100, session_id="5f7c")


def decide(state: State, detail: str | None = None, at: int = START_MS, **more: Any) -> Decision:
    values: dict[str, Any] = {"since_ms": START_MS, "text": "", **more}
    verdict = Verdict(state, detail, Source.SCREEN, at, why="rule x", **values)
    return Decision(verdict, Memory(), None, None, ())


REMOVE = Decision(None, Memory(), None, None, ())


@dataclass
class Tmux:
    """What a server would hold after accepted changes."""

    options: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    writes: int = 0

    @property
    def published(self) -> Published:
        return Published.of("%7", self.options, self.environment)

    def publish(
        self, decision: Decision, change: Mark = Mark.KEEP, labels: Labels = LABELS, token: str = "1.1"
    ) -> PaneChange:
        planned = plan(self.published, decision, change, labels, token)
        self.options.update(planned.set)
        for name in planned.unset:
            self.options.pop(name, None)
        self.environment.update(planned.env)
        self.environment = {name: value for name, value in self.environment.items() if value}
        self.writes += planned.visible
        return planned


def test_a_first_verdict_publishes_the_whole_tuple() -> None:
    tmux = Tmux()
    change = tmux.publish(decide(BLOCKED, "permission", text="npm test"), Mark.RAISE, token="5.9")
    assert tmux.options == {
        "@agent_name": "claude",
        "@agent_state": "blocked",
        "@agent_detail": "permission",
        "@agent_attention": "1",
        "@agent_since": str(START_MS),
        "@agent_source": "screen",
        "@agent_evidence_at": str(START_MS),
        "@agent_status_text": "npm test",
        "@agent_pid": "100",
        "@agent_session_id": "5f7c",
    }
    assert tmux.environment == {"AGENTS_7_V": "5.9", "AGENTS_7_PUB": "blocked"}
    assert (change.expected_version, change.expected_state) == ("", "")


def test_the_guard_is_what_was_read() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING), token="5.9")
    tmux.options["@agent_state"] = "blocked:1712345678"
    change = tmux.publish(decide(BLOCKED), token="6.9")
    assert (change.expected_version, change.expected_state) == ("5.9", "blocked:1712345678")
    assert tmux.options["@agent_state"] == "blocked", "the bare token is published"


def test_the_same_verdict_writes_nothing() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING, text="npm #[x] ##[y] test " * 9))
    assert not tmux.publish(decide(WORKING, text="npm #[x] ##[y] test " * 9))


@pytest.mark.parametrize(
    "more",
    [{"at": START_MS + 9_000}, {"since_ms": START_MS + 1}],
    ids=["case-111-evidence-moves", "since"],
)
def test_times_alone_write_nothing(more: dict[str, Any]) -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING))
    assert not tmux.publish(decide(WORKING, **more))


def test_the_source_alone_writes_nothing() -> None:
    tmux = Tmux()
    first = decide(WORKING)
    tmux.publish(first)
    assert first.verdict
    assert not tmux.publish(replace(first, verdict=replace(first.verdict, source=Source.RECORD)))


def test_a_new_state_brings_its_times_and_drops_what_explained_the_old_one() -> None:
    tmux = Tmux()
    tmux.publish(decide(BLOCKED, "permission", text="npm test"), Mark.RAISE)
    later = START_MS + 5_000
    change = tmux.publish(decide(WORKING, at=later, since_ms=later))
    assert change.unset == ("@agent_detail", "@agent_status_text")
    assert tmux.options["@agent_since"] == tmux.options["@agent_evidence_at"] == str(later)
    assert tmux.options["@agent_attention"] == "1", "only seeing it takes the mark down"


@pytest.mark.parametrize("was", [True, False])
@pytest.mark.parametrize("change", list(Mark))
def test_the_mark(was: bool, change: Mark) -> None:
    tmux = Tmux()
    tmux.publish(decide(IDLE), Mark.RAISE if was else Mark.KEEP)
    written = tmux.publish(decide(IDLE), change)
    up = {Mark.KEEP: was, Mark.RAISE: True, Mark.CLEAR: False}[change]
    assert ("@agent_attention" in tmux.options) is up
    assert bool(written) is (up != was)


def test_a_turn_end_is_written_although_idle_stays_idle() -> None:
    tmux = Tmux()
    tmux.publish(decide(IDLE, turn_at_ms=START_MS))
    tmux.publish(decide(IDLE, turn_at_ms=START_MS + 1_000), Mark.RAISE)
    assert tmux.options["@agent_turn_at"] == str(START_MS + 1_000)


def test_a_claim_is_kept_without_a_visible_write() -> None:
    tmux = Tmux()
    event = claim(WORKING, START_MS + 1_000)
    tmux.publish(decide(WORKING))
    change = tmux.publish(replace(decide(WORKING), claim=event), token="8.8")
    assert change and not change.visible
    assert parse_claim(tmux.environment["AGENTS_7_CLAIM"]) == event
    assert tmux.environment["AGENTS_7_V"] == "8.8"
    assert not tmux.publish(replace(decide(WORKING), claim=event))


def test_a_record_does_not_replace_a_kept_event() -> None:
    tmux = Tmux()
    event = claim(WORKING, START_MS)
    tmux.publish(replace(decide(WORKING), claim=event))
    record = claim(WORKING, START_MS + 1_000, Source.RECORD)
    assert not tmux.publish(replace(decide(WORKING), claim=record))
    assert tmux.environment["AGENTS_7_CLAIM"] == serialise_claim(event)


def test_removal_takes_every_stamp_and_leaves_what_others_wrote() -> None:
    tmux = Tmux()
    tmux.publish(replace(decide(BLOCKED, text="x"), claim=claim(BLOCKED, START_MS)), Mark.RAISE)
    tmux.options.update({"@agent_hint": "claude", "@agent_mute_until": "5", "@agent_display_name": "me"})
    tmux.publish(REMOVE, token="9.9")
    assert set(tmux.options) == {"@agent_hint", "@agent_mute_until", "@agent_display_name"}
    assert tmux.environment == {"AGENTS_7_V": "9.9"}
    assert not tmux.publish(REMOVE), "and that is all"


@pytest.mark.parametrize(
    ("raw", "goes"),
    [("none", True), ("working:1712345678", True), ("my own words", False)],
    ids=["cleared-by-its-reporter", "ended-report", "not-ours"],
)
def test_removal_on_a_pane_we_never_published(raw: str, goes: bool) -> None:
    tmux = Tmux({"@agent_state": raw, "@agent_status_text": "mine"} if not goes else {"@agent_state": raw})
    tmux.publish(REMOVE)
    assert ("@agent_state" in tmux.options) is not goes


def test_a_plain_pane_costs_nothing() -> None:
    assert not Tmux().publish(REMOVE)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("building", "building", id="fit"),
        pytest.param("##[fg=red]x", "##[fg=red]x", id="already-neutral"),
        pytest.param("#[fg=red]x", "##[fg=red]x", id="case-127-style"),
        pytest.param("a\x1b[31m\tb", "a b", id="case-129-controls"),
        pytest.param("x" * 80, "x" * 31 + "…", id="too-wide"),
    ],
)
def test_a_reporters_own_text_is_kept_and_only_made_fit(text: str, kept: str) -> None:
    tmux = Tmux({"@agent_status_text": text})
    first = decide(WORKING)
    assert first.verdict
    report = replace(first, verdict=replace(first.verdict, source=Source.REPORT))
    tmux.publish(report)
    assert tmux.options["@agent_status_text"] == kept
    assert not tmux.publish(report)


@settings(max_examples=200)
@given(st.text(max_size=120))
def test_text_is_published_fit_and_never_twice(text: str) -> None:
    tmux = Tmux()
    tmux.publish(decide(BLOCKED, text=text))
    shown = tmux.options.get("@agent_status_text", "")
    assert presentable(shown) or "…" in shown
    before = tmux.writes
    tmux.publish(decide(BLOCKED, text=text))
    assert tmux.writes == before


def test_hostile_labels_are_one_harmless_line() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING), labels=Labels("claude", session_id="#(touch x)\n#[bg=red]" + "y" * 500))
    assert tmux.options["@agent_session_id"].startswith("(touch x) [bg=red]y")
    assert len(tmux.options["@agent_session_id"]) <= 200


def test_subagents_and_telemetry() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING), labels=Labels("claude", subagents=2, extra={"@agent_model": "opus"}))
    assert (tmux.options["@agent_subagents"], tmux.options["@agent_model"]) == ("2", "opus")
    tmux.publish(decide(WORKING), labels=Labels("claude", subagents=0, extra={"@agent_model": None}))
    assert not {"@agent_subagents", "@agent_model"} & tmux.options.keys()


# --- what was published, read back


def test_the_published_verdict_is_read_back() -> None:
    tmux = Tmux()
    decision = decide(BLOCKED, "plan", text="do it", turn_at_ms=START_MS - 5)
    tmux.publish(decision)
    assert decision.verdict
    assert tmux.published.verdict() == replace(decision.verdict, why="as published")
    assert not tmux.published.foreign


@pytest.mark.parametrize(
    ("identity", "ours"),
    [
        (Identity("claude", "tree", 100), True),
        (Identity("claude", "title"), True),
        (Identity("claude", "tree", 101), False),
        (Identity("codex", "tree", 100), False),
    ],
    ids=["same", "pid-not-known", "another-process", "another-agent"],
)
def test_a_verdict_of_another_process_or_agent_is_not_ours(identity: Identity, ours: bool) -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING))
    assert (tmux.published.verdict(identity) is not None) is ours


def test_a_foreign_report_does_not_hide_what_we_published() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING))
    tmux.options["@agent_state"] = "blocked:1712345678"
    published = tmux.published
    assert published.foreign
    before = published.verdict()
    assert before and before.state is WORKING


@pytest.mark.parametrize(
    "options",
    [{}, {"@agent_state": "working"}, {"@agent_state": "working", "@agent_since": "soon"}, {"@agent_since": "1"}],
    ids=["nothing", "no-since", "bad-since", "no-state"],
)
def test_half_a_tuple_is_no_verdict(options: dict[str, str]) -> None:
    assert Published.of("%7", options, {}).verdict() is None


def test_stamps_that_a_stranger_unset_come_back() -> None:
    tmux = Tmux()
    tmux.publish(decide(WORKING))
    tmux.options.clear()
    tmux.publish(decide(WORKING))
    assert tmux.options["@agent_state"] == "working" and "@agent_since" in tmux.options


def test_a_quiet_hour_writes_nothing_case_111_122() -> None:
    tmux, lane = Tmux(), Lane()
    lane.hear(IDLE)
    for second in range(3_600):
        before = lane.verdict
        lane.step(1_000, showing(IDLE, None, f"rule-{second % 3}") if second % 5 else NOTHING)
        assert lane.last and lane.verdict
        tmux.publish(lane.last, mark(before, lane.verdict, lane.last.came_from, False))
    assert tmux.writes == 1
