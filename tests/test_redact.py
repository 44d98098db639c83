"""What is personal goes, and nothing moves: every row keeps its width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core.redact import Person, filler, redact
from agents_plugin.core.text import width

ALICE = Person(home="/home/alice", user="alice", host="wonder.example.net", words=("Looking Glass",))


@pytest.mark.parametrize(
    ("text", "gone", "kind"),
    [
        ("  ~/x is /home/alice/x", "alice", "home directory"),
        ("~/.claude/projects/-home-alice-dev-x", "alice", "home directory"),
        ("drwx alice staff", "alice", "user name"),
        ("Hello Alice!", "Alice", "user name"),
        ("alice@wonder:~$", "wonder", "host name"),
        ("at wonder.example.net now", "wonder.example.net", "host name"),
        ("in looking glass inc", "looking glass", "word"),
        ("mail bob.jones+x@corp.example.com.", "bob.jones", "e-mail address"),
        ("key sk-ant-api03-AbCdEfGhIjKlMnOp end", "AbCdEf", "key"),
        ("GITHUB_TOKEN=ghp_0123456789abcdefABCDEF", "0123456789abcdef", "key"),
        ("Authorization: Bearer abcdefghijklmnop1234", "abcdefghijklmnop", "key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "hbGciOiJIUzI1NiJ9", "key"),
        ("sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "9f86d081", "key"),
        ("secret aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f", "aB3dE5", "key"),
        ("claude --resume 0b1c2d3e-4f50-4a6b-8c7d-9e0f1a2b3c4d", "0b1c2d3e", "identifier"),
    ],
)
def test_gone_and_counted_and_as_wide_as_before(text: str, gone: str, kind: str) -> None:
    done = redact(text, ALICE)
    assert gone not in done.text
    assert done.counts.get(kind) == 1
    assert width(done.text) == width(text)


@pytest.mark.parametrize(
    "text",
    [
        "❯ 1. Yes, and don't ask again for: touch *",
        "malice and alices are other words, alice_x too",
        "a commit 3f2a91c and a version 2.1.332",
        "   ctrl+g to edit in $EDITOR · esc to interrupt",
        "─" * 60,
        "node_modules/.bin/some-very-long-but-harmless-command-name --with-flags",
        "See docs/a_long_file_name_that_has_no_capitals_or_so.md",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redact(text, ALICE).text == text
    assert redact(text, ALICE).counts == {}


def test_a_common_account_name_is_a_word() -> None:
    text = "project root, user input, node server.js"
    for name in ("root", "user", "node"):
        assert redact(text, Person(home=f"/{name}", user=name, host=name)).text == text


def test_the_rules_of_a_resume_line_still_hold() -> None:
    done = redact("--resume 0b1c2d3e-4f50-4a6b-8c7d-9e0f1a2b3c4d", ALICE)
    assert done.text == "--resume 00000000-0000-0000-0000-000000000000"


def test_a_key_broken_over_rows_goes_whole() -> None:
    rows = ["│ export KEY=sk-proj-AAAAbbbbCCCC1111DD │", "│ DDeeeeFFFF2222 and more                 │"]
    done = redact("\n".join(rows), ALICE)
    assert "DDee" not in done.text and "and more" in done.text
    assert [width(row) for row in done.text.split("\n")] == [width(row) for row in rows]


def test_wide_names_keep_their_cells() -> None:
    done = redact("hello 山田太郎 !", Person(user="山田太郎"))
    assert done.text == f"hello {filler(8)} !"


@given(st.text(alphabet="alice/home.@-_ sk│\n0aB9", max_size=200))
def test_every_row_keeps_its_width_and_nothing_is_replaced_twice(text: str) -> None:
    once = redact(text, ALICE)
    assert [width(row) for row in once.text.split("\n")] == [width(row) for row in text.split("\n")]
    assert redact(once.text, ALICE).text == once.text
