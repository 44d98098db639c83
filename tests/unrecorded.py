"""Screens nobody recorded, for the rules that read them. What they say is in the agents' sources or documentation."""

from __future__ import annotations

#: (agent, rule): (rows, title, alternate screen).
UNRECORDED: dict[tuple[str, str], tuple[str, str, bool]] = {
    ("omp", "setup"): (
        """\
  Setup step 1 of 5

  Pick a theme
  ❯ dark""",
        "",
        True,
    ),
    ("omp", "asks"): (
        """\
╭─ Plan ready ─────╮
│  ❯ Approve and go │
│    Refine         │
╰───────────────────╯""",
        "π ! work",
        False,
    ),
    ("kimi", "preview"): (
        """\
 Preview /srv/dev/project/outside2.txt
┌──────────────────────────────────────────┐
│    1  line of text                       │
│    2  line of text                       │
└──────────────────────────────────────────┘
 ↑↓ line  PgUp/PgDn page  g/G top/bot  Q/Es…""",
        "",
        False,
    ),
    ("vibe", "asks"): (
        """\
┌─────────────┐
│ Something   │
└─────────────┘
/srv/work""",
        "? topic",
        True,
    ),
    ("vibe", "title"): (
        """\
┌─────────────┐
│ Some menu   │
└─────────────┘
/srv/work""",
        ">> topic",
        True,
    ),
    ("gptme", "thinking"): (
        """\
User: please hello
Assistant: Thinking...""",
        "",
        False,
    ),
    ("hermes", "secret"): (
        """\
──────────────────────────────────────────────────────────────────────────────
🔐 ❯
──────────────────────────────────────────────────────────────────────────────""",
        "",
        False,
    ),
    ("hermes", "starting"): (
        """\
● please hello
Initializing agent...""",
        "",
        False,
    ),
    ("cline", "question"): (
        """\
 Cline is asking a question

 Which?

  > Red
    Type a response...""",
        "",
        True,
    ),
    ("cline", "line-permission"): (
        """\
Approve tool "run_commands" with input {"c": 1}? [y/N]""",
        "",
        False,
    ),
    ("continue", "interrupted"): (
        """\
 Interrupted by user - Press enter to continue
╭────────────╮
│ ● ▋Ask     │
╰────────────╯""",
        "",
        False,
    ),
    ("droid", "trust"): (
        """\
╭───────────────╮
│ Trust this folder? │
│ > 1. Trust this folder │
│   2. Exit without trusting │
│ Enter to confirm · Esc to exit │
╰───────────────╯""",
        "",
        False,
    ),
    ("droid", "plan"): (
        """\
 │ 1. Proceed with the proposal
 │ 2. Keep on
   ↑↓ navigate   1-5 select   Enter select   Tab reasoni…""",
        "",
        False,
    ),
    ("grok", "feedback"): (
        """\
  Type your feedback and press Enter, or press Escape to go back.

  ╭────────╮
  │ ❯ no█  │
  ╰────────╯""",
        "",
        False,
    ),
    ("letta", "plan"): (
        """\
──────────────────────────────────────────────────────────────────────────────
Would you like to proceed?

❯ 1. Yes, and auto-accept edits

Enter to select · Esc to cancel""",
        "",
        False,
    ),
    ("letta", "question"): (
        """\
──────────────────────────────────────────────────────────────────────────────
Colour

Which?

❯ 1. Red

Enter to select · Arrow to navigate · Esc to cancel""",
        "",
        False,
    ),
    ("auggie", "indexing"): (
        """\
Workspace Indexing Permission
[1] Always
[2] Once
[↑↓] Navigate • [Enter] Confirm""",
        "",
        False,
    ),
    ("amp", "onboarding"): (
        """\
  Welcome to Amp

  Space to continue""",
        "",
        True,
    ),
    ("amp", "permission"): (
        """\
  Run this command?
 ▸ Approve
 Allow All for This Session
 Deny with feedback""",
        "",
        True,
    ),
    ("amp", "edge-label"): (
        """\
╭──── medium ─╮
│             │
╰ ≈ Running tools ─ ~/work ─╯""",
        "",
        True,
    ),
    ("qoder", "title-works"): (
        """\
""",
        "✦ Qoder CLI | Working",
        False,
    ),
    ("qoder", "title-ready"): (
        """\

 > """,
        "◇ Qoder CLI | Ready",
        False,
    ),
    ("codebuff", "question"): (
        """\
╭── Action Required ──╮
│ Which?              │
╰─────────────────────╯""",
        "",
        True,
    ),
    ("codebuff", "login"): (
        """\
Press ENTER to open your browser and finish logging in...""",
        "",
        True,
    ),
    ("codebuff", "stop-button"): (
        """\
 thinking...   4s ■ Esc
╭────────────╮
│ ● ▋Ask     │
╰────────────╯""",
        "",
        True,
    ),
    ("codebuff", "composer"): (
        """\
╭────────────╮
│ ● ▋Ask     │
╰────────────╯""",
        "",
        True,
    ),
}
