"""OpenCode, Gemini, aider, Copilot, pi, and the relatives Kilo and Qwen: screens, rules, widths, quotes, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agents_plugin.core.evidence import Match, Screen
from agents_plugin.core.identity import recognise
from agents_plugin.core.screen import read, trace
from agents_plugin.core.trees import Proc
from tests.fixtures_index import CATALOG, Saved, manifest, saved
from tests.phrases import phrases
from tests.rewrap import rewrap

AGENTS = ("opencode", "gemini", "aider", "copilot", "pi", "kilo", "qwen")
SCREENS = [item for agent in AGENTS for item in saved(agent)]
IDS = [item.id for item in SCREENS]
WIDTHS = (30, 36, 40, 60, 80, 130, 200)
RULE = "─" * 80

#: Rules for screens nobody recorded: (rows, title). What they say is written in the agents' own sources.
KNOWN: dict[tuple[str, str], tuple[list[str], str]] = {
    **{
        (agent, "retry-limit"): (
            ["  ┃", "  ┃  Build", "  ╹" + "▀" * 70, "   ■Rate⬝limit reached, later [retrying", "    in 9s attempt #2]"],
            "",
        )
        for agent in ("opencode", "kilo")
    },
    ("kilo", "permission-always"): (
        ["  ┃  △ Always allow", "  ┃  - touch *", "  ┃   Confirm   Cancel     ⇆ select  enter confirm"],
        "",
    ),
    ("kilo", "question"): (["  ┃  Which?", "  ┃  1. Red", "  ┃  ↑↓ select  enter submit  esc dismiss"], ""),
    ("gemini", "loop"): (
        ["╭────────────╮", "│ ?  A potential loop was detected", "│ ● 1. Keep on", "╰────────────╯"],
        "◇  Ready (work)",
    ),
    ("gemini", "connect-editor"): (
        ["╭──────╮", "│ > Do you want to connect VS Code to Gemini CLI?", "│ ● 1. Yes", "╰──────╯"],
        "",
    ),
    ("aider", "retry-limit"): (
        ["diff> go", "", "litellm.RateLimitError: RateLimitError: slow down", "Retrying in 0.5 seconds..."],
        "",
    ),
    ("copilot", "choice"): (["╭─────╮", "│ ❯ 1. This", "│ enter to select · esc to cancel", "╰─────╯"], ""),
    ("copilot", "thinking"): ([" ∙ Thinking (Esc to cancel · 1.2 KiB)", RULE, " > ", RULE, " Ctrl+c Exit"], ""),
    ("pi", "menu"): (
        [RULE, " Summarize branch?", "", " → No summary", "", " ↑↓ navigate  enter select  escape cancel", "", RULE],
        "",
    ),
    ("pi", "compacting"): (["── ⠋ Compacting context... (escape to cancel) ──", "", RULE, "~/x", "0.1%/200k"], ""),
    ("qwen", "plan"): (["  Would you like to proceed?", "  › 1. Yes", "", "  ⠏ Waiting for user confirmation..."], ""),
}


def told(match: Match | None) -> str | None:
    return str(match.state) if match else None


def best(item: Saved, screen: Screen) -> Match | None:
    return read(manifest(item.agent), screen).best


def composer_row(agent: str, lines: list[str]) -> int | None:
    """The first row of the composer's block; None on a screen without one."""
    if agent in ("opencode", "kilo"):
        edges = [n for n, line in enumerate(lines) if re.match(r"\s*╹▀{3}", line)]
        row = edges[-1] if edges else None
        while row is not None and row > 0 and re.match(r"\s*[┃╹]", lines[row]):
            row -= 1
        return row
    rules = [n for n, line in enumerate(lines) if re.match(r" ?[─━▄▀]{10,}$|── ", line)]
    need = 1 if agent in ("gemini", "aider") else 2
    if len(rules) < need:
        return None
    row = rules[-need]
    while agent in ("gemini", "qwen", "copilot") and row > 0 and lines[row - 1].strip() and row > rules[-need] - 3:
        row -= 1
    if agent == "pi" and row > 1 and re.match(r" [⠀-⣿] ", lines[row - 2]):
        row -= 2  # before 1.0 the spinner stands above an empty row
    return row


@pytest.mark.parametrize("item", SCREENS, ids=IDS)
def test_reads_as_recorded(item: Saved) -> None:
    reading = read(manifest(item.agent), item.screen)
    found = reading.best
    rule = reading.skip or (found.rule if found else None)
    assert {"state": told(found), "detail": found.detail if found else None, "rule": rule} == item.expect


@pytest.mark.parametrize("item", SCREENS, ids=IDS)
def test_expectation_agrees_with_the_name(item: Saved) -> None:
    state = item.expect["state"]
    if item.truth == "blocked":
        assert state == "blocked" and item.expect["detail"]
    elif item.truth == "dead":
        assert state is None
    else:
        # A menu the user opened hides everything: then the screen says nothing.
        assert state == item.truth or (state is None and re.search("menu|palette", item.name))


@pytest.mark.parametrize("agent", AGENTS)
def test_no_blocked_rule_holds_on_a_screen_that_is_not_blocked(agent: str) -> None:
    for item in saved(agent):
        if item.truth != "blocked" and "menu-login" not in item.name:  # that one is for the skip rule
            held = [o.rule for o in trace(manifest(agent), item.screen) if o.matched and o.state == "blocked"]
            assert held == [], item.id


@pytest.mark.parametrize("agent", AGENTS)
def test_every_rule_is_seen_at_work(agent: str) -> None:
    found = manifest(agent)
    seen = {outcome.rule for item in saved(agent) for outcome in trace(found, item.screen) if outcome.matched}
    unseen = {rule.id for rule in (*found.skips, *found.rules)} - seen
    assert unseen <= {rule for name, rule in KNOWN if name == agent}


@pytest.mark.parametrize(("agent", "rule"), KNOWN, ids=[f"{agent}-{rule}" for agent, rule in KNOWN])
def test_rule_without_a_recording(agent: str, rule: str) -> None:
    rows, title = KNOWN[agent, rule]
    outcomes = {o.rule: o for o in trace(manifest(agent), Screen(tuple(rows), title=title, cols=80))}
    assert outcomes[rule].failed == ""


def redrawable(item: Saved) -> bool:
    """Not so: dead panes, OpenCode's side panel, aider's draft (without its cursor row it looks sent), long menus.

    Screens named `live` were taken at widths from 30 to 160 from the start, with rows cut as the agent cuts them.
    """
    panel = item.agent == "opencode" and "w200" in item.name
    return item.truth != "dead" and not panel and not re.search("typing__|slash|user-bash|live", item.name)


REDRAWN = [item for item in SCREENS if redrawable(item)]


@pytest.mark.parametrize("item", REDRAWN, ids=[item.id for item in REDRAWN])
def test_case_173_same_verdict_at_another_width(item: Saved) -> None:
    for cols in WIDTHS if "fresh" not in item.name else WIDTHS[3:]:
        found = best(item, rewrap(item.screen, cols))
        assert told(found) == item.expect["state"], cols
        if item.truth == "blocked":
            assert found is not None and found.detail == item.expect["detail"], cols


#: aider is a line-mode program: nothing can stand below its prompt.
ROWED = [item for item in SCREENS if item.truth != "dead" and item.agent != "aider"]


@pytest.mark.parametrize("item", ROWED, ids=[item.id for item in ROWED])
def test_case_174_status_rows_below(item: Saved) -> None:
    lines = list(item.screen.lines)
    while lines and not lines[-1]:
        lines.pop()
    for rows in range(1, 6):
        more = [f"  my status {n}: 42% main $0.12 ✓" for n in range(rows)]
        assert told(best(item, replace(item.screen, lines=(*lines, *more)))) == item.expect["state"], rows


@pytest.mark.parametrize("item", SCREENS, ids=IDS)
def test_facts_that_are_missing_lose_no_dialog_and_invent_none(item: Saved) -> None:
    bare = replace(item.screen, cursor_shown=None, cursor_x=None, cursor_y=None, alternate=None, cols=None)
    for screen in (bare, replace(item.screen, title=""), replace(bare, title="")):
        found = best(item, screen)
        assert (told(found) == "blocked") == (item.truth == "blocked")
        if item.truth == "blocked":
            assert found is not None and found.detail == item.expect["detail"]


QUOTED = {
    "raw": "{}",
    "answer": "  {}",
    "code": "     {}",
    "bar": "  │ {}",
    "left-bar": "  ┃  {}",
    "markdown": "> {}",
    "bullet": "● {}",
    "grep": "docs/notes.md:12: {}",
}


def _feet() -> Iterator[Saved]:
    """One idle and one working screen of each agent and width, with a composer for the quotes to stand above."""
    seen = set()
    for item in SCREENS:
        kind = (item.agent, item.truth, item.facts["cols"])
        plain = item.truth in ("idle", "working") and "retry" not in item.name and item.expect["state"]
        if plain and kind not in seen and composer_row(item.agent, list(item.screen.lines)) is not None:
            seen.add(kind)
            yield item


FEET = list(_feet())


@pytest.mark.parametrize("quote", QUOTED)
@pytest.mark.parametrize("item", FEET, ids=[item.id for item in FEET])
def test_case_040_quoted_dialogs_above_the_composer(item: Saved, quote: str) -> None:
    lines = list(item.screen.lines)
    while lines and not lines[-1]:
        lines.pop()
    row = composer_row(item.agent, lines)
    dialogs = [other for other in saved(item.agent) if other.truth == "blocked"]
    for dialog in dialogs:
        body = [QUOTED[quote].format(line) for line in dialog.screen.lines if line.strip()]
        rows = (*lines[:row], *body, "", *lines[row:])
        down = None if item.screen.cursor_y is None else item.screen.cursor_y + len(body) + 1
        placed = replace(item.screen, lines=rows, cursor_y=down)
        assert told(best(item, placed)) == item.expect["state"], dialog.id
        unplaced = replace(item.screen, lines=rows, cursor_y=None, cursor_x=None, cursor_shown=None)
        assert told(best(item, unplaced)) != "blocked", dialog.id


#: Nothing can stand above these; and Gemini's view for screen readers has no lines that could end a quoted composer.
FIRST = re.compile("auth|login|trust|onboarding|setup|first_?run|live_reader")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_composer_quoted_above_a_dialog_hides_nothing(agent: str) -> None:
    items = saved(agent)
    tails: dict[tuple[str, str | None], list[str]] = {}
    for item in items:
        if item.truth in ("idle", "working") and item.expect["state"] is not None:
            rows = [line for line in item.screen.lines if line.strip()]
            tails.setdefault((item.truth, item.expect["rule"]), rows[-12:])
    dialogs = [item for item in items if item.truth == "blocked" and not FIRST.search(item.name)]
    assert tails and dialogs
    for dialog in dialogs:
        for key, rows in tails.items():
            for quote in ("{}", "  {}"):
                quoted = [quote.format(row) for row in rows]
                down = None if dialog.screen.cursor_y is None else dialog.screen.cursor_y + len(quoted) + 1
                placed = replace(dialog.screen, lines=(*quoted, "", *dialog.screen.lines), cursor_y=down)
                found = read(manifest(agent), placed).best
                assert found is not None and found.state == "blocked", (dialog.id, key, quote)


@pytest.mark.parametrize("quote", QUOTED)
@pytest.mark.parametrize("item", FEET, ids=[item.id for item in FEET])
def test_case_040_every_phrase_of_the_blocked_rules(item: Saved, quote: str) -> None:
    lines = list(item.screen.lines)
    row = composer_row(item.agent, lines)
    rules = [rule for rule in manifest(item.agent).rules if rule.state == "blocked"]
    body = [QUOTED[quote].format(text) for rule in rules for part in rule.matchers for text in phrases(part)]
    assert body
    down = None if item.screen.cursor_y is None else item.screen.cursor_y + len(body)
    placed = replace(item.screen, lines=(*lines[:row], *body, *lines[row:]), cursor_y=down)
    assert told(best(item, placed)) == item.expect["state"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("opencode/blocked__external_directory__w60", "approve external directory: /etc"),
        ("opencode/blocked__question_two_1__w100", "Which colour should the banner be?"),
        ("gemini/blocked__question__w60", "Which colour should the banner be?"),
        ("aider/blocked__shell-permission-2__w60", "approve shell: touch hello.txt"),
        ("aider/blocked__firstrun-open-docs-url__w60", "Open documentation url for more info?"),
        ("copilot/blocked__shell-rm__w60", "approve Bash: rm -rf build_lab"),
        ("copilot/blocked__question__w60", "Which colour do you want for the lab?"),
        ("pi/blocked__question-ext__w60", "Which colour should the header use?"),
        ("qwen/blocked__edit__w60", "approve Edit: greet.py"),
        ("qwen/blocked__question_multi__w100", "Which features do you want to enable?"),
        ("gemini/blocked__shell_resized__w100", "approve Shell: touch hello.txt"),
        ("gemini/blocked__v0.16_live_edit__w72", "approve Edit: calc.py"),
        ("gemini/blocked__live_question__w52", "Which features do you want to enable? (Select all that apply)"),
        ("opencode/blocked__question_multi__w100", "Which features do you want to enable? (select all that apply)"),
        ("kilo/blocked__edit_cut__w132", "approve edit: calc.py"),
    ],
)
def test_asked_text(name: str, asked: str) -> None:
    item = next(item for item in SCREENS if item.id == name)
    found = best(item, item.screen)
    assert found is not None and found.text == asked


#: Command lines as recorded: (comm, arguments), with the agent and whether it can wait for anybody.
PROCESSES = [
    ("opencode", "opencode", "opencode", False),
    ("opencode", "opencode run fix-it", "opencode", True),
    ("node", "node /srv/npm/lib/node_modules/opencode-ai/bin/opencode", "opencode", False),
    ("kilo", "kilo", "kilo", False),
    ("node", "node /srv/npm/gemini/node_modules/.bin/gemini", "gemini", False),
    ("node", "/usr/bin/node --max-old-space-size=12052 /srv/npm/gemini/node_modules/.bin/gemini", "gemini", False),
    ("node", "node /usr/lib/node_modules/@google/gemini-cli/dist/index.js -p hello", "gemini", True),
    ("node", "node /usr/bin/gemini --prompt=hello", "gemini", True),
    ("aider", "/srv/venv/aider/bin/python /srv/venv/aider/bin/aider --model openai/mock-1", "aider", False),
    ("python3", "python3 -m aider --model openai/mock-1", "aider", False),
    ("aider", "/srv/venv/bin/python /srv/venv/bin/aider --message fix", "aider", True),
    ("MainThread", "node /srv/npm/copilot/node_modules/.bin/copilot", "copilot", False),
    ("MainThread", "/srv/npm/copilot/node_modules/@github/copilot-linux-x64/copilot", "copilot", False),
    ("node", "node /usr/lib/node_modules/@github/copilot/index.js -p hello", "copilot", True),
    ("pi", "pi", "pi", False),
    ("node", "node /srv/npm/node_modules/@earendil-works/pi-coding-agent/dist/cli.js", "pi", False),
    ("node", "node /srv/npm/node_modules/@mariozechner/pi-coding-agent/dist/cli.js --mode json", "pi", True),
    ("pi", "pi --mode=rpc", "pi", True),
    ("pi", "pi --print hello", "pi", True),
    ("MainThread", "node /srv/npm/qwen24/node_modules/.bin/qwen", "qwen", False),
    ("MainThread", "/srv/node --expose-gc /srv/node_modules/@qwen-code/qwen-code/cli.js", "qwen", False),
    ("vim", "vim /srv/work/aider/notes.md", None, False),
    ("tail", "tail -f /srv/work/opencode/log", None, False),
    ("python3", "python3 -m pytest tests/aider", None, False),
]


@pytest.mark.parametrize(("comm", "command", "agent", "headless"), PROCESSES, ids=[p[1] for p in PROCESSES])
def test_names_of_processes(comm: str, command: str, agent: str | None, headless: bool) -> None:
    hit = recognise(Proc(2, 1, 2, comm, tuple(command.split())), list(CATALOG))
    assert (hit.agent if hit else None) == agent
    assert hit is None or hit.headless == headless
