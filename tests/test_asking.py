"""What a dialog asks: taken from its own rows, at every width, and put as the manifest says."""

from __future__ import annotations

import pytest

from agents_plugin.core.asking import MAX_TEXT, build_asked, read_asked, unwrap
from agents_plugin.core.hooks import interpret
from agents_plugin.core.regions import Block
from agents_plugin.core.schema import ManifestError
from agents_plugin.core.screen import read
from tests.fixtures_index import SCREENS, manifest

UNWRAPPED = {
    "two": (["touch hello.txt", "Create an empty file"], ["touch hello.txt", "Create an empty file"]),
    "wrapped": (["find . -name '*.py' -not -path", "'./.git/*'"], ["find . -name '*.py' -not -path './.git/*'"]),
    "word-cut": (
        ["   > /tmp/very/long/path/to/where", "   ver/results.txt", "   Find"],
        ["> /tmp/very/long/path/to/wherever/results.txt", "Find"],
    ),
    "empty-row": (["cd sub", "", "make", "   "], ["cd sub", "make"]),
    "frame": (["│   touch hello.txt           │", "│   Create it                 │"], ["touch hello.txt", "Create it"]),
    "nothing": ([""], []),
}


@pytest.mark.parametrize("name", UNWRAPPED)
def test_unwrap_joins_wrapped_rows_only(name: str) -> None:
    rows, parts = UNWRAPPED[name]
    assert unwrap(rows, 33) == parts


def test_a_row_counts_from_where_it_begins() -> None:
    address = ["scheme:very/long/address", "/in/two/rows"]
    assert unwrap(address, 33, begin=9) == ["".join(address)]
    assert unwrap(["", *address], 45) == address


def asked(value: object, *rows: str) -> str:
    return read_asked(build_asked(value, ("text",), ignore_case=False), Block(rows), 40)


def test_the_first_way_that_finds_something_speaks() -> None:
    ways = [
        {"rows": r"^Nothing (?P<text>.*)"},
        {"rows": r"^Run\n(?P<text>(?:  .*\n)+)", "as": "approve {text}", "but_last": True},
        "(?P<text>Run)",
    ]
    assert asked(ways, "Run", "  make -j4", "  Build it", "?") == "approve make -j4"
    assert asked(ways, "Run", "  make -j4", "?") == "approve make -j4"
    assert asked(ways, "Run") == "Run"
    assert asked(ways, "Walk") == ""
    assert asked([{"flow": "Run", "as": "approve it"}], "Run") == "approve it"


def test_what_is_kept_is_bounded() -> None:
    assert len(asked(r"(?P<text>a.*)", *["a" * 39] * 100)) == MAX_TEXT


@pytest.mark.parametrize(
    ("value", "key", "says"),
    [
        pytest.param("Allow", "text", "group named text", id="no-group"),
        pytest.param([], "text", "empty", id="empty"),
        pytest.param([{"flow": "(?P<text>a)", "rows": "(?P<text>a)"}], "text[0]", "exactly one", id="both"),
        pytest.param([{"as": "x"}], "text[0]", "exactly one", id="neither"),
        pytest.param([{"rows": "a", "as": "run {tool}"}], "text[0].rows", "group named tool", id="other-group"),
        pytest.param([{"rows": "(", "as": "x"}], "text[0].rows", "not a regular", id="regex"),
        pytest.param([{"rows": "(?P<text>a)", "rest": 1}], "text[0].rest", "not a known key", id="key"),
    ],
)
def test_a_slip_is_named(value: object, key: str, says: str) -> None:
    with pytest.raises(ManifestError) as error:
        build_asked(value, ("text",), ignore_case=False)
    assert key in str(error.value) and says in str(error.value)


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
}


@pytest.mark.parametrize("name", ASKED)
def test_claude_names_the_tool_and_its_first_argument(name: str) -> None:
    item = next(item for item in SCREENS if item.id == name)
    blocked = read(manifest("claude"), item.screen).blocked
    assert blocked is not None and blocked.text == ASKED[name]


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        ("Bash", {"command": "touch hello.txt", "description": "Create it"}, "approve Bash: touch hello.txt"),
        ("Edit", {"file_path": "/srv/dev/calc.py", "old_string": "a"}, "approve Edit: calc.py"),
        ("mcp__demo__ping", {}, "approve mcp__demo__ping"),
        ("ExitPlanMode", {"plan": "1. Do it"}, "approve the plan"),
        ("AskUserQuestion", {"questions": [{"question": "Which colour?"}]}, "Which colour?"),
    ],
)
def test_claudes_hooks_put_it_as_its_screens_do(tool: str, given: dict[str, object], text: str) -> None:
    hooks = manifest("claude").hooks
    assert hooks is not None
    payload = {"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": given}
    signal = interpret(hooks, "PermissionRequest", payload, 1, "k")
    assert signal is not None and signal.text == text
