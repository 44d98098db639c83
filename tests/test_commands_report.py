"""`agents report`: one guarded transaction, whoever else writes."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from argparse import ArgumentParser

import pytest

from agents_plugin.commands import report
from agents_plugin.core.evidence import Snapshot
from agents_plugin.tmux import listing
from agents_plugin.tmux.runner import Runner
from tests.cli import agents, asked, asked_json, load, one_pass
from tests.support import ROOT, Server, stays, wait_for


def pane_of(server: Server) -> str:
    return server.format("main:0", "#{pane_id}")


def stamped(server: Server, pane: str) -> dict[str, str]:
    rows = (row.partition(" ") for row in server.cmd("show-options", "-p", "-t", pane).splitlines())
    return {name.removeprefix("@agent_"): value.strip('"') for name, _, value in rows}


def test_a_report_registers_a_pane_and_the_next_pass_takes_it_up(server: Server) -> None:
    pane = pane_of(server)
    asked(server, "report", "needs_input", "-t", pane, "--agent", "mybot", "-m", "rm #[x] -rf?", "--detail", "question")
    raw = stamped(server, pane)
    word, _, stamp = raw["state"].partition(":")
    assert word == "needs_input"
    assert abs(int(stamp) - time.time() * 1000) < 60_000
    one_pass(server)
    found = stamped(server, pane)
    assert (found["state"], found["detail"], found["source"], found["name"]) == (
        "blocked",
        "question",
        "report",
        "mybot",
    )
    assert (found["status_text"], found["attention"]) == ("rm ##[x] -rf?", "1")
    one_pass(server)
    assert stamped(server, pane) == found, "nothing is written twice"


@pytest.mark.parametrize("word", ["working", "blocked", "idle", "done", "unknown", "needs_input", "errored"])
def test_every_word_becomes_its_state(server: Server, word: str) -> None:
    wanted = {"done": "idle", "errored": "idle", "needs_input": "blocked"}.get(word, word)
    asked(server, "report", word, "-t", pane_of(server))
    one_pass(server)
    assert stamped(server, pane_of(server))["state"] == wanted
    assert asked_json(server, "ls")["agents"][0]["state"] == wanted


def test_none_clears_the_pane(server: Server) -> None:
    pane = pane_of(server)
    asked(server, "report", "blocked", "-t", pane, "-m", "well?")
    one_pass(server)
    asked(server, "report", "none", "-t", pane)
    one_pass(server)
    assert stamped(server, pane) == {}
    assert asked_json(server, "ls")["agents"] == []


def test_an_older_report_than_the_claim_in_force_loses(server: Server) -> None:
    pane = pane_of(server)
    asked(server, "report", "working", "-t", pane)
    for again in range(2):
        before = stamped(server, pane)
        for late in ("blocked:1700000000", "none:1700000000"):
            done = agents(server, "report", late, "-t", pane)
            assert done.returncode == 0
            assert done.stderr.startswith("Not applied: ")
        assert stamped(server, pane) == before, f"pass {again}"
        one_pass(server)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("coffee",), "not a state: coffee (one of working, blocked"),
        (("idle", "--detail", "Two Words"), "a detail is one word"),
        (("idle", "--agent", "x y"), "an agent's name"),
        (("blocked:soon",), "not a state"),
    ],
    ids=["word", "detail", "agent", "stamp"],
)
def test_what_is_no_report_is_exit_2(server: Server, words: tuple[str, ...], said: str) -> None:
    done = agents(server, "report", *words, "-t", pane_of(server))
    assert done.returncode == 2
    assert said in done.stderr
    assert stamped(server, pane_of(server)) == {}


def test_a_text_goes_with_its_report(server: Server) -> None:
    pane = pane_of(server)
    asked(server, "report", "working", "-t", pane, "-m", "editing")
    one_pass(server)
    asked(server, "report", "idle", "-t", pane)
    one_pass(server)
    assert "status_text" not in stamped(server, pane)


def test_the_same_again_redraws_nothing_and_is_fresh_evidence(server: Server) -> None:
    load(server)
    pane = pane_of(server)
    asked(server, "report", "working", "-t", pane, "-m", "building", "--detail", "compacting")
    one_pass(server)
    server.cmd("set-option", "-g", "status-interval", "0")
    client = server.attach("main")
    received, claim = client.settle(), server.hidden()[f"AGENTS_{pane[1:]}_CLAIM"]
    asked(server, "report", "working", "-t", pane, "-m", "building", "--detail", "compacting")
    assert server.hidden()[f"AGENTS_{pane[1:]}_CLAIM"] > claim
    one_pass(server)
    stays(lambda: client.received == received, 0.5, what="nothing was drawn")


def inside(server: Server, *words: str) -> str:
    """Report from a pane's own process, as a program in it would; the pane."""
    command = shlex.join([sys.executable, "-m", "agents_plugin", "report", *words])
    return server.window(f"PYTHONPATH={shlex.quote(str(ROOT))} {command}; exec sleep 1000")


def test_case_130_a_report_from_the_panes_own_process_is_declared(server: Server) -> None:
    pane = inside(server, "blocked", "--agent", "mybot")
    wait_for(lambda: server.option(pane, "@agent_state"), what="the report")
    assert server.hidden()[f"AGENTS_{pane[1:]}_BY"].endswith(".inside")
    one_pass(server)
    (row,) = asked_json(server, "ls")["agents"]
    assert (row["pane"], row["state"], row["confidence"]) == (pane, "blocked", "declared")


def test_case_130_a_report_from_elsewhere_is_marked(server: Server) -> None:
    pane = pane_of(server)
    asked(server, "report", "blocked", "-t", pane)
    assert server.hidden()[f"AGENTS_{pane[1:]}_BY"].endswith(".outside")
    one_pass(server)
    (row,) = asked_json(server, "ls")["agents"]
    assert (row["state"], row["confidence"]) == ("blocked", "unverified")


def test_case_130_an_inherited_tmux_pane_proves_nothing(server: Server) -> None:
    pane = pane_of(server)
    done = agents(server, "report", "blocked", pane=pane)
    assert done.returncode == 0
    assert done.stderr.startswith(f"Not applied: this process does not run in pane {pane}")
    assert stamped(server, pane) == {}


def test_the_variable_of_its_origin_goes_with_the_pane(server: Server) -> None:
    pane = server.window()
    asked(server, "report", "blocked", "-t", pane)
    server.cmd("kill-pane", "-t", pane)
    one_pass(server)
    assert [name for name in server.hidden() if name.startswith(f"AGENTS_{pane[1:]}_")] == []


def test_case_158_a_pane_of_another_server_is_not_taken_from_the_environment(server: Server) -> None:
    pane = pane_of(server)
    around = {"TMUX": "/tmp/elsewhere,1,0", "TMUX_PANE": pane}
    done = agents(server, "report", "blocked", "-S", server.socket, pane=None, env=around)
    assert done.returncode == 2
    assert "give -t %N" in done.stderr


def test_a_pane_that_does_not_exist_is_exit_1(server: Server) -> None:
    done = agents(server, "report", "idle", "-t", "%4711")
    assert (done.returncode, done.stderr) == (1, "agents report: pane %4711 does not exist\n")


def test_a_pane_that_changes_between_look_and_write_is_looked_at_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane, looks = pane_of(server), []

    def observe(runner: Runner) -> Snapshot:
        snapshot = listing.observe(runner)
        looks.append(snapshot)
        if len(looks) == 1:
            server.cmd("set-option", "-p", "-t", pane, "@agent_state", "working:1700000000")
        return snapshot

    monkeypatch.setattr(report, "observe", observe)
    for name, value in server.inside().items():
        monkeypatch.setenv(name, value)
    parser = ArgumentParser()
    report.configure(parser)
    assert report.run(parser.parse_args(["blocked", "-t", pane])) == 0
    assert len(looks) == 2
    assert stamped(server, pane)["state"].startswith("blocked:")


def test_reports_and_passes_race_and_the_last_report_stands(server: Server) -> None:
    pane = pane_of(server)
    stop = threading.Event()
    failures: list[BaseException] = []

    def passes() -> None:
        try:
            while not stop.is_set():
                one_pass(server)
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=passes)
    worker.start()
    try:
        for word in ("working", "blocked", "idle", "working", "blocked"):
            asked(server, "report", word, "-t", pane, "--detail", "permission" if word == "blocked" else "compacting")
    finally:
        stop.set()
        worker.join()
    assert failures == []
    one_pass(server)
    found = stamped(server, pane)
    assert (found["state"], found["detail"]) == ("blocked", "permission")


def test_a_report_pokes_the_monitor(server: Server) -> None:
    from agents_plugin.host.runtime import open_runtime

    runtime = open_runtime(server.pid, server.env)
    poke = runtime.poke_reader()
    try:
        asked(server, "report", "idle", "-t", pane_of(server))
        assert poke.wait(1.0)
    finally:
        poke.close()
