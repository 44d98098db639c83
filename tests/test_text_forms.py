"""The forms of a text: in an option it is drawn as it was, a program gets the original, a terminal is not moved."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core.evidence import Verdict
from agents_plugin.core.plan import Published
from agents_plugin.core.states import State
from agents_plugin.core.text import width
from agents_plugin.core.text_forms import (
    even,
    for_format,
    for_json,
    for_person,
    for_program,
    from_format,
    lines_for_person,
)
from agents_plugin.tmux.transactions import fit
from tests.support import Server, wait_for

HOSTILE = st.text(st.one_of(st.characters(), st.sampled_from("#[]{}(),\x1b\x07\x9b\u202e\n\t x")), max_size=80)
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(HOSTILE)
def test_a_published_text_has_no_single_hash_and_is_published_once(text: str) -> None:
    value = for_format(text)
    assert "#" not in value.replace("##", "")
    assert width(value.replace("##", "#")) <= 32
    assert for_format(from_format(value)) == value == even(value) == fit(value)


@given(HOSTILE)
def test_json_is_the_original_and_has_no_raw_control(text: str) -> None:
    data = for_json({"text": text})
    assert not re.search(ACTIVE.pattern + "|[\n\t]", data)
    assert json.loads(data)["text"] == re.sub("[\ud800-\udfff]", "\ufffd", text)


@given(HOSTILE)
def test_what_a_person_or_a_program_gets_acts_upon_nothing(text: str) -> None:
    for made in (for_person(text), for_program(text)):
        assert not re.search(ACTIVE.pattern + "|[\n\t]", made)
    lines = lines_for_person(text)
    assert not ACTIVE.search(lines)
    assert lines.count("\n") == text.count("\n")


def test_the_held_text_is_the_original() -> None:
    options = {"@agent_since": "5", "@agent_status_text": "C## ##[x]", "@agent_detail": "#[bg=red]"}
    verdict = Published("%0", options, state="working").verdict()
    assert isinstance(verdict, Verdict)
    assert (verdict.state, verdict.text, verdict.detail) == (State.WORKING, "C# #[x]", None)


PLACES = {
    "<#{@x}#[fg=blue]>": "<{}\x1b[34m>",
    "<#{@x}>": "<{}>",
    "<#{@x}[>": "<{}[>",
    "<#{@x}##>": "<{}#>",
    "<#[fg=blue]#{@x}#[default]>": "<\x1b[34m{}\x1b[30m>",
    "<#{=40:@x}#[fg=blue]>": "<{}\x1b[34m>",
    "<#{?#{pane_id},#{@x},}#[fg=blue]>": "<{}\x1b[34m>",
}


@pytest.mark.versions
@pytest.mark.parametrize("text", ["C#", "#[bg=red]x", "a##", "###[x]y", "#(touch x)#{pane_id}#S"])
def test_a_published_text_is_drawn_as_it_was_wherever_it_stands(server: Server, text: str) -> None:
    for option in ("status-right", "window-status-format", "window-status-current-format"):
        server.cmd("set-option", "-g", option, "")
    server.cmd("set-option", "-g", "status-interval", "0")
    server.cmd("set-option", "-g", "status-left-length", "100")
    server.cmd("set-option", "-p", "-t", "%0", "@x", for_format(text))
    client = server.attach("main", cols=120)
    for place, shown in PLACES.items():
        server.cmd("set-option", "-g", "status-left", place)
        client.settle(0.1)
        start = len(client.output)
        server.cmd("refresh-client", "-t", client.name)
        wanted = shown.format(text)
        wait_for(lambda start=start, wanted=wanted: wanted in client.output[start:].decode(), what=f"{wanted!r}")  # type: ignore[misc]
