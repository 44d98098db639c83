"""One pass over a real tmux server, with panes that show recorded screens."""

from __future__ import annotations

import re
import stat
import time
from pathlib import Path

import pytest

from agents_plugin.tmux.runner import TmuxTimeout, VersionMismatch
from tests.actor import Actor
from tests.stage import BLOCKED, IDLE, WORKING, Stage
from tests.support import ROOT, wait_for

QUESTION = "blocked__ask_user_question__w100"


@pytest.mark.versions
def test_a_turn_from_start_to_end(stage: Stage) -> None:
    """Fresh, working, a prompt, answered, finished: states, details, marks and rollups."""
    actor = Actor(stage.server)
    actor.show(IDLE)
    stage.step()
    assert (actor.state(), actor.option("@agent_name"), actor.option("@agent_attention")) == ("idle", "claude", "")
    actor.show(WORKING)
    stage.step()
    assert actor.state() == "working"
    since = actor.option("@agent_since")
    stage.step()
    assert actor.option("@agent_since") == since
    actor.show(BLOCKED)
    stage.step()
    assert (actor.state(), actor.option("@agent_attention")) == ("blocked/permission", "1")
    assert actor.option("@agent_source") == "screen"
    assert stage.server.global_option("@agents_queue") == f"{actor.pane} "
    assert stage.server.global_option("@agents_summary") == "blocked:1"
    assert stage.server.window_option(actor.pane, "@agent_summary") == "blocked:1"
    assert "▲1" in stage.server.global_option("@agents_status")
    actor.show(WORKING)
    stage.step()
    assert actor.state() == "working"
    actor.show(IDLE)
    stage.step()
    assert actor.state() == "working"  # the dwell
    stage.step(3_000)
    assert (actor.state(), actor.option("@agent_attention")) == ("idle", "1")
    assert "■1" in stage.server.global_option("@agents_status")


def test_a_question_is_told_from_a_permission(stage: Stage) -> None:
    """The detail comes from the dialog that is on the screen."""
    actor = Actor(stage.server)
    actor.show(QUESTION)
    stage.step()
    assert actor.state() == "blocked/question"


@pytest.mark.versions
def test_case_122_a_pass_that_changes_nothing_writes_nothing(stage: Stage) -> None:
    """One tmux process, not a byte to an attached client."""
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    client = stage.server.attach("main", 100, 30)
    for _ in range(3):
        stage.step()
    assert actor.state() == "blocked/permission"
    # A look made in the second of the last output proves nothing: let a real second go by.
    stage.clock.advance(max(0, int(time.time() * 1000) + 1_500 - stage.clock.wall))
    stage.step()
    before, processes = client.settle(), stage.cycle.runner.processes
    for _ in range(5):
        stage.step()
    assert stage.cycle.runner.processes - processes == 5
    assert client.settle() == before


def test_an_agent_that_ends_loses_its_stamps(stage: Stage) -> None:
    """The pane's options, the queue and the rollups go with it (case 81)."""
    server = stage.server
    pane = server.window("exec bash --norc --noprofile -i", name="shell")
    actor = Actor(server)
    actor.show(BLOCKED)
    stage.step()
    assert server.global_option("@agents_queue")
    actor.quit()
    wait_for(lambda: actor.pane not in server.cmd("list-panes", "-a", "-F", "#{pane_id}").split(), what="pane gone")
    stage.step()
    assert server.global_option("@agents_queue") == ""
    assert server.global_option("@agents_summary") == ""
    assert not [name for name in server.hidden() if re.match(r"AGENTS_\d", name)]
    assert server.option(pane, "@agent_state") == ""


def test_case_081_a_shell_is_left_when_the_agent_quits(stage: Stage) -> None:
    """The same pane goes on as a shell: nothing of the agent stays."""
    server = stage.server
    link = server.base / "claude"
    link.symlink_to("/bin/sleep")
    pane = server.window("exec bash --norc --noprofile -i")
    server.cmd("send-keys", "-t", pane, f"{link} 1000", "Enter")
    wait_for(lambda: stage.step() and server.option(pane, "@agent_name") == "claude", what="agent seen")
    assert server.option(pane, "@agent_state") == "unknown"
    server.cmd("send-keys", "-t", pane, "C-c")
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "bash", what="shell back")
    stage.step()
    assert not server.option(pane, "@agent_state")
    assert not server.option(pane, "@agent_name")


def test_ignored_panes_lose_their_stamps(stage: Stage) -> None:
    """`@agent_ignore` with any value."""
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    stage.step()
    stage.server.cmd("set-option", "-p", "-t", actor.pane, "@agent_ignore", "please")
    stage.step()
    assert actor.state() == ""
    assert stage.server.global_option("@agents_queue") == ""


def test_a_hint_pins_the_manifest(stage: Stage) -> None:
    """A program of another name is read with the pinned rules."""
    actor = Actor(stage.server, name="mywrapper", folder="claude")
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == ""
    stage.server.cmd("set-option", "-p", "-t", actor.pane, "@agent_hint", "claude")
    stage.step()
    assert (actor.state(), actor.option("@agent_name")) == ("blocked/permission", "claude")


def test_case_165_a_remote_screen_is_read_when_asked_for_and_named(stage: Stage) -> None:
    """`@agents-remote screen` reads the agent that `@agent_hint` names; an ssh without one is no agent at all."""
    server = stage.server
    actor = Actor(server, name="ssh", folder="claude")
    actor.show(BLOCKED)
    stage.step()
    assert "@agent" not in server.cmd("show-options", "-p", "-t", actor.pane)
    server.cmd("set-option", "-g", "@agents-remote", "screen")
    stage.step()
    assert "@agent" not in server.cmd("show-options", "-p", "-t", actor.pane)
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_hint", "claude")
    stage.step()
    assert (actor.state(), actor.option("@agent_name")) == ("blocked/permission", "claude")
    server.cmd("set-option", "-g", "@agents-remote", "off")
    stage.step()
    assert actor.state() == ""


def test_a_user_manifest_is_picked_up_at_the_next_pass(stage: Stage) -> None:
    """A new id, no code, no restart; a broken file costs only itself."""
    actor = Actor(stage.server, name="myagent", folder="claude")
    actor.draw("WAITING FOR HUMAN")
    stage.step()
    assert actor.state() == ""
    place = Path(stage.server.env["XDG_CONFIG_HOME"]) / "agents.tmux" / "manifests"
    place.mkdir(parents=True)
    (place / "broken.yaml").write_text("schema: [\n")
    (place / "mine.yaml").write_text(
        "schema: 1\nid: mine\nidentity: {names: [myagent]}\n"
        "rules:\n  - {id: wait, state: blocked, detail: question, contains: WAITING FOR HUMAN}\n"
    )
    stage.step()
    assert actor.state() == "blocked/question"
    assert any("broken.yaml" in problem for problem in stage.cycle.catalog.problems)


@pytest.mark.parametrize("word", ["blocked", "needs_input"])
def test_a_program_may_report_itself(stage: Stage, word: str) -> None:
    """Any program's `@agent_state` registers its pane; the bare token is published; `none` clears."""
    server = stage.server
    pane = server.window("cat", name="job")
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", f"{word}:{stage.clock.wall // 1000}")
    stage.step()
    assert server.option(pane, "@agent_state") == "blocked"
    assert server.option(pane, "@agent_source") == "report"
    assert server.option(pane, "@agent_attention") == "1"
    assert server.global_option("@agents_queue") == f"{pane} "
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "working")
    stage.step()
    assert server.option(pane, "@agent_state") == "working"
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "done")
    stage.step()
    assert (server.option(pane, "@agent_state"), server.option(pane, "@agent_attention")) == ("idle", "1")
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "none")
    stage.step()
    assert server.option(pane, "@agent_state") == ""
    stage.step()
    assert server.option(pane, "@agent_state") == ""


def test_a_report_ends_after_ten_minutes(stage: Stage) -> None:
    """A shell that reported and never said more is no agent for ever."""
    server = stage.server
    pane = server.window("exec bash --norc --noprofile -i", name="job")
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", "working")
    stage.step()
    assert server.option(pane, "@agent_state") == "working"
    stage.step(601_000)
    assert server.option(pane, "@agent_state") == ""


def test_case_179_a_pager_in_front_hides_the_agent_for_as_long_as_it_is_there(stage: Stage) -> None:
    """The screen is the pager's; when it quits without a word the old verdict is back at the next pass."""
    server = stage.server
    actor_home = server.base / "bin"
    actor_home.mkdir()
    (actor_home / "claude").symlink_to("/bin/sleep")
    pane = server.window("exec bash --norc --noprofile -i")
    server.cmd("resize-window", "-t", pane, "-x", "100", "-y", "40")
    screen = ROOT / "fixtures" / "claude" / f"{BLOCKED}.txt"
    server.cmd("send-keys", "-t", pane, f"clear; cat {screen}; {actor_home}/claude 1000", "Enter")
    wait_for(lambda: stage.step() and server.option(pane, "@agent_state") == "blocked", what="blocked")
    server.cmd("send-keys", "-t", pane, "C-z")
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "bash", what="stopped")
    server.cmd("send-keys", "-t", pane, "bg", "Enter")
    wait_for(lambda: stage.step() and server.option(pane, "@agent_state") == "unknown", what="not read any more")
    server.cmd("send-keys", "-t", pane, f"clear; cat {screen}; fg", "Enter")
    wait_for(lambda: stage.step() and server.option(pane, "@agent_state") == "blocked", what="blocked again")


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("exec sleep 60", TmuxTimeout),
        ("echo 'protocol version mismatch (client 8, server 7)' >&2; exit 1", VersionMismatch),
    ],
    ids=["case-119-hangs", "case-123-mismatch"],
)
def test_a_sick_tmux_leaves_states_as_they_are(stage: Stage, behaviour: str, error: type[Exception]) -> None:
    """A hung or mismatched client is bounded, leaves no child and changes nothing."""
    actor = Actor(stage.server)
    actor.show(BLOCKED)
    stage.step()
    fake = stage.server.base / "sick-tmux"
    fake.write_text(f"#!/bin/sh\n{behaviour}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    stage.cycle.runner.binary, stage.cycle.runner.deadline = str(fake), 0.3
    with pytest.raises(error):
        stage.step()
    assert actor.state() == "blocked/permission"


def test_one_shot_passes_hand_the_dwell_on(stage: Stage) -> None:
    """Case 11: every pass is a process of its own, and the state still converges."""
    actor = Actor(stage.server)
    actor.show(WORKING)
    stage.step()
    actor.show(IDLE)
    for _ in range(2):
        remembered = stage.cycle.remember()
        stage.cycle = stage.fresh()
        stage.cycle.recall(remembered)
        stage.step(2_000)
    assert actor.state() == "working" or actor.state() == "idle"
    remembered = stage.cycle.remember()
    stage.cycle = stage.fresh()
    stage.cycle.recall(remembered)
    stage.step(2_000)
    assert actor.state() == "idle"


@pytest.mark.versions
def test_case_153_a_state_change_moves_no_focus_and_keeps_the_zoom(stage: Stage) -> None:
    """Writing about one pane leaves another's zoom and focus alone."""
    server = stage.server
    actor = Actor(server)
    neighbour = server.split(actor.pane)
    server.cmd("select-pane", "-t", neighbour)
    server.cmd("resize-pane", "-Z", "-t", neighbour)
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == "blocked/permission"
    assert server.format(actor.pane, "#{window_zoomed_flag}") == "1"
    assert server.format(neighbour, "#{pane_active}") == "1"


@pytest.mark.parametrize("scrolled", ["live", "freeze"])
def test_case_176_scrolled_back_is_read_live(stage: Stage, scrolled: str) -> None:
    """What comes while you read the history is seen; with `@agents-scrolled freeze` the state is held instead."""
    server = stage.server
    server.cmd("set-option", "-g", "@agents-scrolled", scrolled)
    actor = Actor(server)
    actor.draw("\n".join(f"line {number}" for number in range(200)))
    actor.show(WORKING)
    stage.step()
    assert actor.state() == "working"
    server.cmd("copy-mode", "-t", actor.pane)
    server.cmd("send-keys", "-t", actor.pane, "-X", "history-top")
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == ("blocked/permission" if scrolled == "live" else "working")
    server.cmd("send-keys", "-t", actor.pane, "-X", "cancel")
    stage.step()
    assert actor.state() == "blocked/permission"


def test_case_091_two_agents_in_one_directory(stage: Stage) -> None:
    """Opposite states, each pane its own."""
    first, second = Actor(stage.server), Actor(stage.server)
    first.show(BLOCKED)
    second.show(WORKING)
    stage.step()
    assert (first.state(), second.state()) == ("blocked/permission", "working")


def test_case_092_an_agent_that_ends_leaves_its_neighbours_alone(stage: Stage) -> None:
    """Two in one session: what is published of the other stays to the letter, its mark and place in the queue too."""
    server = stage.server
    first, second = Actor(server), Actor(server)
    for actor in (first, second):
        actor.show(BLOCKED)
    stage.step()
    before = server.cmd("show-options", "-p", "-t", second.pane)
    assert "@agent_attention 1" in before
    first.quit()
    wait_for(lambda: first.pane not in server.cmd("list-panes", "-a", "-F", "#{pane_id}").split(), what="pane gone")
    stage.step()
    assert server.cmd("show-options", "-p", "-t", second.pane) == before
    assert server.global_option("@agents_queue") == f"{second.pane} "


def test_case_094_a_pane_that_comes_back_with_a_shell_is_no_agent(stage: Stage) -> None:
    """tmux keeps a pane's options and title when its program is another one by now."""
    server = stage.server
    actor = Actor(server)
    actor.show(BLOCKED)
    stage.step()
    server.cmd("respawn-pane", "-k", "-t", actor.pane, "exec sh")
    wait_for(lambda: server.format(actor.pane, "#{pane_current_command}") == "sh", what="a shell")
    assert actor.state() == "blocked/permission"
    stage.step()
    assert "@agent" not in server.cmd("show-options", "-p", "-t", actor.pane)
    assert server.global_option("@agents_queue") == ""


QUIET: dict[str, dict[str, str]] = {
    "no-alert": {},
    "no-mark-shown": {"@agents-order": "working done", "@agents-glyph-blocked": " "},
    "no-keys": {"@agents-jump-key": "none", "@agents-list-key": "none"},
    "muted-and-frozen": {"@agents-alert": "bell", "@agents-scrolled": "freeze", "@agents-background": "off"},
    "nonsense": {"@agents-alert": "gong", "@agents-order": "nothing", "@agents-clear-on": "never"},
}


def test_case_037_no_setting_hides_a_blocked_agent(stage: Stage) -> None:
    """Whatever is turned off around it, the state, its mark and its place in the queue are written."""
    server = stage.server
    actor = Actor(server)
    server.cmd("set-option", "-p", "-t", actor.pane, "@agent_mute_until", str(stage.clock.wall + 3_600_000))
    for name, options in QUIET.items():
        actor.show(WORKING)
        stage.step(4_000)
        assert (actor.state(), server.global_option("@agents_queue")) == ("working", ""), name
        for option, value in options.items():
            server.cmd("set-option", "-g", option, value)
        actor.show(BLOCKED)
        stage.step(4_000)
        assert (actor.state(), actor.option("@agent_attention")) == ("blocked/permission", "1"), name
        assert server.global_option("@agents_queue") == f"{actor.pane} ", name


def test_case_098_a_linked_window_counts_once(stage: Stage) -> None:
    """The same pane in two sessions is one agent."""
    server = stage.server
    actor = Actor(server)
    server.cmd("new-session", "-d", "-s", "other", "cat")
    server.cmd("link-window", "-s", actor.pane, "-t", "other:5")
    actor.show(BLOCKED)
    stage.step()
    assert server.global_option("@agents_summary") == "blocked:1"
    assert server.global_option("@agents_queue") == f"{actor.pane} "
    assert server.session_option("other", "@agent_session_summary") == "blocked:1"
