"""What the dialogs of the agents ask: a tool and its first argument, or the question, at every recorded width."""

from __future__ import annotations

import pytest

from agents_plugin.core.screen import read
from agents_plugin.saved import load_screen
from tests.fixtures_index import ROOT, manifest

QUESTION = "Which colour do you want for the lab?"
LONG = "Which colour should the header of the landing page use, given the style guide?"
HTTPS = "https" + "://"
FIND = (
    "approve Bash: find . -type f -name '*.py' -not -path './.git/*' -print0 | xargs -0 grep -n 'def add'"
    " | sort -t: -k1,1 -k2,2n | head -n 20 > /tmp/very/long/path/to/some/output/directory/results.txt"
    " && wc -l /tmp/very/long/path/to/some/output/directory/results.txt"
)
ASKED = {
    "claude/blocked__ask_user_question__w60": "Which database should we use?",
    "claude/blocked__write_permission__w60": "approve Write: new_file.txt",
    "claude/blocked__bash_permission__w60": "approve Bash: touch hello.txt",
    "claude/blocked__bash_permission__w200": "approve Bash: touch hello.txt",
    "claude/blocked__subagent_bash_permission__w60": "approve Bash: touch hello.txt",
    "claude/blocked__mcp_tool_permission__w60": "approve demo — Ping",
    "claude/blocked__plan_approval__w60": "approve the plan",
    "claude/blocked__plan_file_approval_down__w60": "approve the plan",
    "claude/blocked__firstrun_trust_folder__w60": "trust /srv/dev/work/claude",
    "claude/blocked__mcp_server_found__w60": "use MCP server demo",
    "claude/blocked__mcp_elicitation__w60": "Which environment?",
    "claude/blocked__v2.0.0_framed_command__w44": FIND,
    "claude/blocked__v2.0.0_framed_short__w60": "approve Bash: touch hello.txt",
    "claude/blocked__v2.0.0_framed_plan__w60": "approve the plan",
    "claude/blocked__v2.0.0_oauth_error__w80": ("OAuth error: Invalid code. Please make sure the full code was copied"),
    "claude/blocked__v2.1.120_settings_error__w132": "Settings Error",
    "claude/blocked__v2.1.332_external_imports__w44": "Allow external CLAUDE.md file imports?",
    "claude/blocked__v2.1.332_long_file_name__w44": (
        "approve Write: a_very_long_file_name_that_goes_on_and_on_for_more_than_one_row_of_the_dialog.test.config.json"
    ),
    "claude/blocked__v2.1.197_bypass_warning__w100": "accept Bypass Permissions mode",
    "claude/blocked__v2.1.332_trust__w44": "trust /srv/dev/work/claude60",
    "claude/blocked__v2.0.60_trust_short__w60": "trust this folder",
    "claude/blocked__v2.1.50_question_short__w60": "Which colour should the header of the page use?",
    "claude/blocked__v2.1.120_permission_down__w44": "approve Bash: touch hello.txt",
    "claude/blocked__v2.1.250_barred_command__w72": FIND,
    "claude/blocked__v2.1.220_subagent__w44": "approve Bash: touch hello.txt",
    "claude/blocked__v2.1.150_fetch__w72": f"approve WebFetch: {HTTPS}example.com/docs/page.html?x=1",
    "claude/blocked__v2.1.250_fetch__w44": f"approve WebFetch: {HTTPS}example.com/docs/page.html?x=1",
    "claude/blocked__v2.1.250_review_short__w60": "Review your answers",
    "claude/blocked__v2.1.197_two_bash_first__w60": "approve Bash: touch one.txt",
    "claude/blocked__v2.1.197_bash_permission_longbash__w60": (
        "approve Bash: for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo step $i; sleep 1; done"
    ),
    "cline/blocked__shell__w60": "approve run_commands: touch hello.txt",
    "cline/blocked__v2.18.0_command__w72": "approve Bash: touch hello.txt",
    "cline/blocked__v2.18.0_question__w44": "Which colour should the header use?",
    "codex/blocked__exec_approval_2__w60": "approve Bash: touch hello.txt",
    "codex/blocked__patch_approval__w60": "approve Edit: /srv/dev/work/codex60/calc.py",
    "codex/blocked__request_user_input_down__w100": "Which database should we use?",
    "codex/blocked__v0.77.0_mcp_ask__w44": "Which environment?",
    "codex/blocked__v0.77.0_patch__w44": "approve Edit: calc.py",
    "codex/blocked__v0.171.0_question_notes__w44": LONG,
    "continue/blocked__edit__w60": "approve Write: note.md",
    "continue/blocked__question__w60": QUESTION,
    "continue/blocked__v1.5.47_question_narrow__w36": "Which colour should the header use?",
    "copilot/blocked__plan-approval__w60": "approve the plan",
    "copilot/blocked__question__w60": QUESTION,
    "copilot/blocked__v0.0.382_command__w72": "approve Bash: touch hello.txt",
    "copilot/blocked__v0.0.382_directory__w72": "approve access: /srv/project",
    "copilot/blocked__v0.0.420_question_low__w44": "Which colour should the header use?",
    "copilot/blocked__v1.0.34_question__w52": "Which colour should the header use?",
    "copilot/blocked__v1.0.71_question_typed__w72": "What is the name of the project?",
    "copilot/blocked__v1.0.34_trust__w72": "trust /home/neutralneut/work",
    "droid/blocked__shell-rm__w60": "approve Execute: rm -rf build_lab",
    "droid/blocked__v0.117.0_login_failed__w44": "Authentication failed: Failed to request device authorization",
    "droid/blocked__v0.215.0_trust_short__w72": "Trust this folder?",
    "grok/blocked__edit__w60": "approve Write: /srv/dev/work/grok-cli/note.md",
    "letta/blocked__shell__w60": "approve Bash: touch hello.txt",
    "pi/blocked__v0.52.7_gate_over_spinner__w72": "Dangerous command: touch hello.txt Allow?",
}


@pytest.mark.parametrize("name", ASKED)
def test_dialogs_name_the_tool_and_its_first_argument(name: str) -> None:
    agent = name.split("/")[0]
    blocked = read(manifest(agent), load_screen(ROOT / f"{name}.txt")[0]).blocked
    assert blocked is not None and blocked.text == ASKED[name]


@pytest.mark.parametrize("agent", ["auggie", "cline", "continue", "copilot", "droid", "grok", "letta", "omp"])
def test_every_recorded_permission_says_what_for(agent: str) -> None:
    found = [read(manifest(agent), load_screen(file)[0]).blocked for file in (ROOT / agent).glob("blocked__*.txt")]
    asked = [match.text for match in found if match is not None and match.detail == "permission"]
    assert asked and all(asked)
