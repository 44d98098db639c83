"""Rows of `agents ls` as values, and what a terminal gets to see of hostile text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents_plugin.core.evidence import Identity, PaneRow
from agents_plugin.core.plan import Published, presentable
from agents_plugin.core.states import Tier
from agents_plugin.core.text import width
from agents_plugin.core.text_forms import for_format, for_person, from_format
from agents_plugin.rows import AgentRow, Pane, agent_row, agent_rows, counts, resume_command, task, unstyled
from agents_plugin.terminal import coloured, table

NOW = 1_800_000_000_000
CLAUDE = Identity("claude", "foreground", 77, 1.0)
KEYS = (
    "pane session window window_name index agent state detail done attention needs_you since_ms source confidence "
    "identity evidence_age_ms display_name status_text title command dir pid session_id resume muted host server"
)


def row(pane: str = "%1", **texts: Any) -> PaneRow:
    options = {f"@agent_{name}": value for name, value in texts.pop("options", {}).items()}
    facts = (pane, 70, "/dev/pts/1", "$0", "@1", 2, 3, True, False, 80, 24, 0, 0, True, False, 0, False, 0)
    return PaneRow(*facts, options=options, **texts)


def published(since: int = NOW - 5000, source: str = "screen", state: str = "blocked", **more: str) -> dict[str, str]:
    stamps = {"since": str(since), "evidence_at": str(since), "source": source, "state": state, "name": "claude"}
    return {**stamps, **more}


def pane(
    listed: PaneRow, identity: Identity | None = CLAUDE, tier: Tier | None = Tier.PROVEN, said: str = "", **more: Any
) -> Pane:
    number = listed.pane_id[1:]
    raw = listed.options.get("@agent_state", "")
    environment = {f"AGENTS_{number}_PUB": raw if raw.isalpha() else "", f"AGENTS_{number}_BY": said}
    return Pane(
        listed,
        Published.of(listed.pane_id, listed.options, environment),
        identity,
        tier,
        environment=environment,
        **more,
    )


def made(given: Pane, now: int = NOW) -> AgentRow:
    found = agent_row(given, now, "box", "/tmp/sock")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "said",
    [
        *(
            "--dangerously-skip-permissions",
            "-r",
            "x; touch P",
            "$(id)",
            "../../x",
            "",
            " a",
            "a\n",
            "é",
            "²",
            "a" * 201,
        ),
        *(".hidden", "_a", "a/b", "a=b", "'a'", "a\x00b", "\x1b[31m"),
    ],
)
def test_what_is_not_plainly_an_id_resumes_nothing(said: str) -> None:
    assert resume_command("claude --resume {session_id}", said) is None
    assert resume_command("aider --restore", said) == "aider --restore"


@pytest.mark.parametrize("said", ["7288f663-ff20-4112-a802-80ad3c339368", "ses_6Qx9", "a:b.c", "7", "a" * 200])
def test_an_id_resumes_its_conversation(said: str) -> None:
    assert resume_command("x -s {session_id} -- {session_id}", said) == f"x -s {said} -- {said}"
    assert resume_command("x -s {session_id}", None) is None


def test_a_row_has_exactly_the_keys_of_the_contract() -> None:
    data = made(pane(row(options=published()))).json()
    assert " ".join(data) == KEYS
    assert json.loads(json.dumps(data)) == data
    assert (data["window"], data["index"], data["pid"], data["resume"]) == (2, 3, 77, None)


STATES: dict[str, tuple[dict[str, str], tuple[str, bool, bool, bool]]] = {
    "blocked": (published(), ("blocked", False, False, True)),
    "blocked-unseen": (published(attention="1"), ("blocked", False, True, True)),
    "done": (published(state="idle", attention="1"), ("idle", True, True, False)),
    "error-unseen": (published(state="idle", detail="error", attention="1"), ("idle", True, True, True)),
    "error-seen": (published(state="idle", detail="error"), ("idle", False, False, False)),
    "working": (published(state="working"), ("working", False, False, False)),
    "report-not-taken-up": ({"state": f"done:{NOW - 1000}"}, ("idle", True, True, False)),
    "report-needs-input": ({"state": "needs_input:1799999999"}, ("blocked", False, False, True)),
    "nothing-published": ({}, ("unknown", False, False, False)),
}


@pytest.mark.parametrize("name", STATES)
def test_state_mark_and_need(name: str) -> None:
    options, wanted = STATES[name]
    found = made(pane(row(options=options)))
    assert (found.state, found.done, found.attention, found.needs_you) == wanted


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        pytest.param("⠂ Fix login", "Fix login", id="case-170-braille"),
        pytest.param("✳ Fix login", "Fix login", id="case-170-star"),
        pytest.param("◇  Ready (work)", "Ready (work)", id="case-170-diamond"),
        pytest.param("✋\ufe0f Action Required", "Action Required", id="case-170-emoji"),
        pytest.param("Fix login", "Fix login", id="case-170-none"),
        pytest.param("π - work", "π - work", id="case-170-a-letter"),
        pytest.param("⠂", "⠂", id="case-170-nothing-else"),
        pytest.param("", "", id="case-170-empty"),
    ],
)
def test_the_mark_before_a_title_is_not_its_task(title: str, shown: str) -> None:
    assert task(title) == shown


CONFIDENCE: dict[str, tuple[Pane, str]] = {
    "screen-proven": (pane(row(options=published())), "proven"),
    "screen-captured": (pane(row(options=published()), tier=Tier.CAPTURED), "captured"),
    "screen-conservative": (pane(row(options=published()), tier=Tier.CONSERVATIVE), "conservative"),
    "record": (pane(row(options=published(source="record"))), "declared"),
    "hook": (pane(row(options=published(source="hook"))), "declared"),
    "progress": (pane(row(options=published(source="progress"))), "weak"),
    "unknown": (pane(row(options=published(source="process", state="unknown"))), "none"),
    "agent-gone": (pane(row(options=published()), identity=None), "none"),
    "case-130-report-from-inside": (
        pane(row(options=published(source="report")), said=f"{NOW - 5000}.inside"),
        "declared",
    ),
    "case-130-report-from-outside": (
        pane(row(options=published(source="report")), said=f"{NOW - 5000}.outside"),
        "unverified",
    ),
    "case-130-report-of-nobody-we-know": (pane(row(options=published(source="report"))), "unverified"),
    "case-130-an-older-proof-proves-nothing": (
        pane(row(options=published(source="report")), said=f"{NOW - 9000}.inside"),
        "unverified",
    ),
}


@pytest.mark.parametrize("name", CONFIDENCE)
def test_confidence(name: str) -> None:
    given, wanted = CONFIDENCE[name]
    assert made(given).confidence == wanted


def test_case_178_an_age_is_never_negative() -> None:
    found = made(pane(row(options=published(since=NOW + 60_000))))
    assert found.evidence_age_ms == 0
    assert made(pane(row(options={}))).evidence_age_ms is None


def test_who_needs_you_comes_first_and_the_longest_wait_before_that() -> None:
    panes = [
        pane(row("%1", options=published(state="idle"))),
        pane(row("%2", options=published(state="working"))),
        pane(row("%3", options=published(state="idle", attention="1"))),
        pane(row("%4", options=published(since=NOW - 1000))),
        pane(row("%5", options=published(since=NOW - 9000))),
    ]
    rows = agent_rows(panes, NOW, "box", "/tmp/sock")
    assert [found.pane for found in rows] == ["%5", "%4", "%3", "%2", "%1"]
    assert counts(rows) == {"blocked": 2, "working": 1, "idle": 2, "unknown": 0, "done": 1, "needs_you": 2}


@pytest.mark.parametrize(
    "given",
    [
        pane(row(), identity=None),
        pane(row(options={"ignore": "1", **published()})),
        pane(row(), out_of_scope="remote or nested: ssh"),
        pane(row(options={"state": "coffee"}), identity=None),
    ],
    ids=["no-agent", "ignored", "remote", "no-state-at-all"],
)
def test_a_pane_without_an_agent_has_no_row(given: Pane) -> None:
    assert agent_row(given, NOW, "box", "/tmp/sock") is None


def test_a_remote_pane_that_reports_itself_has_one() -> None:
    found = made(
        pane(row(options={"state": "blocked:1799999999"}), identity=None, out_of_scope="remote or nested: ssh")
    )
    assert (found.state, found.source) == ("blocked", "report")


HOSTILE = ["#(touch X)", "#[bg=red]x", "a\x1b]2;title\x07b", "line\nline\ttab\x1f", "\u202eevil", "x" * 100_000, "'; #"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_case_129_json_keeps_hostile_text_and_a_terminal_gets_none_of_it(text: str) -> None:
    found = made(pane(row(title=text, path=text, session_name=text, window_name=text, options=published()))).json()
    assert [found[key] for key in ("title", "dir", "session", "window_name")] == [text] * 4
    shown = for_person(text, 30)
    assert shown.isprintable()
    assert width(shown) <= 30


def test_bytes_that_are_no_text_leave_json_valid() -> None:
    found = made(pane(row(title="a\udcffb", options=published()))).json()
    assert found["title"] == "a�b"
    json.dumps(found, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("text", ["#[x]", "##[y", "a#b", "###[z]", "#(t) ##", "#" * 40 + "["])
def test_a_cleaned_text_comes_back_as_it_was_and_is_not_cleaned_again(text: str) -> None:
    published_text = for_format(text, 32)
    assert presentable(published_text)
    assert from_format(published_text) == (text if width(text) <= 32 else for_person(text, 32))


def test_a_segment_without_its_styles() -> None:
    assert unstyled("#[fg=red]▲1#[default] #[fg=colour3,bold]##2#[default]") == "▲1 #2"


def test_no_line_of_a_table_is_wider_than_asked() -> None:
    rows = [["●", "日本語" * 9, "e\u0301" * 30, "long text " * 20], ["a", "b", "c", "d"]]
    for room in (20, 40, 80):
        lines = ["  ".join(cells) for cells in table(rows, room, (2, 12, 10))]
        assert all(width(line.rstrip()) <= room for line in lines)


@pytest.mark.parametrize(
    ("colour", "code"),
    [("red", "31"), ("brightblue", "94"), ("colour208", "38;5;208"), ("#ff8000", "38;2;255;128;0")],
)
def test_colours_of_tmux(colour: str, code: str) -> None:
    assert coloured("x", colour) == f"\x1b[{code}mx\x1b[0m"
    assert coloured("x", "default") == "x"
