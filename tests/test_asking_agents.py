"""What the dialogs of the agents ask: a tool and its first argument, or the question, at every recorded width."""

from __future__ import annotations

import pytest

from agents_plugin.core.screen import read
from agents_plugin.saved import load_screen
from tests.fixtures_index import ROOT, manifest

QUESTION = "Which colour do you want for the lab?"
LONG = "Which colour should the header of the landing page use, given the style guide?"
ASKED = {
    "cline/blocked__shell__w60": "approve run_commands: touch hello.txt",
    "cline/blocked__v2.18.0_command__w72": "approve Bash: touch hello.txt",
    "cline/blocked__v2.18.0_question__w44": "Which colour should the header use?",
    "codex/blocked__exec_approval_2__w60": "approve Bash: touch hello.txt",
    "codex/blocked__patch_approval__w60": "approve Edit: /srv/dev/work/codex60/calc.py",
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
