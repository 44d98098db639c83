"""The hooks section of a manifest: what is refused, with the path of the key; texts, paths and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from agents_plugin.core.hookrules import build_hooks
from agents_plugin.core.hooks import interpret, session_in
from agents_plugin.core.schema import ManifestError
from agents_plugin.core.states import State
from tests.stories import hooks_of

RULE = {"on": "Stop", "state": "idle", "turn": "end"}


def build(**more: Any) -> Any:
    return build_hooks({"events": [RULE], **more})


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ([], "hooks"),
        ({}, "hooks.events"),
        ({"events": []}, "hooks.events"),
        ({"events": [RULE], "odd": 1}, "hooks.odd"),
        ({"events": [{"state": "idle"}]}, "hooks.events[0]"),
        ({"events": [{"on": "x", "odd": 1}]}, "hooks.events[0].odd"),
        ({"events": [{"on": ["x", 3]}]}, "hooks.events[0].on"),
        ({"events": [{"on": "x", "state": "busy"}]}, "hooks.events[0].state"),
        ({"events": [{"on": "x", "state": "idle", "detail": "A B"}]}, "hooks.events[0].detail"),
        ({"events": [{"on": "x", "detail": "error"}]}, "hooks.events[0].detail"),
        ({"events": [{"on": "x", "turn": "middle"}]}, "hooks.events[0].turn"),
        ({"events": [{"on": "x", "state": "working", "turn": "end"}]}, "hooks.events[0].turn"),
        ({"events": [{"on": "x", "session": "pause"}]}, "hooks.events[0].session"),
        ({"events": [{"on": "x", "state": "working", "asks": "id"}]}, "hooks.events[0].asks"),
        ({"events": [{"on": "x", "ignore": True, "state": "idle"}]}, "hooks.events[0].ignore"),
        ({"events": [{"on": "x", "text": "tool_name"}]}, "hooks.events[0].text"),
        ({"events": [{"on": "x", "when": []}]}, "hooks.events[0].when"),
        ({"events": [{"on": "x", "when": {"a": {"equals": 1, "in": [2]}}}]}, "hooks.events[0].when.a"),
        ({"events": [{"on": "x", "when": {"a": {"like": 1}}}]}, "hooks.events[0].when.a.like"),
        ({"events": [{"on": "x", "when": {"a": {"regex": "("}}}]}, "hooks.events[0].when.a.regex"),
        ({"events": [{"on": "x", "when": {"a": {"present": 1}}}]}, "hooks.events[0].when.a.present"),
        ({"events": [{"on": "x", "when": {"a": {"in": "b"}}}]}, "hooks.events[0].when.a.in"),
        ({"events": [{"on": "x", "when": {"a": None}}]}, "hooks.events[0].when.a"),
        ({"events": [RULE], "covers": ["busy"]}, "hooks.covers"),
        ({"events": [RULE], "session": 3}, "hooks.session"),
        ({"events": [RULE], "session_command": "x"}, "hooks.session_command"),
        ({"events": [RULE], "tasks": {"id": "x"}}, "hooks.tasks"),
    ],
)
def test_what_is_refused_is_named(section: object, key: str) -> None:
    with pytest.raises(ManifestError) as refused:
        build_hooks(section)
    assert refused.value.key == key


@pytest.mark.parametrize(
    ("condition", "payload", "holds"),
    [
        ({"a.b": "x"}, {"a": {"b": "x"}}, True),
        ({"a.b": "x"}, {"a": ["x"]}, False),
        ({"a.0": "x"}, {"a": ["x"]}, True),
        ({"a.7": "x"}, {"a": ["x"]}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": True}, {"a": True}, True),
        ({"a": {"in": ["x", "y"]}}, {"a": "y"}, True),
        ({"a": {"in": [1]}}, {"a": True}, False),
        ({"a": {"regex": "^x"}}, {"a": "xy"}, True),
        ({"a": {"regex": "^x"}}, {"a": ["xy"]}, False),
        ({"a": {"present": True}}, {"a": []}, False),
        ({"a": {"present": True}}, {"a": 0}, True),
        ({"a": {"present": False}}, {"a": ""}, True),
        ({"a": {"present": False}}, {}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ],
)
def test_conditions(condition: dict[str, Any], payload: object, holds: bool) -> None:
    hooks = build_hooks({"events": [{"on": "x", "when": condition, "state": "working"}]})
    assert (interpret(hooks, "x", payload, 1, "k") is not None) is holds


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"tool": "Bash", "in": {"command": "make all"}}, "Bash make all"),
        ({"tool": "Edit", "in": {"path": "/home/me/src/calc.py"}}, "Edit calc.py"),
        ({"tool": "Edit", "in": {"path": "/"}}, "Edit /"),
        ({"tool": "Bash", "in": {"command": "/bin/sh -c true"}}, "Bash /bin/sh -c true"),
        ({"tool": "Odd", "in": {"first": "one", "second": "two"}}, "Odd one"),
        ({"tool": "Odd", "in": {"first": 7}}, "Odd"),
        ({"tool": "Bash", "in": {"command": "a\n\x1b[31mb\t#[fg=red]"}}, "Bash a b #[fg=red]"),
        ({"tool": "{in.command}", "in": {"command": "x"}}, "{in.command} x"),
        ({"in": {"command": "x"}}, ""),
    ],
)
def test_texts(payload: object, text: str) -> None:
    """Cleaned of controls here; styles are made harmless where texts are published."""
    rule = {"on": "x", "text": ["{tool} {in.command|in.path|in.*}", "{tool}"]}
    signal = interpret(build_hooks({"events": [rule]}), "x", payload, 1, "k")
    assert signal and signal.text == text


def test_a_huge_text_is_cut() -> None:
    hooks = build_hooks({"events": [{"on": "x", "text": "{a}"}]})
    signal = interpret(hooks, "x", {"a": "y" * 1_000_000}, 1, "k")
    assert signal and len(signal.text) <= 400


def test_the_first_rule_that_fits_counts_and_an_ignored_event_means_nothing() -> None:
    hooks = build_hooks(
        {"events": [{"on": "x", "when": {"a": 1}, "ignore": True}, {"on": "x", "state": "idle"}, {"on": "x"}]}
    )
    assert interpret(hooks, "x", {"a": 1}, 1, "k") is None
    signal = interpret(hooks, "x", {"a": 2}, 1, "k")
    assert signal and signal.state is State.IDLE
    assert interpret(hooks, "y", {}, 1, "k") is None


def test_an_event_without_a_name_is_named_by_its_payload() -> None:
    assert interpret(build(event="hook_event_name"), "", {"hook_event_name": "Stop"}, 1, "k")


@pytest.mark.parametrize(
    ("agent", "command", "session"),
    [
        ("claude", "claude --resume 7288f663-ff20-4112-a802-80ad3c339368", "7288f663-ff20-4112-a802-80ad3c339368"),
        ("claude", "claude --resume", ""),
        ("codex", "codex resume 01a22e0e-9259-7cc3-9a54-275e9f5cc5b0", "01a22e0e-9259-7cc3-9a54-275e9f5cc5b0"),
        ("codex", "codex resume --last", ""),
        ("copilot", "copilot --resume=922e041b-c12a-4f2c-824e-6a42c9d4c917", "922e041b-c12a-4f2c-824e-6a42c9d4c917"),
        ("opencode", "opencode -s ses_dd1f3c37cffe1V5I6dSkJ0z1md", "ses_dd1f3c37cffe1V5I6dSkJ0z1md"),
    ],
)
def test_a_session_named_on_the_command_line(agent: str, command: str, session: str) -> None:
    assert session_in(hooks_of(agent), command) == session
