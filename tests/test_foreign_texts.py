"""Texts others wrote on a pane: rewritten fit for formats once, told as the original, drawn literally in the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents_plugin.core.states import Source
from agents_plugin.core.text_forms import from_format
from agents_plugin.monitor import facts
from tests.cli import asked_json, load, one_pass
from tests.lane import WORKING
from tests.support import Server, wait_for
from tests.test_plan import Tmux, decide


def written(options: dict[str, str]) -> dict[str, str]:
    """The options of a pane whose report is taken up; the pass after that must write nothing."""
    tmux = Tmux()
    first = decide(WORKING)
    assert first.verdict
    report = replace(first, verdict=replace(first.verdict, source=Source.REPORT))
    tmux.publish(report)
    tmux.options.update(options)
    tmux.publish(report)
    assert not tmux.publish(report)
    return tmux.options


@pytest.mark.parametrize("option", ["@agent_display_name", "@agent_status_text"])
@pytest.mark.parametrize(
    ("raw", "fit"),
    [("C#", "C##"), ("#[bg=red]x", "##[bg=red]x"), ("a\x1b[31mb", "ab"), ("C##", "C##"), ("e\u0301" * 900, None)],
)
def test_what_others_wrote_is_rewritten_fit_and_once(option: str, raw: str, fit: str | None) -> None:
    shown = written({option: raw})[option]
    assert shown == fit or (fit is None and len(shown) <= 256)


def test_a_detail_and_a_name_of_others_go() -> None:
    assert "@agent_detail" not in written({"@agent_detail": "#[bg=red]x"})
    assert written({"@agent_name": "#[bg=red]x"})["@agent_name"] == "claude"


def test_case_c_sharp_from_report_to_alert(server: Server) -> None:
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "blocked")
    server.cmd("set-option", "-p", "-t", "%0", "@agent_status_text", "run C#")
    server.cmd("set-option", "-p", "-t", "%0", "@agent_display_name", "C# #[bg=red]bot")
    one_pass(server)
    assert server.option("%0", "@agent_status_text") == "run C##"
    assert server.option("%0", "@agent_display_name") == "C## ##[bg=red]bot"
    (row,) = asked_json(server, "ls")["agents"]
    assert (row["status_text"], row["display_name"]) == ("run C#", "C# #[bg=red]bot")
    done = one_pass(server)
    (subject,) = done.subjects
    told = facts(subject)
    assert told["AGENT_TEXT"] in ("", "run C#")
    assert not any("##" in value for value in told.values())
    verdict = subject.published.verdict()
    assert verdict is not None and verdict.text == "run C#" == from_format("run C##")


@pytest.mark.versions
@pytest.mark.parametrize("value", ["#[bg=red]C#", "##[bg=red]C##"], ids=["raw", "ours"])
def test_the_list_draws_a_text_as_it_was(server: Server, value: str) -> None:
    load(server)
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "blocked")
    server.cmd("set-option", "-p", "-t", "%0", "@agent_status_text", value)
    client = server.attach("main", cols=120)
    client.settle()
    start = len(client.output)
    server.cmd("bind-key", "-n", "F5", "agents-list")
    client.send("\x1b[15~")
    wait_for(lambda: b" #[bg=red]C#" in client.output[start:], what="drawn literally")
    assert b"##" not in client.output[start:]
    assert b"\x1b[41m" not in client.output[start:]
