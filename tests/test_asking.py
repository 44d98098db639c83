"""What a dialog asks: taken from its own rows, at every width, and put as the manifest says."""

from __future__ import annotations

import pytest

from agents_plugin.core.asking import MAX_TEXT, build_asked, read_asked, unwrap
from agents_plugin.core.hooks import interpret
from agents_plugin.core.regions import Block
from agents_plugin.core.schema import ManifestError
from tests.fixtures_index import manifest

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
