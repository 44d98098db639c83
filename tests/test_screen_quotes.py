"""Words are not dialogs: each dialog and phrase of the rules, quoted above a composer, leaves the pane what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_plugin.core.evidence import Screen
from agents_plugin.core.screen import read
from tests.fixtures_index import FULL_DEPTH, Saved, manifest, saved
from tests.phrases import phrases
from tests.reflow import reflow

WIDTHS = (30, 40, 60, 100, 200)
QUOTES: dict[str, Callable[[str], str]] = {
    "raw": lambda line: line,
    "answer": lambda line: f"  {line}",
    "tool-output": lambda line: f"  ⎿  {line}",
    "markdown": lambda line: f"  > {line}",
    "bar": lambda line: f"  │ {line}",
    "bullet": lambda line: f"• {line}",
    "grep": lambda line: f"docs/notes.md:12: {line}",
}


def composer(agent: str, cols: int, working: bool, status_rows: int, draft: str = "") -> tuple[list[str], str]:
    """The foot of an idle or working screen, and the title that goes with it."""
    if agent == "claude":
        rule = "─" * cols
        hint = "esc to interrupt" if working else "? for shortcuts"
        foot = [rule, f"❯ {draft}".rstrip(), rule, *(f"  main · 12 files · row {n}" for n in range(status_rows))]
        last = f"  ⏸ manual mode on · {hint}"
        return [*foot, last if len(last) <= cols else last[: cols - 1] + "…"], "✳ Claude Code"
    foot = ["", f"› {draft or 'Ask Codex to do anything'}", "", "  mock-model default · /srv/dev/work/codex"[:cols]]
    foot += [f"  status row {n}" for n in range(max(0, status_rows - 1))]
    return [*foot, "  ← for agents · ? for shortcuts"[:cols]], "⠋ work | codex" if working else "work | codex"


def ended(agent: str) -> list[str]:
    return ["", "✻ Churned for 4s · done 7:59 PM", ""] if agent == "claude" else ["", "  Worked for 3s • 20:04", ""]


def state(agent: str, lines: list[str], title: str, cols: int) -> str:
    best = read(manifest(agent), Screen(tuple(line.rstrip() for line in lines), title=title, cols=cols)).best
    return str(best.state) if best else "nothing"


DIALOGS = [item for agent in FULL_DEPTH for item in saved(agent) if item.truth == "blocked"]


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("item", DIALOGS, ids=[item.id for item in DIALOGS])
def test_case_040_quoted_dialog(item: Saved, quote: str) -> None:
    for cols in WIDTHS:
        body = [QUOTES[quote](line) for line in reflow(item.screen, cols).lines if line.strip()]
        for working in (False, True):
            for rows in (0, 5):
                foot, title = composer(item.agent, cols, working, rows)
                got = state(item.agent, [*body, *ended(item.agent), *foot], title, cols)
                assert got == ("working" if working else "idle"), (cols, working, rows)


BLOCKED_RULES = [(agent, rule) for agent in FULL_DEPTH for rule in manifest(agent).rules if rule.state == "blocked"]


@pytest.mark.parametrize("cols", (40, 100))
@pytest.mark.parametrize(("agent", "rule"), BLOCKED_RULES, ids=[f"{agent}-{rule.id}" for agent, rule in BLOCKED_RULES])
def test_case_040_every_phrase_of_a_blocked_rule(agent: str, rule: object, cols: int) -> None:
    texts = [text for matcher in getattr(rule, "matchers") for text in phrases(matcher)]  # noqa: B009
    assert texts
    for quote in QUOTES.values():
        foot, title = composer(agent, cols, False, 1)
        body = [quote(text) for text in texts for _ in range(2)]
        # Also as the draft the user types: the composer is no dialog.
        for draft in ("", texts[-1][: cols - 4]):
            foot, title = composer(agent, cols, False, 1, draft)
            assert state(agent, [*body, *ended(agent), *foot], title, cols) == "idle"


@pytest.mark.parametrize("agent", FULL_DEPTH)
@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(["● The build said:", "  error: 3 tests failed", "  FAILED tests/x.py"], id="case-048-errors"),
        pytest.param(["● Two ways:", "  1. Yes, rewrite it", "  2. No, leave it"], id="case-051-numbered-list"),
        pytest.param(["● Should I go on? (y/n)", "  Allow command? [Y/n]"], id="case-040-question-in-prose"),
        pytest.param(["● thinking ✻ ⠋ about it… done"], id="case-015-spinner-in-prose"),
        pytest.param(["  ⎿  429 rate limit reached, retrying in 5s"], id="case-008-limit-in-tool-output"),
    ],
)
def test_prose_above_a_composer_is_idle(agent: str, tail: list[str]) -> None:
    foot, title = composer(agent, 80, False, 2)
    assert state(agent, ["❯ hello", "", *tail, *ended(agent), *foot], title, 80) == "idle"


@pytest.mark.parametrize("working", (False, True), ids=("idle", "working"))
def test_case_038_label_on_the_composers_rule(working: bool) -> None:
    foot, title = composer("claude", 80, working, 0)
    foot[0] = "─" * 60 + " my long session ──"
    assert state("claude", ["● Hello.", "", *foot], title, 80) == ("working" if working else "idle")


@pytest.mark.parametrize(
    "mode", ("⏸ manual mode on", "⏵⏵ accept edits on", "⏵⏵ bypass permissions on (shift+tab to cycle)")
)
def test_case_042_mode_footer_is_no_work(mode: str) -> None:
    rule = "─" * 80
    assert state("claude", ["● Hello.", "", rule, "❯", rule, f"  {mode}"], "✳ Claude Code", 80) == "idle"


@pytest.mark.parametrize(("mark", "wanted"), [("⠂", "working"), ("✳", "idle")])
def test_case_170_the_mark_before_the_title(mark: str, wanted: str) -> None:
    foot, _ = composer("claude", 80, False, 0)
    assert state("claude", ["● Hello.", "", *foot], f"{mark} Fix login", 80) == wanted


def test_case_026_dialog_beats_spinner() -> None:
    item = next(item for item in DIALOGS if item.name == "blocked__bash_permission__w100")
    lines = ["✻ Thinking… (12s · esc to interrupt)", *item.screen.lines]
    assert state("claude", lines, "⠂ topic", 100) == "blocked"


def test_case_028_confirming_foot_below_the_last_rule_is_a_dialog() -> None:
    lines = ["● Hello.", "─" * 80, " Something new", "", " ❯ Go on", "   Stop", "", " Enter to confirm · Esc to cancel"]
    assert state("claude", lines, "✳ Claude Code", 80) == "blocked"


def test_case_030_codex_question_says_esc_to_interrupt() -> None:
    item = next(item for item in DIALOGS if item.name == "blocked__request_user_input_down__w60")
    assert state("codex", list(item.screen.lines), "⠋ work | codex", 60) == "blocked"


@pytest.mark.parametrize("rows", range(6))
def test_case_174_panel_below_the_composer(rows: int) -> None:
    foot, title = composer("claude", 100, True, rows)
    panel = ["", "  ● main", *(f"  ◯ general-purpose  helper {n}   {n}s" for n in range(8))]
    assert state("claude", ["● Hello.", "", *foot, *panel], title, 100) == "working"
