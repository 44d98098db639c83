"""`agents explain`: every step of one pane, and nothing but reading."""

from __future__ import annotations

import time

from tests.actor import Actor
from tests.cli import agents, asked, asked_json, one_pass
from tests.support import Server, wait_for


def test_a_prompt_on_the_screen_is_explained(server: Server) -> None:
    actor = Actor(server)
    actor.show("blocked__bash_permission__w100")
    data = asked_json(server, "explain", "-t", actor.pane)
    assert (data["identity"]["agent"], data["identity"]["how"], data["identity"]["pid"]) == (
        "claude",
        "foreground",
        actor.pid,
    )
    assert [proc["agent"] for proc in data["processes"] if proc["pid"] == actor.pid] == ["claude"]
    assert data["winner"] == "permission"
    assert (data["decision"]["state"], data["decision"]["detail"]) == ("blocked", "permission")
    rules = {rule["rule"]: rule for rule in data["rules"]}
    assert rules["permission"]["matched"]
    failed = [rule for rule in data["rules"] if not rule["matched"]]
    assert failed
    assert all(rule["failed"] for rule in failed)
    assert any("Do you want to proceed" in line for line in data["screen"]["lines"])
    assert data["published"] == {}
    assert server.option(actor.pane, "@agent_state") == ""


def test_people_see_the_string_that_failed_and_the_lines_judged(server: Server) -> None:
    actor = Actor(server)
    actor.show("blocked__bash_permission__w100")
    one_pass(server)
    text = asked(server, "explain", "-t", actor.pane, "--lines", "8", env={"COLUMNS": "80"})
    lines = text.splitlines()
    assert any(line.startswith("  + permission (blocked/permission)") for line in lines)
    assert any(line.startswith("  - ") and "failed: contains" in line for line in lines)
    assert sum(line.startswith("    | ") or line == "    |" for line in lines) == 8
    assert "  @agent_state blocked" in lines
    assert any(line.startswith("verdict: blocked/permission by screen: rule permission") for line in lines)
    assert f"agent: claude by foreground, process {actor.pid}, in the foreground" in lines


def test_a_claim_is_shown_with_its_age(server: Server) -> None:
    actor = Actor(server)
    actor.show("idle__composer__w100" if (actor.folder / "idle__composer__w100.txt").exists() else _an_idle(actor))
    asked(server, "report", "blocked", "-t", actor.pane, "--detail", "question")
    one_pass(server)
    data = asked_json(server, "explain", "-t", actor.pane)
    assert (data["claim"]["state"], data["claim"]["detail"], data["claim"]["source"]) == (
        "blocked",
        "question",
        "report",
    )
    assert 0 <= data["claim"]["age_ms"] < 60_000
    assert data["trace"]
    assert f"claim: blocked/question by report ({data['claim']['why']})" in asked(server, "explain", "-t", actor.pane)


def _an_idle(actor: Actor) -> str:
    return next(path.stem for path in sorted(actor.folder.glob("idle__*__w100.txt")))


def test_a_pane_without_an_agent_says_so(server: Server) -> None:
    pane = server.format("main:0", "#{pane_id}")
    text = asked(server, "explain", "-t", pane)
    assert "agent: none found" in text
    assert "verdict: no state" in text


def test_why_the_screen_was_not_read(server: Server) -> None:
    actor = Actor(server)
    actor.show("blocked__bash_permission__w100")
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_ignore", "1")
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_state", "blocked:1")
    data = asked_json(server, "explain", "-t", actor.pane)
    assert (data["screen"], data["why_no_screen"]) == (None, "the pane is ignored")
    assert data["pins"] == {"hint": None, "ignore": True}


def test_a_pane_that_is_gone_is_exit_1(server: Server) -> None:
    pane = server.window()
    server.cmd("kill-pane", "-t", pane)
    done = agents(server, "explain", "-t", pane)
    assert (done.returncode, done.stderr) == (1, f"agents explain: pane {pane} does not exist\n")


def test_case_129_a_screen_of_escapes_is_harmless_text(server: Server) -> None:
    actor = Actor(server)
    actor.draw("\033[31mred\033[0m \u202eback #(touch P)\nend", title="a\tb")
    wait_for(lambda: "end" in server.screen(actor.pane))
    for line in asked(server, "explain", "-t", actor.pane).splitlines():
        assert line.isprintable()


def test_it_reads_only(server: Server) -> None:
    actor = Actor(server)
    actor.show("blocked__bash_permission__w100")
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_state", f"working:{int(time.time())}")
    before = server.cmd("show-options", "-p", "-t", actor.pane), server.hidden()
    asked(server, "explain", "-t", actor.pane)
    assert (server.cmd("show-options", "-p", "-t", actor.pane), server.hidden()) == before
