"""Who may speak for a pane: the processes above the hook, and for a shared server the pane's own conversation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from agents_plugin.host import processes
from agents_plugin.host.spool import END
from tests.actor import HOOK, Actor
from tests.stage import BLOCKED, IDLE, Stage
from tests.support import Server, wait_for
from tests.telling import around, catch_up, spool, tell

SESSION = "01a22e10-50ac-7901-944a-bd161a85cc22"


@pytest.fixture
def stage(server: Server) -> Stage:
    """A stage whose clock is behind no process: events are stamped by the machine's own."""
    return Stage(server)


@pytest.mark.parametrize(
    "text",
    [
        'exec "{hook}" "$@"',
        'unset TMUX TMUX_PANE\nexec "{hook}" "$@"',
        'TMUX_PANE=%0 exec "{hook}" "$@"',
        '"{hook}" "$@"\n:',
        'bash -c \'"$0" "$@"; :\' "{hook}" "$@"\n:',
    ],
    ids=["plain", "case-073-077-stripped", "inherited-pane", "through-sh", "through-sh-and-bash"],
)
def test_the_processes_above_the_hook_say_whose_it_is(stage: Stage, text: str) -> None:
    if "bash" in text and not shutil.which("bash"):
        pytest.skip("no bash")
    actor = Actor(stage.server)
    hook = around(stage.server, "around", text.replace("{hook}", str(HOOK)))
    tell(stage, actor, "UserPromptSubmit", hook, prompt="go")
    assert actor.state() == "working"


def test_case_074_two_agents_in_one_directory_keep_apart(stage: Stage) -> None:
    first, second = Actor(stage.server), Actor(stage.server)
    tell(stage, first, "UserPromptSubmit", prompt="go", session_id="a")
    tell(stage, second, "SessionStart", source="startup", session_id="b")
    tell(stage, first, "PermissionRequest", tool_name="Bash", session_id="a")
    assert (first.state(), second.state()) == ("blocked/permission", "idle")
    assert (first.option("@agent_session_id"), second.option("@agent_session_id")) == ("a", "b")


@pytest.mark.parametrize("named", [True, False], ids=["case-130-names-the-pane", "case-075-names-none"])
def test_nobody_speaks_for_a_pane_from_outside(stage: Stage, named: bool) -> None:
    """The variable alone proves nothing; the event stays for whoever it belongs to."""
    actor = Actor(stage.server)
    actor.show(IDLE)
    stage.step()
    env = stage.server.inside(actor.pane) if named else {**stage.server.env, "TMUX": "", "TMUX_PANE": ""}
    payload = json.dumps({"session_id": "s1", "tool_name": "Bash"})
    subprocess.run([HOOK, "claude", "PermissionRequest"], env=env, input=payload, text=True, timeout=20, check=True)
    catch_up(stage)
    stage.step(10)
    assert actor.state() == "idle"
    assert len(spool(stage.server)) == 1


@pytest.mark.parametrize("alive", [True, False], ids=["running", "ended"])
def test_case_079_an_agent_run_by_the_agent_does_not_speak_for_it(stage: Stage, alive: bool) -> None:
    """`claude -p` in a tool call: its start and its end are not the owner's, whether it still runs or not."""
    server = stage.server
    actor = Actor(server)
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    gate = server.base / "gate"
    os.mkfifo(gate)
    inner = around(server, "inner", f'shift\n"{HOOK}" "$@"\n{f"read -r x < {gate}" if alive else ":"}')
    # Without a shell between: what has ended leaves the owner as the next one above the hook.
    hook = around(server, "around", f'exec "{server.base}/actors/claude" "{inner}" -p "$@"')
    for event in ("SessionStart", "Stop"):
        payload = {"session_id": "other", "source": "startup", "background_tasks": []}
        run = threading.Thread(target=actor.fire, args=(event, payload, "", hook))
        run.start()
        wait_for(lambda: any(file.read_bytes().endswith(END) for file in spool(server)), what="the event")
        if not alive:
            run.join()
        catch_up(stage)
        stage.step(10)
        assert (actor.state(), actor.option("@agent_session_id")) == ("working", "s1")
        assert bool(spool(server)) is not alive, "taken by what it is proven to be, or left to expire"
        if alive:
            gate.write_text("go\n")
            run.join()
        for file in spool(server):
            file.unlink()


def test_case_080_a_headless_run_in_a_pane_is_no_agent(stage: Stage) -> None:
    actor = Actor(stage.server, args=("-p",))
    tell(stage, actor, "UserPromptSubmit", prompt="go")
    assert actor.state() == ""


@pytest.mark.parametrize("name", ["wrapped", "docker"], ids=["unknown", "case-165-container"])
def test_a_program_nobody_knows_is_an_agent_while_its_events_come_from_it(stage: Stage, name: str) -> None:
    """Registered by its own word; gone with its process."""
    actor = Actor(stage.server, name=name, folder="claude")
    actor.show(BLOCKED)
    stage.step()
    assert actor.state() == ""
    tell(stage, actor, "UserPromptSubmit", agent="claude", prompt="go")
    assert actor.option("@agent_name") == "claude"
    # A known program is read from now on; a container's screen may be anybody's.
    assert actor.state() == ("blocked/permission" if name == "wrapped" else "working")
    actor.quit()
    wait_for(lambda: actor.pane not in stage.server.cmd("list-panes", "-a", "-F", "#{pane_id}").split(), what="gone")
    stage.step()
    assert stage.server.global_option("@agents_summary") == ""


@pytest.mark.parametrize("name", ["claude", "2.1.332"], ids=["case-081-by-its-name", "case-081-by-its-version"])
def test_what_an_agent_left_behind_registers_no_shell(stage: Stage, name: str) -> None:
    """SessionEnd is heard after its process ended: only the shell it ran in is still there."""
    server = stage.server
    Actor(server, name=name, folder="claude")  # the script and the program
    place = server.base / "actors"
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude SessionEnd')
    pane = server.window("exec bash --norc --noprofile -i")
    server.cmd("send-keys", "-t", pane, f"{place}/{name} {inner}", "Enter")
    wait_for(lambda: spool(server), what="the event")
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "bash", what="shell back")
    catch_up(stage)
    stage.step(10)
    assert server.option(pane, "@agent_state") == ""


def test_case_081_an_agent_that_is_dying_registers_nobody(stage: Stage) -> None:
    """Its last event is read while it is a zombie, which has a name and no arguments."""
    server = stage.server
    Actor(server)
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude SessionEnd')
    pane = server.window(f"{server.base}/actors/claude {inner} & exec sleep 1000")  # sleep never waits for it
    wait_for(lambda: spool(server), what="the event")
    wait_for(lambda: any(proc.zombie for proc in processes.sweep().values() if proc.comm == "claude"), what="a zombie")
    catch_up(stage)
    stage.step(10)
    assert server.option(pane, "@agent_state") == ""


def test_case_081_an_agent_that_ends_while_its_words_are_read_registers_no_shell(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stage.server
    pane = server.window("exec sh")
    Actor(server)
    gate = server.base / "gate"
    os.mkfifo(gate)
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude SessionEnd\nread -r x <"{gate}"')
    server.cmd("send-keys", "-t", pane, f"{server.base}/actors/claude {inner}", "Enter")
    wait_for(lambda: spool(server), what="the event")

    def newcomers(*_: object) -> dict[str, str]:
        gate.write_text("go\n")
        wait_for(lambda: server.format(pane, "#{pane_current_command}") == "sh", what="shell back")
        return {pane: "claude"}

    monkeypatch.setattr(stage.cycle.intake, "newcomers", newcomers)
    catch_up(stage)
    stage.step(10)
    assert server.option(pane, "@agent_state") == ""


def test_case_080_a_headless_run_in_a_pane_that_was_looked_at_a_moment_ago(stage: Stage) -> None:
    """Started by a script of the shell's own name: nothing told that the pane has another program."""
    if not shutil.which("bash"):
        pytest.skip("no bash")
    server = stage.server
    Actor(server)
    pane = server.window("exec bash --norc --noprofile -i")
    gate = server.base / "gate"
    os.mkfifo(gate)
    inner = around(server, "inner", f'printf "{{}}" | "{HOOK}" claude UserPromptSubmit\nread -r x <"{gate}"')
    outer = around(server, "outer", f'"{server.base}/actors/claude" "{inner}" -p hello\n:')
    wait_for(lambda: server.format(pane, "#{pane_current_command}") == "bash", what="the shell")
    stage.step(10)
    server.cmd("send-keys", "-t", pane, f"bash {outer}", "Enter")
    wait_for(lambda: spool(server), what="the event")
    catch_up(stage)
    stage.step(10)
    assert server.option(pane, "@agent_state") == ""
    gate.write_text("go\n")


def test_case_124_words_in_another_agents_name_move_nothing_however_often(stage: Stage) -> None:
    """The process is one agent, the hooks name another: the pane is the process's, at rest, and nothing is written."""
    actor = Actor(stage.server, name="codex")
    actor.show("idle__fresh__w100")
    stage.step()
    assert (actor.option("@agent_name"), actor.state()) == ("codex", "idle")
    before = stage.server.hidden(), stage.server.cmd("show-options", "-p", "-t", actor.pane)
    for turn in range(12):
        event = ("UserPromptSubmit", "PermissionRequest", "Stop")[turn % 3]
        tell(stage, actor, event, agent="claude", session_id="c1", prompt_id=f"p{turn}", tool_name="Bash")
        assert stage.server.cmd("show-options", "-p", "-t", actor.pane) == before[1], event
    after = stage.server.hidden()
    assert {key: after[key] for key in after if key[7:8].isdigit()} == {
        key: before[0][key] for key in before[0] if key[7:8].isdigit()
    }


# --- Codex: hooks of every window run in the first one's daemon


def daemon(server: Server) -> Path:
    """A hook that runs below `codex app-server`."""
    program = server.base / "actors" / "codex"
    inner = around(server, "inner", f'shift\n"{HOOK}" "$@"\n: > {server.base}/told\nsleep 30')
    return around(
        server,
        "daemon",
        f"cat > {server.base}/said\nrm -f {server.base}/told\n"
        f'"{program}" "{inner}" app-server "$@" < {server.base}/said &\n'
        f"while [ ! -e {server.base}/told ]; do sleep 0.02; done",
    )


def test_events_of_a_shared_daemon_are_nobodys_without_the_conversation(stage: Stage) -> None:
    """Not the pane's whose environment the daemon has."""
    actor = Actor(stage.server, name="codex")
    actor.draw("nothing we know")
    stage.step()
    tell(stage, actor, "PermissionRequest", daemon(stage.server), session_id=SESSION, turn_id="t1", tool_name="Bash")
    assert actor.state() == "unknown"


def named(server: Server, *names: str) -> None:
    """What the conversation was called, one name after the other; another one is called the same as the first."""
    (server.home / ".codex").mkdir(exist_ok=True)
    entries = [{"id": SESSION, "thread_name": name, "updated_at": "2026-11-30T23:11:13Z"} for name in names]
    lines = "".join(json.dumps(entry) + "\n" for entry in ({"id": "other", "thread_name": "fix it"}, *entries))
    (server.home / ".codex" / "session_index.jsonl").write_text(lines)


def test_events_of_a_shared_daemon_go_where_the_conversation_is(stage: Stage) -> None:
    """The first window's daemon tells of the second one, which names the conversation itself."""
    named(stage.server, "fix it")
    first = Actor(stage.server, name="codex")
    second = Actor(stage.server, name="codex", args=("resume", SESSION))
    first.draw("nothing we know", "work")
    second.draw("nothing we know", "fix it | work")
    stage.step()
    hook = daemon(stage.server)
    tell(stage, first, "UserPromptSubmit", hook, session_id=SESSION, turn_id="t1", prompt="go")
    second.draw("nothing we know", "[ ! ] Action Required | fix it | work")
    tell(stage, first, "PermissionRequest", hook, session_id=SESSION, turn_id="t1", tool_name="Bash")
    assert (first.state(), second.state()) == ("unknown", "blocked/permission")
    tell(stage, first, "Stop", hook, session_id="other", turn_id="t9")
    assert (first.state(), second.state()) == ("unknown", "blocked/permission")


@pytest.mark.parametrize(
    ("names", "mine", "others"),
    [
        pytest.param(["fix it"], "work", "fix it | work", id="cleared-and-taken-up-elsewhere"),
        pytest.param(["fix it"], "fix it | work", "fix it | work", id="shown-in-two"),
        pytest.param(["fix it", "tidy up"], "fix it | work", "work", id="another-of-its-old-name"),
        pytest.param(["fix"], "fix it | work", "work", id="a-longer-name"),
        pytest.param([], "fix it | work", "work", id="not-in-the-index"),
        pytest.param([" "], "", "work", id="without-a-name"),
    ],
)
def test_a_command_line_that_may_be_about_an_older_conversation(
    names: list[str], mine: str, others: str, stage: Stage
) -> None:
    """`codex resume ID`, then `/clear`: what was resumed may go on in another window of the same daemon."""
    named(stage.server, *names)
    first = Actor(stage.server, name="codex", args=("resume", SESSION))
    second = Actor(stage.server, name="codex")
    first.draw("nothing we know", mine)
    second.draw("nothing we know", others)
    stage.step()
    tell(stage, second, "UserPromptSubmit", daemon(stage.server), session_id=SESSION, turn_id="t1", prompt="go")
    assert [first.state(), second.state()] == ["unknown", "unknown"]


def test_a_conversation_in_two_panes_is_in_neither(stage: Stage) -> None:
    named(stage.server, "fix it")
    both = [Actor(stage.server, name="codex", args=("resume", SESSION)) for _ in range(2)]
    for actor, title in zip(both, ("fix it | work", "work"), strict=True):
        actor.draw("nothing we know", title)
    stage.step()
    tell(stage, both[0], "UserPromptSubmit", daemon(stage.server), session_id=SESSION, turn_id="t1", prompt="go")
    assert [actor.state() for actor in both] == ["unknown", "unknown"]
