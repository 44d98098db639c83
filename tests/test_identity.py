"""Who owns a pane: process trees as recorded, pins, titles, the origin of hook events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents_plugin.core.evidence import Identity
from agents_plugin.core.identity import identify, pane_of, pane_of_event, speaks_for
from agents_plugin.core.trees import Proc, subtree
from tests.trees import MANIFESTS, SHELL, pane, proc, tree

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "data/process_trees.jsonl").read_text().splitlines()]
COVERED = {"claude", "codex", "opencode", "gemini", "aider", "copilot", "pi"}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["from"]) for row in RECORDED])
@pytest.mark.parametrize("group", ["known-group", "no-group"])
def test_recorded_process_trees(row: dict[str, object], group: str) -> None:
    rows = row["tree"]
    assert isinstance(rows, list)
    table = {
        r["pid"]: Proc(r["pid"], r["ppid"], 7, r["comm"], tuple(r["args"].split()), zombie=r["zombie"]) for r in rows
    }
    root = rows[0]["pid"] if rows else 10
    row_pane = pane(str(row["command"]), str(row["title"]), root)
    found = identify(row_pane, table, 7 if group == "known-group" else None, MANIFESTS)
    if row["dead"] or row["agent"] not in COVERED:
        assert found is None or (found.agent not in COVERED and not row["dead"])
    else:
        assert found is not None
        assert (found.agent, found.headless, found.foreground) == (row["agent"], False, True)


def test_codex_launcher_hands_over_to_the_binary() -> None:
    table = tree(
        SHELL,
        proc(11, 10, "node /n/.bin/codex", pgrp=11),
        proc(12, 11, "/n/vendor/bin/codex", pgrp=11),
        proc(13, 12, "/h/bin/codex app-server --listen unix://", pgrp=13),
    )
    found = identify(pane("node"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid, found.foreground) == ("codex", 12, True)


def test_npx_hands_over_through_its_shell() -> None:
    table = tree(
        SHELL,
        proc(11, 10, ["npm exec @anthropic-ai/claude-code"], "node", pgrp=11),
        proc(12, 11, "sh -c claude", pgrp=11),
        proc(13, 12, "node /c/.bin/claude", pgrp=11),
    )
    found = identify(pane("node"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("claude", 13)


def test_case_088_a_tool_call_does_not_relabel_the_pane() -> None:
    table = tree(
        SHELL,
        proc(11, 10, "claude"),
        proc(12, 11, "bash -c 'codex --version'", pgrp=12),
        proc(13, 12, "codex --version", pgrp=12),
    )
    for group in (11, 12, None):
        found = identify(pane("claude", "Gemini"), table, group, MANIFESTS)
        assert found is not None and (found.agent, found.pid) == ("claude", 11)


def test_case_058_a_hook_that_still_runs_is_nobody() -> None:
    """Somebody else's hook may wait for minutes after the answer: it neither owns the pane nor has its terminal."""
    hook = proc(12, 11, "/bin/sh /home/u/bin/agent-hook claude PermissionRequest", pgrp=11)
    alone = identify(pane("claude"), tree(SHELL, proc(11, 10, "claude")), 11, MANIFESTS)
    assert alone is not None and alone == identify(
        pane("claude"), tree(SHELL, proc(11, 10, "claude"), hook), 11, MANIFESTS
    )


def test_case_079_a_nested_headless_run_is_not_the_owner() -> None:
    table = tree(
        SHELL, proc(11, 10, "claude"), proc(12, 11, "bash -c x", pgrp=12), proc(20, 12, "claude -p hi", pgrp=12)
    )
    found = identify(pane("claude"), table, 11, MANIFESTS)
    assert found is not None and found.pid == 11 and not found.headless
    hook = proc(21, 20, "sh agent-hook claude Stop", pgrp=12)
    table = {**table, 21: hook}
    assert not speaks_for(21, 11, table, MANIFESTS)
    assert speaks_for(12, 11, table, MANIFESTS)
    assert not speaks_for(10, 11, table, MANIFESTS)


def test_a_launcher_and_its_binary_speak_for_each_other() -> None:
    table = tree(
        SHELL, proc(11, 10, "node /n/.bin/gemini"), proc(12, 11, "node /n/.bin/gemini"), proc(13, 12, "sh hook")
    )
    assert speaks_for(13, 11, table, MANIFESTS)
    assert speaks_for(13, 12, table, MANIFESTS)
    assert speaks_for(11, 12, table, MANIFESTS)


def test_a_suspended_agent_under_another_program() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 10, "less big.log"))
    found = identify(pane("less"), table, 12, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.foreground) == ("claude", "tree", False)
    back = identify(pane("claude"), table, 11, MANIFESTS, known=found)
    assert back is not None and (back.how, back.foreground) == ("foreground", True)
    assert 11 in back.groups and 12 not in back.groups


def test_the_foreground_agent_beats_a_suspended_one() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 10, "codex"))
    found = identify(pane("codex"), table, 12, MANIFESTS)
    assert found is not None and (found.agent, found.how) == ("codex", "foreground")


def test_sudo_with_a_terminal_of_its_own_stays_in_front() -> None:
    table = tree(SHELL, proc(11, 10, "sudo -u me claude", pgrp=11), proc(12, 11, "claude", pgrp=12))
    found = identify(pane("sudo"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid, found.foreground) == ("claude", 12, True)


def test_case_162_the_shell_as_current_command() -> None:
    for group in (11, None):
        found = identify(pane("zsh"), tree(SHELL, proc(11, 10, "claude")), group, MANIFESTS)
        assert found is not None and (found.agent, found.foreground) == ("claude", True)


@pytest.mark.parametrize("opaque", ["nvim", "tmux attach", "screen -r"])
def test_case_082_what_runs_inside_an_editor_or_multiplexer_is_not_the_panes(opaque: str) -> None:
    table = tree(SHELL, proc(11, 10, opaque), proc(12, 11, "/bin/zsh"), proc(13, 12, "opencode"))
    found = identify(pane(opaque.split()[0]), table, 11, MANIFESTS)
    assert found is None or (found.agent == "" and found.remote == opaque.split()[0])


@pytest.mark.parametrize(
    ("command", "comm", "name"),
    [
        pytest.param("ssh -t box claude", "ssh", "ssh", id="case-165-ssh"),
        pytest.param("docker run -it img claude", "docker", "docker", id="docker"),
        pytest.param("tmux attach", "tmux: client", "tmux", id="case-164-tmux"),
        pytest.param("sudo kubectl exec -it p -- claude", "sudo", "kubectl", id="sudo-kubectl"),
    ],
)
def test_remote_and_nested_sessions(command: str, comm: str, name: str) -> None:
    table = tree(SHELL, proc(11, 10, command, comm))
    found = identify(pane(name, "✳ Claude Code"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.remote, found.pid) == ("", name, 11)
    titled = identify(pane(name, "FAR away"), table, 11, MANIFESTS)
    assert titled is not None and (titled.agent, titled.how, titled.remote) == ("far", "title", name)
    pinned = identify(pane(name, hint="claude"), table, 11, MANIFESTS)
    assert pinned is not None and (pinned.agent, pinned.how, pinned.remote) == ("claude", "hint", name)
    reported = identify(pane(name), table, 11, MANIFESTS, registered="mine")
    assert reported is not None and (reported.agent, reported.how, reported.remote) == ("mine", "registered", name)


def test_a_tunnel_in_the_background_is_not_a_remote_session() -> None:
    table = tree(SHELL, proc(11, 10, "ssh -N box"))
    assert identify(pane("zsh"), table, 10, MANIFESTS) is None


def test_an_agent_that_uses_ssh_in_a_tool_stays_local() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 11, "ssh box true", pgrp=11))
    found = identify(pane("claude"), table, 11, MANIFESTS)
    assert found is not None and found.remote is None


@pytest.mark.parametrize("hint", ["codex", "claude-code"])
def test_a_pin_wins_over_the_process(hint: str) -> None:
    found = identify(pane("claude", hint=hint), tree(SHELL, proc(11, 10, "claude")), 11, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.pid) == (hint.removesuffix("-code"), "hint", 11)


def test_a_pin_names_an_unknown_program_but_not_a_bare_shell() -> None:
    found = identify(pane("python", hint="codex"), tree(SHELL, proc(11, 10, "python mine.py")), 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("codex", 11)
    assert identify(pane("zsh", hint="codex"), tree(SHELL), 10, MANIFESTS) is None
    assert identify(pane("python", hint="#(touch x)"), tree(SHELL, proc(11, 10, "python a.py")), 11, MANIFESTS) is None


def test_a_registration_needs_no_known_program() -> None:
    found = identify(pane("zsh"), tree(SHELL), 10, MANIFESTS, registered="mine")
    assert found is not None and (found.agent, found.how, found.pid) == ("mine", "registered", 10)


def test_ignored_panes_have_no_owner() -> None:
    table = tree(SHELL, proc(11, 10, "claude"))
    assert identify(pane("claude", ignore="", hint="claude"), table, 11, MANIFESTS, registered="x") is None


def test_case_081_094_a_shell_with_left_over_title_and_identity() -> None:
    known = Identity("claude", "foreground", 11, 1000.0)
    assert identify(pane("zsh", "FAR ✳ Claude Code"), tree(SHELL), 10, MANIFESTS, known=known) is None


def test_a_title_narrows_a_generic_name_and_its_flicker_drops_nothing() -> None:
    table = tree(SHELL, proc(11, 10, "agent"))
    assert identify(pane("agent", "host"), table, 11, MANIFESTS) is None
    known = identify(pane("agent", "Cursor: fix"), table, 11, MANIFESTS)
    assert known is not None and known.agent == "cursor"
    held = identify(pane("agent", "host"), table, 11, MANIFESTS, known=known)
    assert held is not None and (held.agent, held.pid, held.foreground) == ("cursor", 11, True)
    behind = identify(pane("less", "host"), {**table, 12: proc(12, 10, "less")}, 12, MANIFESTS, known=known)
    assert behind is not None and not behind.foreground


def test_case_120_a_reused_pid_is_not_the_agent() -> None:
    known = Identity("cursor", "foreground", 11, 1000.0)
    later = tree(SHELL, proc(11, 10, "agent", started=2000.0))
    assert identify(pane("agent", "host"), later, 11, MANIFESTS, known=known) is None


def test_known_process_that_became_a_shell_is_dropped() -> None:
    known = Identity("claude", "foreground", 11, 1000.0)
    assert identify(pane("bash"), tree(SHELL, proc(11, 10, "bash")), 11, MANIFESTS, known=known) is None


def test_title_speaks_only_for_what_cannot_be_read() -> None:
    unreadable = tree(SHELL, Proc(11, 10, 11, "node"))
    found = identify(pane("node", "FAR away"), unreadable, 11, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.pid) == ("far", "title", 11)
    assert identify(pane("node", "FAR away"), tree(SHELL, proc(11, 10, "node server.js")), 11, MANIFESTS) is None


def test_without_any_process_table_the_command_speaks() -> None:
    found = identify(pane("claude"), {}, None, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("claude", None)
    assert identify(pane("zsh", "FAR away"), {}, None, MANIFESTS) is None
    assert identify(pane("ssh"), {}, None, MANIFESTS) == Identity("", "foreground", remote="ssh")


def test_zombies_are_nobody() -> None:
    dead = Proc(11, 10, 11, "claude", ("claude",), zombie=True)
    assert identify(pane("zsh"), tree(SHELL, dead), 10, MANIFESTS) is None


def test_a_cycle_in_the_table_ends() -> None:
    table = tree(proc(10, 12, "sh x"), proc(11, 10, "sh y"), proc(12, 11, "sh z"))
    assert identify(pane("sh"), table, 10, MANIFESTS) is None
    assert pane_of(12, table, {99: "%9"}) is None


def test_pane_of_walks_up() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 11, "sh hook"), proc(30, 1, "zsh"))
    panes = {10: "%1", 30: "%2"}
    assert pane_of(12, table, panes) == "%1"
    assert pane_of(30, table, panes) == "%2"
    assert pane_of(99, table, panes) is None
    assert pane_of(1, table, panes) is None


def test_a_shared_server_proves_no_pane() -> None:
    # Codex: hooks of the second pane's session run below the first pane's daemon.
    table = tree(
        SHELL, proc(11, 10, "codex"), proc(12, 11, "codex app-server --listen unix://"), proc(13, 12, "sh hook")
    )
    assert pane_of(13, table, {10: "%1"}) is None
    assert pane_of(11, table, {10: "%1"}) == "%1"


@pytest.mark.parametrize(
    ("ancestors", "expected"),
    [
        pytest.param([(50, None), (11, None)], ("%1", 11), id="parent-gone"),
        pytest.param([(50, None)], None, id="all-gone"),
        pytest.param([(11, 500.0), (10, None)], ("%1", 10), id="parent-pid-reused"),
        pytest.param([(40, None)], None, id="began-after-the-event"),
        pytest.param([(30, None), (11, None)], ("%2", 30), id="nearest-wins"),
        pytest.param([(60, None), (11, None)], None, id="alive-elsewhere-is-not-overruled"),
        pytest.param([], None, id="nothing-recorded"),
    ],
)
def test_pane_of_event(ancestors: list[tuple[int, float | None]], expected: tuple[str, int] | None) -> None:
    table = tree(
        SHELL,
        proc(11, 10, "claude"),
        proc(30, 1, "zsh"),
        proc(40, 10, "sh", started=5000.0),
        proc(60, 1, "daemon"),
    )
    assert pane_of_event(ancestors, 2_000_000, table, {10: "%1", 30: "%2"}) == expected


def test_subtree_keeps_parents_first() -> None:
    table = tree(SHELL, proc(12, 11, "b"), proc(11, 10, "a"), proc(20, 1, "other"))
    assert [p.pid for p in subtree(10, table)] == [10, 11, 12]
    assert subtree(99, table) == []
