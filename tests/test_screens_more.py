"""Agents whose screens and tapes were recorded once: rules, widths, quotes, texts, names. One test an agent.

An agent is in by its entry in `FOOT`; what is special about it is in the tables next to it.
"""

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
from tests.unrecorded import UNRECORDED

#: The first row of what an agent keeps below its transcript; the last row that matches counts.
FOOT = {
    "omp": r"(?: {1,3}⎋| π >| [⠀-⣿] \d+s >)",
    "kimi": r"(?:  (?:[🌑-🌘]|[⠀-⣿] )| ● Compacting| ╭─)",
    "kimi-cli": r"(?:[🌑-🌘]|[⠀-⣿] |Retrying after|[─╌]{2} input)",
    "vibe": r"(?:[ ⠀-⣿]{1,3} ?\S+… \(|─{5,}[^▁-█]* ─$)",
    "gptme": r"User:",
    "openhands": r"(?: [⠀-⣿] Working| ╭─)",
    "hermes": r" ⚕ \S",
    "cline": r"(?: [⠀-⣿] | *─{10,}$)",
    "continue": r"(?: ?[⠀-⣿]{1,3} +\(|╭─)",
    "droid": r"(?: [⠀-⣿] [A-Z]| Auto \(|╭─)",
    "grok": r"(?: {1,3}[-\\|/] (?:[A-Z]| +\(\d)|  ╭─)",
    "letta": r"(?:[-=≡] \S.*…|• \S.*… \(esc|─{10,}$)",
    "auggie": r"(?: [⠀-⣿] |─{10,}$)",
    "amp": r"╭─",
}
WITH_FOOT = tuple(FOOT)
#: Agents of which no recording got as far as a composer.
AGENTS = (*WITH_FOOT, "qoder", "codebuff", "jules")
#: Agents that own every row below their composer: no status line of the user's can be there.
FULL_SCREEN = {"gptme", "openhands", "vibe", "cline", "amp", "codebuff"}
#: Nothing is read on these, for the user opened them.
OPENED = re.compile("menu|palette|pager|hotkeys")
#: Not redrawn here: dead panes, and screens whose rows a re-wrapping of ours would tear.
TORN = re.compile(
    "/dead|slash|menu|palette|pager|firstrun-trust__w100|-low(?:-[0-9.]+)?__|-0.60__"
    "|cline/idle__(?:after-clear|typing)|amp/idle"
)
#: Before the agent has drawn anything else, or cut off above: nothing can stand there.
LINE_MODE = re.compile("wall|login|onboarding|upsell|first.?run|setup|startup|-cut-low__")
WIDTHS = (40, 60, 80, 130, 200)


def told(match: Match | None) -> str | None:
    return str(match.state) if match else None


def best(agent: str, screen: Screen) -> Match | None:
    return read(manifest(agent), screen).best


def told_of(item: Saved, screen: Screen) -> str | None:
    return told(best(item.agent, screen))


def body(screen: Screen) -> list[str]:
    lines = list(screen.lines)
    while lines and not lines[-1]:
        lines.pop()
    return lines


@pytest.mark.parametrize("agent", AGENTS)
def test_reads_as_recorded(agent: str) -> None:
    items = saved(agent)
    assert items
    for item in items:
        reading = read(manifest(agent), item.screen)
        found = reading.best
        rule = reading.skip or (found.rule if found else None)
        assert {"state": told(found), "detail": found.detail if found else None, "rule": rule} == item.expect, item.id
        state = item.expect["state"]
        if item.truth == "blocked":
            assert state == "blocked" and item.expect["detail"], item.id
        elif item.truth == "dead":
            assert state is None, item.id
        else:
            assert state == item.truth or (state is None and OPENED.search(item.name)), item.id


@pytest.mark.parametrize("agent", AGENTS)
def test_each_rule_holds_where_it_should_and_no_blocked_rule_elsewhere(agent: str) -> None:
    found = manifest(agent)
    seen: set[str] = set()
    for item in saved(agent):
        held = [outcome for outcome in trace(found, item.screen) if outcome.matched]
        seen.update(outcome.rule for outcome in held)
        if item.truth != "blocked":
            assert [outcome.rule for outcome in held if outcome.state == "blocked"] == [], item.id
    assert {rule.id for rule in (*found.skips, *found.rules)} - seen <= {
        rule for name, rule in UNRECORDED if name == agent
    }


@pytest.mark.parametrize(("agent", "rule"), UNRECORDED, ids=[f"{agent}-{rule}" for agent, rule in UNRECORDED])
def test_rule_without_a_recording(agent: str, rule: str) -> None:
    rows, title, alternate = UNRECORDED[agent, rule]
    screen = Screen(tuple(rows.split("\n")), title=title, alternate=alternate, cols=80)
    assert {outcome.rule: outcome for outcome in trace(manifest(agent), screen)}[rule].failed == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_case_173_same_verdict_at_another_width(agent: str) -> None:
    for item in saved(agent):
        if TORN.search(item.id):
            continue
        for cols in WIDTHS:
            found = best(agent, rewrap(item.screen, cols))
            assert told(found) == item.expect["state"], (item.id, cols)
            if item.truth == "blocked":
                assert found is not None and found.detail == item.expect["detail"], (item.id, cols)


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent not in FULL_SCREEN])
def test_case_174_status_rows_below(agent: str) -> None:
    for item in saved(agent):
        if item.truth == "dead":
            continue
        for rows in range(1, 6):
            more = [f"  my status {n}: 42% main $0.12 ✓" for n in range(rows)]
            screen = replace(item.screen, lines=(*body(item.screen), *more))
            assert told_of(item, screen) == item.expect["state"], (item.id, rows)


@pytest.mark.parametrize("agent", AGENTS)
def test_facts_that_are_missing_lose_no_dialog_and_invent_none(agent: str) -> None:
    for item in saved(agent):
        bare = replace(item.screen, cursor_shown=None, cursor_x=None, cursor_y=None, alternate=None, cols=None)
        for screen in (bare, replace(item.screen, title=""), replace(bare, title="")):
            assert (told_of(item, screen) == "blocked") == (item.truth == "blocked"), (item.id, screen.title)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_title_that_outlived_its_agent_says_nothing_over_a_shell(agent: str) -> None:
    for item in saved(agent):
        lines = (*body(item.screen), "Killed", "$")
        screen = replace(item.screen, lines=lines, cursor_x=2, cursor_y=len(lines) - 1, cursor_shown=True)
        assert told_of(item, screen) != "blocked", item.id


QUOTED = ("{}", "  {}", "     {}", "  │ {}", "> {}", "● {}", "• {}", "docs/notes.md:12: {}")


def feet(agent: str) -> Iterator[tuple[Saved, list[str], int]]:
    """One idle and one working screen of each width with the row at which the transcript ends."""
    seen: set[tuple[str, int]] = set()
    for item in saved(agent):
        kind = (item.truth, item.facts["cols"])
        if item.truth not in ("idle", "working") or item.expect["state"] is None or kind in seen:
            continue
        lines = body(item.screen)
        starts = [row for row, line in enumerate(lines) if re.match(FOOT[agent], line)]
        # A working screen's foot is its spinner, not the box under it.
        while len(starts) > 1 and starts[-1] - starts[-2] <= 6:
            starts.pop()
        if starts:
            seen.add(kind)
            yield item, lines, starts[-1]


def above_the_foot(item: Saved, lines: list[str], row: int, quoted: list[str]) -> Iterator[Screen]:
    down = None if item.screen.cursor_y is None else item.screen.cursor_y + len(quoted) + 1
    placed = replace(item.screen, lines=(*lines[:row], *quoted, "", *lines[row:]), cursor_y=down)
    yield placed
    yield replace(placed, cursor_y=None, cursor_x=None, cursor_shown=None)


@pytest.mark.parametrize("agent", WITH_FOOT)
def test_case_040_quoted_dialogs_above_the_composer(agent: str) -> None:
    dialogs = [other for other in saved(agent) if other.truth == "blocked"]
    grounds = list(feet(agent))
    assert {item.truth for item, _, _ in grounds} >= {"idle"}
    for item, lines, row in grounds:
        for dialog in dialogs:
            for quote in QUOTED:
                rows = [quote.format(line) for line in dialog.screen.lines if line.strip()]
                placed, unplaced = above_the_foot(item, lines, row, rows)
                assert told_of(item, placed) == item.expect["state"], (item.id, dialog.id, quote)
                assert told_of(item, unplaced) != "blocked", (item.id, dialog.id, quote)


@pytest.mark.parametrize("agent", WITH_FOOT)
def test_a_composer_quoted_above_a_dialog_hides_nothing(agent: str) -> None:
    for item, lines, row in feet(agent):
        for dialog in saved(agent):
            if dialog.truth == "blocked" and not LINE_MODE.search(dialog.name):
                for quote in QUOTED:
                    rows = (*(quote.format(line) for line in lines[row:]), "", *dialog.screen.lines)
                    down = None if dialog.screen.cursor_y is None else dialog.screen.cursor_y + len(lines[row:]) + 1
                    placed = replace(dialog.screen, lines=rows, cursor_y=down)
                    assert told_of(item, placed) == "blocked", (item.id, dialog.id, quote)


@pytest.mark.parametrize("agent", WITH_FOOT)
def test_case_040_every_phrase_of_the_blocked_rules(agent: str) -> None:
    rules = [rule for rule in manifest(agent).rules if rule.state == "blocked"]
    texts = [text for rule in rules for part in rule.matchers for text in phrases(part)]
    assert texts
    for item, lines, row in feet(agent):
        for quote in QUOTED:
            placed, _ = above_the_foot(item, lines, row, [quote.format(text) for text in texts])
            assert told_of(item, placed) == item.expect["state"], (item.id, quote)


ASKED = [
    ("omp/blocked__question-ask__w60", "Which colour should the header use?"),
    ("omp/blocked__shell-permission__w60", "approve bash: touch hello.txt"),
    ("kimi/blocked__shell-permission__w60", "approve Bash: touch hello.txt"),
    ("kimi/blocked__plan-approval__w60", "Ready to build with this plan?"),
    ("kimi/blocked__question__w60", "Which colour should the header use?"),
    ("kimi-cli/blocked__shell-permission-2__w60", "approve Shell: touch hello.txt"),
    ("kimi-cli/blocked__question__w100", "Which colour should the header use?"),
    ("vibe/blocked__shell-permission-long__w60", "approve bash: sleep 20; touch hello.txt"),
    ("vibe/blocked__question__w60", "Which colour should the header use?"),
    ("gptme/blocked__two-q1__w60", "approve shell: touch one.txt"),
    ("openhands/blocked__two-q1__w60", "Confirm 2 action(s)?"),
    ("openhands/blocked__shell-permission__w60", "approve terminal: touch hello.txt"),
    ("hermes/blocked__shell-permission__w60", "approve terminal: rm -rf ./build-old"),
    ("hermes/blocked__question-clarify__w100", "Which colour should the header use?"),
    ("cline/blocked__two-second__w60", "approve run_commands: touch two.txt"),
    ("cline/blocked__subagent-permission__w100", "approve spawn_agent: please slow: look at the lab and report"),
    ("continue/blocked__shell-rm__w60", "approve Bash: rm -rf build_lab"),
    ("continue/blocked__question__w100", "Which colour do you want for the lab?"),
    ("droid/blocked__two-first__w60", "approve Execute: touch one.txt"),
    ("droid/blocked__edit__w60", "approve Create: note.md"),
    ("droid/blocked__question__w60", "Which colour do you want for the lab?"),
    ("grok/blocked__shell-long__w60", "approve Bash: sleep 14; echo finished"),
    ("letta/blocked__shell-rm__w60", "approve Bash: rm -rf build_lab"),
    ("letta/blocked__edit__w60", "approve Write: note.md"),
    ("auggie/blocked__shell-rm__w60", "approve Terminal: rm -rf build_lab"),
]


@pytest.mark.parametrize(("name", "asked"), ASKED, ids=[name for name, _ in ASKED])
def test_asked_text(name: str, asked: str) -> None:
    agent = name.split("/")[0]
    item = next(item for item in saved(agent) if item.id == name)
    found = best(agent, item.screen)
    assert found is not None and found.text == asked


#: Command lines as recorded, or as launchers write them: (comm, command, agent, whether it waits for nobody).
PROCESSES = [
    ("omp", "bun /srv/npm/oh-my-pi/node_modules/.bin/omp --approval-mode=always-ask --no-title", "omp", False),
    ("omp", "bun /srv/npm/oh-my-pi/node_modules/.bin/omp -p hello", "omp", True),
    ("bun", "bun /srv/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js", "omp", False),
    ("kimi-code", "kimi-code", "kimi", False),
    ("node", "node /usr/lib/node_modules/@moonshot-ai/kimi-code/dist/main.mjs", "kimi", False),
    ("Kimi Code", "Kimi Code", "kimi-cli", False),
    ("python3", "python3 -m kimi_cli", "kimi-cli", False),
    ("vibe-rs", "/srv/venv/lib/python3.12/site-packages/vibe/_bin/vibe-rs", "vibe", False),
    ("vibe", "/srv/venv/bin/python /srv/venv/bin/vibe", "vibe", False),
    ("vibe", "/srv/venv/bin/python /srv/venv/bin/vibe -p hello", "vibe", True),
    ("vibe-app-server", "vibe-app-server", None, False),
    ("gptme", "/srv/venv/gptme/bin/python /srv/venv/gptme/bin/gptme -m local/mock-1", "gptme", False),
    ("gptme", "/srv/venv/gptme/bin/python /srv/venv/gptme/bin/gptme -n hello", "gptme", True),
    ("gptme-server", "/srv/venv/bin/python /srv/venv/bin/gptme-server", None, False),
    ("openhands", "/srv/venv/bin/python /srv/venv/bin/openhands --override-with-envs", "openhands", False),
    ("openhands", "/srv/venv/bin/python /srv/venv/bin/openhands --headless -t fix", "openhands", True),
    ("hermes", "/srv/venv/hermes/bin/python /srv/venv/hermes/bin/hermes", "hermes", False),
    ("hermes", "/srv/venv/hermes/bin/python /srv/venv/hermes/bin/hermes gateway run", None, False),
    ("cline", "/srv/npm/node_modules/.bin/cline -P openai-compatible --auto-approve false -i", "cline", False),
    ("cline", "/srv/npm/node_modules/.bin/cline --json fix", "cline", True),
    ("cline", "cline --cline-hub-daemon --cwd /srv --port 25463", None, False),
    ("MainThread", "node /srv/npm/node_modules/.bin/cn --config /srv/config.yaml", "continue", False),
    ("node", "node /srv/node_modules/@continuedev/cli/dist/cn.js -p hello", "continue", True),
    ("droid", "/srv/npm/node_modules/.bin/droid --use-spec", "droid", False),
    ("droid", "/srv/node_modules/droid/bin/droid exec --input-format stream-jsonrpc", "droid", True),
    ("MainThread", "node /srv/npm/node_modules/.bin/grok -m mock-model", "grok", False),
    ("node", "node /srv/node_modules/@vibe-kit/grok-cli/dist/index.js --prompt hello", "grok", True),
    ("MainThread", "node /srv/npm/node_modules/.bin/letta --backend local --new-agent", "letta", False),
    ("node", "node /srv/node_modules/@letta-ai/letta-code/letta.js -p hello", "letta", True),
    ("MainThread", "node /srv/npm/node_modules/.bin/auggie", "auggie", False),
    ("node", "node /srv/node_modules/@augmentcode/auggie/augment.mjs --print hello", "auggie", True),
    ("amp.exe", "/srv/npm/node_modules/@ampcode/cli/bin/amp.exe", "amp", False),
    ("amp", "amp -x hello", "amp", True),
    ("node", "node /srv/npm/node_modules/.bin/jules remote list", "jules", True),
    ("node", "node /srv/node_modules/codebuff/index.js", "codebuff", False),
    ("MainThread", "node /srv/npm/node_modules/.bin/qodercli", "qoder", False),
    ("tail", "tail -f /srv/work/droid/cline.log", None, False),
    ("vim", "vim /srv/work/grok-cli/amp.md", None, False),
    ("grep", "grep -r letta-code .", None, False),
    ("tail", "tail -f /srv/work/openhands/log", None, False),
    ("grep", "grep -r kimi-code .", None, False),
    ("python3", "python3 -m pytest tests/gptme", None, False),
    ("node", "node server.js", None, False),
    ("vim", "vim hermes.md", None, False),
    ("sleep", "sleep 20", None, False),
]


@pytest.mark.parametrize(("comm", "command", "agent", "headless"), PROCESSES, ids=[p[1] for p in PROCESSES])
def test_names_of_processes(comm: str, command: str, agent: str | None, headless: bool) -> None:
    argv = (command,) if comm == command else tuple(command.split())
    hit = recognise(Proc(2, 1, 2, comm, argv), list(CATALOG))
    assert (hit.agent if hit else None) == agent
    assert hit is None or hit.headless == headless
