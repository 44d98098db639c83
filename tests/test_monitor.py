"""The monitor as a process: one per server, gone with it, back after a crash, replaced by a newer one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_plugin import monitor
from agents_plugin.host import processes
from agents_plugin.host.directories import key
from agents_plugin.host.runtime import BEAT_OLD_S, open_runtime, uptime
from agents_plugin.monitor import pause_after
from tests.actor import Actor
from tests.loading import run_directory
from tests.stage import BLOCKED, IDLE, WORKING, Stage
from tests.support import ROOT, Server, alive, stays, wait_for

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(server, root=…, command=…)`: a helper process for a server, ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(server: Server, root: Path = ROOT, command: str = "monitor") -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, str(root / "agents_plugin" / "__main__.py"), command],
            env=server.inside() | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def runtime(server: Server) -> Path:
    """The runtime directory of a server."""
    return run_directory(server)


def holder(server: Server) -> int:
    """The pid in the monitor lock, 0 when there is none alive."""
    try:
        pid = int((runtime(server) / "monitor").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pid if alive(pid) else 0


def watched(server: Server) -> int:
    """The monitor's pid, once it is at work."""
    return wait_for(lambda: holder(server), what="a monitor")


@pytest.fixture
def plugged(server: Server) -> Server:
    """A running server with the rollup installed."""
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
    return server


def test_who_waits_for_an_answer_is_looked_at_more_often_than_who_rests(plugged: Server) -> None:
    """An answer fires no event, and the agent's own process may use no time of its own (a launcher)."""
    stage, actor = Stage(plugged), Actor(plugged)
    pauses = {}
    for screen in (IDLE, BLOCKED, WORKING):
        actor.show(screen)
        pauses[screen] = pause_after(stage.step())
    assert pauses[WORKING] < pauses[BLOCKED] < pauses[IDLE]


def test_it_follows_a_screen(plugged: Server, start: Start) -> None:
    """Blocked within a moment of the dialog, working after the answer, stamps gone with the agent."""
    actor = Actor(plugged)
    actor.show(WORKING)
    start(plugged)
    wait_for(lambda: actor.state() == "working", what="working")
    actor.show(BLOCKED)
    wait_for(lambda: actor.state() == "blocked/permission", timeout=4, what="blocked")
    actor.show(WORKING)
    wait_for(lambda: actor.state() == "working", timeout=4, what="working again")
    actor.quit()
    wait_for(lambda: plugged.global_option("@agents_summary") == "", timeout=4, what="rollups empty")


def test_there_is_one_for_a_server(plugged: Server, start: Start) -> None:
    """Starting five leaves one, and the others end well."""
    started = [start(plugged) for _ in range(5)]
    pid = watched(plugged)
    losers = [process for process in started if process.pid != pid]
    for process in losers:
        assert process.wait(timeout=20) == 0
    assert holder(plugged) == pid


def test_it_ends_with_its_server(plugged: Server, start: Start) -> None:
    """No helper is left behind."""
    process = start(plugged)
    watched(plugged)
    plugged.run("kill-server")
    assert process.wait(timeout=10) == 0


def test_state_stands_when_it_is_killed_and_it_comes_back(plugged: Server, start: Start) -> None:
    """A stale lock stops nobody; what was published stays as it was, time of the run included."""
    actor = Actor(plugged)
    actor.show(BLOCKED)
    process = start(plugged)
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked")
    since = actor.option("@agent_since")
    process.kill()
    process.wait()
    assert actor.state() == "blocked/permission"
    second = start(plugged)
    wait_for(lambda: holder(plugged) == second.pid, what="the second at work")
    stays(lambda: actor.state() == "blocked/permission" and actor.option("@agent_since") == since, 1.5)


def test_a_newer_version_takes_over(plugged: Server, start: Start, tmp_path: Path) -> None:
    """The old one is asked to leave; there is never more than one."""
    other = tmp_path / "plugin"
    shutil.copytree(ROOT / "agents_plugin", other / "agents_plugin", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "manifests", other / "manifests")
    old = start(plugged)
    watched(plugged)
    source = other / "agents_plugin" / "cycle.py"
    os.utime(source, (time.time() + 60, time.time() + 60))
    new = start(plugged, root=other)
    wait_for(lambda: holder(plugged) == new.pid, what="the new one")
    assert old.wait(timeout=10) == 0


@pytest.mark.skipif(not Path("/proc/uptime").exists(), reason="beats are compared with the uptime")
@pytest.mark.parametrize("beats", [True, False], ids=["woken-with-the-machine", "hung"])
def test_one_that_does_not_beat_is_looked_at_twice(
    beats: bool, plugged: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that slept wakes with an old beat: only a monitor that stays silent is killed."""
    runtime = open_runtime(plugged.pid, plugged.env)
    lock = runtime.lock("1")
    assert lock is not None
    process = subprocess.Popen(["sleep", "60"])
    runtime.path.joinpath("monitor").write_text(f"{process.pid} {processes.start_token(process.pid)} 1\n")
    runtime.path.joinpath("beat").write_text(f"{int(uptime() or 0) - BEAT_OLD_S - 1}\n")
    monkeypatch.setattr(monitor, "SECOND_LOOK_S", 0.2)
    if beats:
        monkeypatch.setattr(time, "sleep", lambda seconds: runtime.beat())
    assert monitor.take_lock(runtime, "1", patience_s=0.2) is None
    if beats:
        assert process.poll() is None
        process.kill()
    assert process.wait(timeout=5) == -signal.SIGKILL
    lock.release()


def test_turning_the_monitor_off_ends_it(plugged: Server, start: Start) -> None:
    """`@agents-monitor off` is obeyed without a reload."""
    process = start(plugged)
    watched(plugged)
    plugged.cmd("set-option", "-g", "@agents-monitor", "off")
    assert process.wait(timeout=10) == 0


def test_a_poke_is_answered_at_once(plugged: Server, start: Start) -> None:
    """With nothing going on it sleeps for seconds; a poke wakes it."""
    start(plugged)
    watched(plugged)
    time.sleep(1.0)
    pane = plugged.window("cat")
    plugged.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")
    began = time.monotonic()
    with (runtime(plugged) / "poke").open("wb", buffering=0) as fifo:
        fifo.write(b"\n")
    wait_for(lambda: plugged.option(pane, "@agent_source") == "report", timeout=2.0, what="the report taken up")
    assert time.monotonic() - began < 2.0


def test_sigterm_ends_it_between_passes(plugged: Server, start: Start) -> None:
    """A clean exit, no state lost."""
    actor = Actor(plugged)
    actor.show(BLOCKED)
    process = start(plugged)
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0
    assert actor.state() == "blocked/permission"
    assert holder(plugged) == 0


def test_case_158_two_servers_never_cross(bare_server: Server, start: Start, tmp_path: Path) -> None:
    """The same pane ids on two servers: each monitor writes to its own."""
    bare_server.start()
    (tmp_path / "second").mkdir()
    second = Server(bare_server.binary, tmp_path / "second", label="u")
    try:
        second.start()
        first_actor, second_actor = Actor(bare_server), Actor(second)
        assert first_actor.pane == second_actor.pane
        first_actor.show(BLOCKED)
        second_actor.show(WORKING)
        start(bare_server)
        start(second)
        wait_for(lambda: first_actor.state() == "blocked/permission", what="first blocked")
        wait_for(lambda: second_actor.state() == "working", what="second working")
        stays(lambda: (first_actor.state(), second_actor.state()) == ("blocked/permission", "working"), 1.0)
    finally:
        second.kill()


def test_case_132_a_runtime_directory_of_somebody_else_is_refused(plugged: Server, start: Start) -> None:
    """A symlink where ours should be: nothing is written through it. Refused everywhere: one clear line, exit 1."""
    elsewhere = plugged.base / "elsewhere"
    elsewhere.mkdir()
    (Path(plugged.env["XDG_RUNTIME_DIR"]) / "agents.tmux").symlink_to(elsewhere)
    other = Path(plugged.env["TMPDIR"]) / f"agents.tmux-{os.geteuid()}"
    start(plugged)
    wait_for(lambda: (other / key(plugged.pid) / "monitor").exists(), what="a monitor in the next place")
    plugged.env["HOME"] = str(plugged.base / "none")
    shutil.rmtree(other)
    other.symlink_to(elsewhere)
    process = start(plugged)
    said = process.communicate(timeout=20)[0].decode()
    assert process.returncode == 1
    assert "not a directory" in said
    assert list(elsewhere.iterdir()) == []


def test_the_current_directory_is_not_searched_for_modules(plugged: Server, start: Start, tmp_path: Path) -> None:
    """A file named like one of our libraries in a project directory is never run."""
    (tmp_path / "json.py").write_text("raise SystemExit('ran')")
    done = subprocess.run(
        [sys.executable, str(ROOT / "agents_plugin" / "__main__.py"), "pass"],
        env=plugged.inside(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_case_011_one_shot_passes_converge(plugged: Server, start: Start) -> None:
    """Each pass is a process; working becomes idle after the dwell all the same."""
    actor = Actor(plugged)
    actor.show(WORKING)
    start(plugged, command="pass").wait(timeout=20)
    assert actor.state() == "working"
    actor.show(IDLE)

    def idle() -> bool:
        assert start(plugged, command="pass").wait(timeout=20) == 0
        return actor.state() == "idle"

    wait_for(idle, timeout=15, interval=0.5, what="idle")
    assert actor.option("@agent_attention") == "1"


def test_case_108_154_it_is_no_client_of_the_server(plugged: Server, start: Start) -> None:
    """A control client would count as somebody who looks: sessions attached, bells of current windows not flagged."""
    actor = Actor(plugged)
    actor.show(BLOCKED)
    start(plugged)
    wait_for(lambda: actor.state() == "blocked/permission", what="a pass")
    plugged.cmd("select-window", "-t", actor.pane)
    assert plugged.cmd("list-clients") == ""
    tty = plugged.format(actor.pane, "#{pane_tty}")
    Path(tty).write_text("\a")
    wait_for(lambda: plugged.format(actor.pane, "#{window_bell_flag}") == "1", what="the bell of a current window")
    stays(lambda: plugged.format(actor.pane, "#{session_attached}") == "0", 1.2)
    assert actor.option("@agent_attention") == "1"


def test_case_150_a_helper_without_locale_reads_the_same(plugged: Server, start: Start) -> None:
    """Started by cron or systemd: spinners in titles are no underscores."""
    actor = Actor(plugged, name="codex", folder="codex")
    fixture = next(path.stem for path in sorted((ROOT / "fixtures" / "codex").glob("working__*w100.txt")))
    actor.show(fixture)
    for name in ("LANG", "LC_ALL"):
        plugged.env.pop(name, None)
    plugged.env["LC_ALL"] = "C"
    start(plugged)
    wait_for(lambda: actor.state().startswith("working"), what="working")
