"""Agents nobody here could run: the few screens known of them, quotes of their dialogs, their names."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agents_plugin.core.evidence import Screen
from agents_plugin.core.identity import recognise
from agents_plugin.core.screen import read
from agents_plugin.core.states import Tier
from agents_plugin.core.trees import Proc
from tests.fixtures_index import CATALOG, manifest
from tests.rewrap import rewrap

RULE = "─" * 70
HALF, UPPER = "▄" * 60, "▀" * 60


@dataclass(frozen=True)
class Sketch:
    """A screen as described by others; `foot` rows at its end belong to the agent, not to the transcript."""

    agent: str
    name: str
    state: str | None
    detail: str | None
    text: str
    rows: tuple[str, ...]
    foot: int = 0
    cursor: bool | None = None

    @property
    def id(self) -> str:
        return f"{self.agent}-{self.name}"

    @property
    def screen(self) -> Screen:
        return Screen(self.rows, cols=80, cursor_shown=self.cursor)


def s(agent: str, name: str, state: str | None, detail: str | None, text: str, *rows: str, foot: int = 0) -> Sketch:
    return Sketch(agent, name, state, detail, text, rows, foot, {"crush": state != "blocked"}.get(agent))


SKETCHES = [
    s(
        *("cursor", "command", "blocked", "permission", "git status"),
        *("  $ git status Waiting for approval...", "", RULE, " $  git status in .", "", " Run this command?"),
        *(" Not in allowlist: git", "  → Run (once) (y)", "    Add Shell(git) to allowlist? (tab)"),
        *("    Run Everything (shift+tab)", "    Skip & tell the agent what to do instead (esc or n)"),
    ),
    s(
        *("cursor", "second-choice", "blocked", "permission", "rm a"),
        *(RULE, " $  rm a in .", "", " Run this command?", " Shell allowlist is empty", "    Run (once) (y)"),
        *("  → Run Everything (shift+tab)", "    Skip (esc or n)", "", "        ctrl+r to review changed files"),
    ),
    s(
        *("cursor", "plan", "blocked", "plan", "Ready to build?"),
        *(RULE, " Ready to build?", "  → 1. Yes, build locally (b)", "    2. No, propose changes (p or Esc)"),
    ),
    s(
        *("cursor", "trust", "blocked", "trust", "Do you trust the contents of this directory?"),
        *("  │  ⚠ Workspace Trust Required", "  │  Do you trust the contents of this directory?"),
        *("  │  ▶ [a] Trust this workspace", "  │    [q] Quit"),
    ),
    s(
        *("cursor", "reason", "blocked", "permission", ""),
        *(RULE, " → Tell the agent what to do instead (Enter to send, empty to skip, Esc to cancel)"),
    ),
    s("cursor", "login", "blocked", "login", "", "  Cursor Agent", "", "  Press any key to log in..."),
    s(
        *("cursor", "idle", "idle", None, "", "  It is done.", "", HALF, "  → Add a follow-up", UPPER),
        *("  Auto · 6.3%", "  /srv/work"),
        foot=5,
    ),
    s(
        *("cursor", "draft", "idle", None, "", "  It is done.", "", HALF, "  → now the tests", UPPER, "  Auto · 6.3%"),
        foot=4,
    ),
    s(
        *("cursor", "working", "working", None, "", "  ⠘⠆ Running  67 tokens", "", HALF, "  → Add a follow-up"),
        *(UPPER, "  Auto · 6.3%                               ctrl+c to stop"),
        foot=6,
    ),
    s(
        *("goose", "tool", "blocked", "permission", "Goose would like to call the above tool, do you allow?"),
        *("─── shell | developer ──────────", "command: rm -rf build", ""),
        *("◆  Goose would like to call the above tool, do you allow?", "│  ● Allow (Allow the tool call once)"),
        *("│  ○ Always Allow", "│  ○ Deny", "│  ○ Cancel", "└"),
    ),
    s(
        *("goose", "security", "blocked", "permission", "Do you allow this tool call?"),
        *("◆  Do you allow this tool call?", "│  ○ Allow", "│  ● Deny", "│  ○ Cancel", "└"),
    ),
    s(
        *("goose", "answered", "working", None, "", "◇  Goose would like to call the above tool, do you allow?"),
        *("│  Allow", "◒  Pondering the options...  (Ctrl+C to interrupt)"),
        foot=1,
    ),
    s(
        *("goose", "choice", "blocked", "question", "What would you like to do?"),
        *("◆  What would you like to do?", "│  ● Summarize", "│  ○ Clear", "└"),
    ),
    s("goose", "prompt", None, None, "", "It is done.", "", "( O)> Press Enter to send", foot=1),
    s(
        *("crush", "tool", "blocked", "permission", "bash"),
        *("  > go", "      ╭──────────────────────────────────────────────────╮"),
        *(
            "      │ Permission Required ╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱ │",
            "      │ Tool bash                                        │",
        ),
        *(
            "      │ Path ~/work                                      │",
            "      │ touch hello.txt                                  │",
        ),
        *(
            "      │      Allow    Allow for Session    Deny          │",
            "      │ ←/→ choose • enter confirm                       │",
        ),
        "      ╰──────────────────────────────────────────────────╯",
        *("", "  > Working...", "", " tab focus chat • esc cancel • ctrl+p commands"),
    ),
    s(
        "crush",
        "busy",
        "working",
        None,
        "",
        "  Hello.",
        "",
        "  > Brrrrr...",
        " tab focus chat • esc cancel • ctrl+p commands",
        foot=2,
    ),
    s(
        "crush",
        "ready",
        None,
        None,
        "",
        "  Hello.",
        "",
        "  > Ready!",
        " tab focus chat • ctrl+p commands • ctrl+c quit",
        foot=2,
    ),
    s(
        *("devin", "command", "blocked", "permission", "sleep 30", "⏺ Running command", "  └ $ sleep 30", ""),
        *("❭ 1 Yes  (Approve once)", "· 2 Yes, allow `sleep` commands", "· 3 No", "↑↓ select · ↵ confirm · esc cancel"),
    ),
    s(
        *("devin", "trust", "blocked", "trust", "Do you trust the authors of this directory?"),
        *(
            "Do you trust the authors of this directory?",
            "For security, devin should not be run with untrusted content.",
        ),
        *("❭ 1 Yes, trust /srv/work", "· 2 No, exit"),
    ),
    s(
        *(
            "devin",
            "working",
            "working",
            None,
            "",
            "◔ Reading shell 91b655",
            "⠀⡆ Running tools · 27s (esc to interrupt)",
        ),
        *(RULE, "❭ Guide Devin while it works", RULE, "SWE-2 High"),
        foot=5,
    ),
    s(
        *("devin", "idle", "idle", None, "", "It is done.", RULE),
        *("❭ Ask Devin to build features, fix bugs, or work on your code", RULE, "SWE-2 High"),
        foot=4,
    ),
    s(
        *("kiro", "command", "blocked", "permission", "Shell pwd", RULE, "↓ Shell pwd", "", " shell requires approval"),
        *(" ❯ Yes, single permission", "   Trust, always allow in this session", "   No (Tab to edit)", RULE),
        "ESC to close · Tab to edit",
    ),
    s(
        *("kiro", "subagents", "blocked", "permission", "", RULE, " 2 tool approvals pending from subagents"),
        *("   Approve all pending", " ❯ Configure individually", "   Exit (cancel subagents)", RULE, "ESC to close"),
    ),
    s(
        "kiro",
        "working",
        "working",
        None,
        "",
        "Hello.",
        RULE,
        " Kiro is working · Type to queue · Ctrl+S to steer",
        foot=2,
    ),
    s(
        *("kiro", "idle", "idle", None, "", "Hello.", RULE, "kiro_default · auto", ""),
        " ask a question or describe a task ↵",
        foot=4,
    ),
    s(
        *("antigravity", "command", "blocked", "permission", "ls -la", "Command", RULE, "Requesting permission for:"),
        *("   ls -la", "Run this command?", "> 1. Yes, run command", "  4. No, cancel"),
        *("  ↑/↓ Navigate · tab Amend · ctrl+g edit/expand command", "esc to cancel                 Gemini 3.8 Flash"),
    ),
    s(
        *("antigravity", "older", "blocked", "permission", "sleep 8", "Requesting permission for:", "   sleep 8"),
        *("Full command:", "   sleep 8 && echo x", "Do you want to proceed?", "  1. Yes", "> 4. No"),
        *("  ↑/↓ Navigate · tab Amend · ctrl+g edit/expand command", "esc to cancel"),
    ),
    s(
        *("antigravity", "question", "blocked", "question", "Which color do you prefer?", "Question", RULE),
        *(
            "Question 1/1: Which color do you prefer?",
            "> 1. Red",
            "  2. Blue",
            "  ↑/↓ Navigate · enter Select · esc Skip",
        ),
        "esc to cancel                 Gemini 3.8 Flash",
    ),
    s(
        *("antigravity", "file", "blocked", "permission", "Allow creation of this file?", RULE, "  notes.txt"),
        *("Allow creation of this file?", "> 1. Yes", "  2. No", "  ↑/↓ Navigate · enter Select", "esc to cancel"),
    ),
    s(
        *("antigravity", "trust", "blocked", "trust", "Do you trust the contents of this project?"),
        *("Do you trust the contents of this project?", "> Yes, I trust this folder", "  No, exit"),
        "  ↑/↓ Navigate · enter Confirm",
    ),
    s(
        *("antigravity", "shortcuts", None, None, "", "Shortcuts", "  ctrl+o  expand tool output"),
        "Keyboard: ↑/↓ Navigate  ←/→ Switch View  esc Close",
    ),
    s(
        *("antigravity", "working", "working", None, "", "⣻  Generating...", RULE, ">", RULE),
        "esc to cancel                 Gemini 3.8 Flash",
        foot=4,
    ),
    s(
        "antigravity",
        "idle",
        "idle",
        None,
        "",
        "Done.",
        RULE,
        ">",
        RULE,
        "? for shortcuts      Gemini 3.8 Flash",
        foot=4,
    ),
]
AGENTS = sorted({sketch.agent for sketch in SKETCHES})


def told(agent: str, screen: Screen) -> str | None:
    best = read(manifest(agent), screen).best
    return str(best.state) if best else None


@pytest.mark.parametrize("sketch", SKETCHES, ids=[sketch.id for sketch in SKETCHES])
def test_reads_as_described(sketch: Sketch) -> None:
    found = read(manifest(sketch.agent), sketch.screen).best
    assert (str(found.state) if found else None) == sketch.state
    assert (found.detail if found else None) == sketch.detail
    assert (found.text if found else "") == sketch.text


@pytest.mark.parametrize("agent", AGENTS)
def test_every_rule_is_seen_and_the_tier_is_honest(agent: str) -> None:
    found = manifest(agent)
    seen = {rule for sketch in SKETCHES if sketch.agent == agent for rule in _rules(sketch)}
    unseen = {rule.id for rule in found.rules} - seen
    assert unseen == set()
    assert found.tier is Tier.CONSERVATIVE and not found.proven


def _rules(sketch: Sketch) -> set[str]:
    reading = read(manifest(sketch.agent), sketch.screen)
    return {match.rule for match in (reading.blocked, reading.working, reading.idle) if match}


@pytest.mark.parametrize("agent", AGENTS)
def test_case_173_dialogs_at_other_widths(agent: str) -> None:
    for sketch in SKETCHES:
        if sketch.agent == agent and sketch.state == "blocked":
            for cols in (60, 100, 200):
                assert told(agent, rewrap(sketch.screen, cols)) == "blocked", (sketch.id, cols)


@pytest.mark.parametrize("agent", AGENTS)
def test_case_040_quoted_dialogs_are_no_dialogs(agent: str) -> None:
    grounds = [sketch for sketch in SKETCHES if sketch.agent == agent and sketch.foot]
    dialogs = [sketch for sketch in SKETCHES if sketch.agent == agent and sketch.state == "blocked"]
    for ground in grounds:
        for dialog in dialogs:
            for quote in ("{}", "  {}", "> {}", "● {}", "docs/notes.md:12: {}"):
                quoted = [quote.format(row) for row in dialog.rows if row]
                rows = (*ground.rows[: -ground.foot], *quoted, "", *ground.rows[-ground.foot :])
                screen = Screen(rows, cols=80, cursor_shown=ground.cursor)
                assert told(agent, screen) == ground.state, (ground.id, dialog.id, quote)


#: Cursor's own node, of one version, and its script.
HOME = "/home/me/.local/share/cursor-agent/versions/2026.07.20-8cc9"
PROCESSES = [
    ("node", f"{HOME}/node --use-system-ca {HOME}/index.js", "cursor", False),
    ("cursor-agent", f"/home/me/.local/bin/cursor-agent --use-system-ca {HOME}/index.js", "cursor", False),
    ("cursor-agent", "cursor-agent -p fix", "cursor", True),
    ("node", f"node {HOME}/index.js worker-server", None, False),
    ("cursor", "cursor .", None, False),
    ("agent", "agent", None, False),
    ("goose", "goose session", "goose", False),
    ("goose", "goose", "goose", False),
    ("goose", "goose run -t hello", "goose", True),
    ("goose", "goose -dir migrations up", None, False),
    ("crush", "crush", "crush", False),
    ("crush", "crush run hello", "crush", True),
    ("devin", "devin", "devin", False),
    ("kiro-cli", "kiro-cli chat", "kiro", False),
    ("kiro-cli-chat", "kiro-cli-chat chat --no-interactive hi", "kiro", True),
    ("kiro", "kiro .", None, False),
    ("agy", "agy", "antigravity", False),
    ("antigravity", "antigravity .", None, False),
    ("tail", "tail -f /srv/work/crush/log", None, False),
]


@pytest.mark.parametrize(("comm", "command", "agent", "headless"), PROCESSES, ids=[p[1][-40:] for p in PROCESSES])
def test_names_of_processes(comm: str, command: str, agent: str | None, headless: bool) -> None:
    hit = recognise(Proc(2, 1, 2, comm, tuple(command.split())), list(CATALOG))
    assert (hit.agent if hit else None) == agent
    assert hit is None or hit.headless == headless
