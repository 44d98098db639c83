"""The driver and the poke: what a tick costs, that there is one monitor, and that neither is ever in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agents_plugin import __version__
from agents_plugin.doctor.machine import data_dir
from agents_plugin.host.directories import find_directory
from tests.actor import Actor
from tests.loading import copy_plugin, give_python, load, monitor_pid, run_directory, settle
from tests.support import ROOT, Server, alive, stays, wait_for

DRIVE = ROOT / "scripts" / "drive"
POKE = ROOT / "scripts" / "poke"


@pytest.fixture
def ready(server: Server) -> Server:
    give_python(server)
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
    return server


def runtime(server: Server) -> Path:
    place = run_directory(server)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def settings(server: Server, home: Path = ROOT) -> dict[str, str]:
    return server.inside() | {"AGENTS_HOME": str(home), "AGENTS_RUN": str(runtime(server))}


def tick(server: Server, *args: str, home: Path = ROOT) -> subprocess.CompletedProcess[bytes]:
    """A tick as the status line runs it: sourced."""
    text = f". '{home}/scripts/drive'" if not args else f"exec '{home}/scripts/drive' {' '.join(args)}"
    return subprocess.run(["sh", "-c", text], env=settings(server, home), capture_output=True, timeout=10, check=False)


def poke(server: Server) -> None:
    """A poke as a hook runs it: whatever is there, it says nothing and succeeds at once."""
    began = time.monotonic()
    done = subprocess.run(
        ["sh", "-c", f". '{POKE}'"], env=settings(server), capture_output=True, timeout=10, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - began < 5


def counting_python(server: Server, code: str = f'exec {sys.executable} "$@"') -> Path:
    """A Python that writes a line for every start, then is the real one or fails."""
    log = server.base / "starts"
    fake = server.base / "python3"
    fake.write_text(f'#!/bin/sh\necho "$*" >>{log}\n{code}\n')
    fake.chmod(0o755)
    give_python(server, str(fake))
    return log


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def fake_lock(server: Server, pid: int, start: str = "") -> None:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    (runtime(server) / "monitor").write_text(f"{pid} {start or stat[19]} 0\n")


@pytest.fixture
def bystander() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"])


def test_a_tick_prints_an_empty_line_and_starts_the_monitor(ready: Server) -> None:
    done = tick(ready)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\n", b"")
    wait_for(lambda: monitor_pid(ready), what="monitor")


def test_run_by_its_path_it_finds_everything_itself(ready: Server) -> None:
    done = subprocess.run([DRIVE], env=ready.inside(), capture_output=True, timeout=10, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\n", b"")
    wait_for(lambda: monitor_pid(ready), what="monitor")


@pytest.mark.parametrize("running", [True, False], ids=["monitor-alive", "monitor-dead"])
def test_a_tick_with_a_live_monitor_starts_nothing(running: bool, ready: Server, tmp_path: Path) -> None:
    home = tmp_path / "plugin"
    (home / "scripts").mkdir(parents=True)
    (home / "scripts" / "drive").write_bytes(DRIVE.read_bytes())
    (home / "scripts" / "lib.sh").write_text(f"echo x >>{tmp_path}/tripped; exit 0\n")
    sleeper = subprocess.Popen(["sleep", "60"])
    fake_lock(ready, sleeper.pid)
    if not running:
        sleeper.kill()
        sleeper.wait()
    for _ in range(20):
        assert tick(ready, home=home).stdout == b"\n"
    if running:
        stays(lambda: not (tmp_path / "tripped").exists(), 0.5)
        sleeper.kill()
        sleeper.wait()
    else:
        wait_for((tmp_path / "tripped").exists)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="start times are compared on Linux")
def test_a_pid_that_is_somebody_elses_by_now(ready: Server, bystander: subprocess.Popen[bytes]) -> None:
    fake_lock(ready, bystander.pid, start="1")
    tick(ready)
    wait_for(lambda: monitor_pid(ready) not in (0, bystander.pid), what="a real monitor")
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_many_ticks_at_once_start_one(ready: Server) -> None:
    log = counting_python(ready)
    ticks = [
        subprocess.Popen(["sh", "-c", f". '{DRIVE}'"], env=settings(ready), stdout=subprocess.DEVNULL)
        for _ in range(12)
    ]
    assert [process.wait(timeout=20) for process in ticks] == [0] * 12
    wait_for(lambda: monitor_pid(ready), what="monitor")
    stays(lambda: len(lines(log)) == 1, 1)


@pytest.mark.parametrize("content", ["999999999\n", ""], ids=["holder-dead", "holder-unnamed"])
def test_a_stale_lock_is_taken_over(content: str, ready: Server) -> None:
    lock = runtime(ready) / "starting"
    lock.mkdir()
    if content:
        (lock / "pid").write_text(content)
    tick(ready)
    wait_for(lambda: monitor_pid(ready), what="monitor")
    wait_for(lambda: not lock.exists(), what="lock released")


def test_a_killed_monitor_is_back_within_an_interval(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status-interval", "1")
    load(ready)
    settle(ready)
    actor = Actor(ready)
    actor.show("blocked__bash_permission__w100")
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked")
    ready.attach("main")
    first = wait_for(lambda: monitor_pid(ready))
    wait_for(lambda: not (runtime(ready) / "starting").exists(), what="the start is over")
    os.kill(first, signal.SIGKILL)
    assert actor.state() == "blocked/permission"
    wait_for(lambda: monitor_pid(ready) not in (0, first), what="another monitor")
    assert actor.state() == "blocked/permission"


def test_without_a_status_line_the_next_switch_of_windows_brings_it_back(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status", "off")
    ready.window()
    load(ready)
    settle(ready)
    client = ready.attach("main")
    first = wait_for(lambda: monitor_pid(ready))
    wait_for(lambda: ready.hidden().get("AGENTS_BEAT"), what="a pass")
    wait_for(lambda: not (runtime(ready) / "starting").exists(), what="the start is over")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not psutil.pid_exists(first), what="gone, reaped too")
    ready.cmd("set-environment", "-gh", "AGENTS_BEAT", str(int(time.time()) - 70))
    client.send("\x02n")
    wait_for(lambda: monitor_pid(ready) not in (0, first), what="another monitor")


def old_beat(server: Server) -> None:
    up = int(float(Path("/proc/uptime").read_text().split()[0]))
    (runtime(server) / "beat").write_text(f"{up - 31}\n")


@pytest.mark.skipif(not Path("/proc/uptime").exists(), reason="beats are compared with the uptime")
class TestHung:
    """A monitor that lives and does nothing is no monitor."""

    @pytest.mark.parametrize("by", ["tick", "poke"])
    def test_it_is_replaced(self, by: str, ready: Server) -> None:
        tick(ready)
        first = wait_for(lambda: monitor_pid(ready), what="monitor")
        wait_for(lambda: not (runtime(ready) / "starting").exists(), what="the start is over")
        os.kill(first, signal.SIGSTOP)
        old_beat(ready)
        tick(ready) if by == "tick" else poke(ready)
        wait_for(lambda: monitor_pid(ready) not in (0, first), what="another monitor")
        wait_for(lambda: not alive(first), what="the hung one gone")
        wait_for(lambda: not (runtime(ready) / "starting").exists(), what="the start is over")
        tick(ready)
        stays(lambda: not (runtime(ready) / "starting").exists(), 0.5)

    def test_a_machine_that_slept_keeps_its_monitor(self, ready: Server) -> None:
        log = counting_python(ready)
        tick(ready)
        first = wait_for(lambda: monitor_pid(ready), what="monitor")
        wait_for(lambda: not (runtime(ready) / "starting").exists(), what="the start is over")

        def looked() -> bool:
            # Its own next beat may come between the two.
            old_beat(ready)
            tick(ready)
            return len(lines(log)) > 1

        wait_for(looked, what="a second one looks", interval=0.5)
        wait_for(lambda: not (runtime(ready) / "starting").exists(), what="it has looked")
        assert monitor_pid(ready) == first
        assert alive(first)

    @pytest.mark.parametrize("beat", ["", "x\n", "99999999999\n"], ids=["empty", "garbled", "of-a-longer-uptime"])
    def test_a_beat_that_says_nothing(
        self, beat: str, ready: Server, bystander: subprocess.Popen[bytes], tmp_path: Path
    ) -> None:
        log = counting_python(ready)
        fake_lock(ready, bystander.pid)
        (runtime(ready) / "beat").write_text(beat)
        tick(ready)
        poke(ready)
        stays(lambda: not lines(log), 0.5)
        bystander.kill()
        bystander.wait()


def test_a_newer_plugin_takes_over(ready: Server, tmp_path: Path) -> None:
    load(ready)
    first = wait_for(lambda: monitor_pid(ready))
    newer = copy_plugin(tmp_path / "newer")
    os.utime(newer / "agents_plugin" / "monitor.py", (time.time() + 60, time.time() + 60))
    load(ready, newer)
    wait_for(lambda: monitor_pid(ready) not in (0, first), what="the newer one")
    wait_for(lambda: not alive(first), what="the older one gone")


def test_two_servers_have_one_each(ready: Server, tmp_path: Path) -> None:
    other = Server(ready.binary, tmp_path / "other")
    other.env |= {name: ready.env[name] for name in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "HOME")}
    other.start()
    try:
        other.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
        tick(ready)
        tick(other)
        pids = [wait_for(lambda server=server: monitor_pid(server)) for server in (ready, other)]  # type: ignore[misc]
        assert pids[0] != pids[1]
    finally:
        other.kill()
    wait_for(lambda: not alive(pids[1]), what="monitor gone with its server")
    assert alive(pids[0])


def test_a_helper_that_fails_is_not_started_at_every_tick(ready: Server) -> None:
    log = counting_python(ready, "echo 'no module named x' >&2; exit 7")
    for _ in range(3):
        assert tick(ready).stdout == b"\n"
        wait_for((runtime(ready) / "starting" / "failed").exists)
    assert len(lines(log)) == 1
    assert "monitor\tthe helper ended with code 7: no module named x" in (runtime(ready) / "problems").read_text()
    # A load tries again, and what works now is no problem any more.
    give_python(ready)
    tick(ready, "load")
    wait_for(lambda: monitor_pid(ready), what="monitor")


def test_without_a_python_a_tick_does_nothing(server: Server) -> None:
    assert tick(server).stdout == b"\n"
    stays(lambda: not (runtime(server) / "starting").exists(), 0.5)


def test_one_shot_ticks_make_a_pass_each_and_leave_nothing_running(ready: Server) -> None:
    log = counting_python(ready)
    (runtime(ready) / "oneshot").touch()
    actor = Actor(ready)
    actor.show("blocked__bash_permission__w100")
    tick(ready)
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked by one pass")
    wait_for(lambda: not (runtime(ready) / "starting").exists())
    for _ in range(4):
        tick(ready)
    wait_for(lambda: len(lines(log)) > 1)
    wait_for(lambda: not (runtime(ready) / "starting").exists())
    assert monitor_pid(ready) == 0
    assert all(" pass" in line for line in lines(log))
    assert len(lines(log)) < 6


def test_the_monitor_can_be_turned_off_and_on(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status-interval", "1")
    ready.cmd("set-option", "-g", "@agents-monitor", "off")
    load(ready)
    settle(ready)
    ready.attach("main")
    actor = Actor(ready)
    actor.show("blocked__bash_permission__w100")
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked, by ticks alone")
    assert monitor_pid(ready) == 0
    ready.cmd("set-option", "-gu", "@agents-monitor")
    load(ready)
    first = wait_for(lambda: monitor_pid(ready), what="monitor again")
    ready.cmd("set-option", "-g", "@agents-monitor", "off")
    load(ready)
    wait_for(lambda: not alive(first), what="monitor gone")


def waiting_in(reader: int) -> bytes:
    """What stands in a FIFO now."""
    try:
        return os.read(reader, 100)
    except BlockingIOError:
        return b""


class TestPoke:
    """Wakes a monitor, and is never noticed."""

    def test_it_wakes_the_monitor(self, ready: Server) -> None:
        tick(ready)
        wait_for(lambda: monitor_pid(ready))
        wait_for(lambda: (runtime(ready) / "poke").is_fifo())
        poke(ready)
        wait_for(lambda: not (runtime(ready) / "poked").exists(), what="poke taken")

    def test_it_starts_a_monitor_when_there_is_none(self, ready: Server) -> None:
        poke(ready)
        wait_for(lambda: monitor_pid(ready), what="monitor")

    def test_one_is_pending_at_most(self, ready: Server, bystander: subprocess.Popen[bytes]) -> None:
        fake_lock(ready, bystander.pid)
        fifo = runtime(ready) / "poke"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        for _ in range(5):
            poke(ready)
        # Written in the background: nobody waits for it.
        assert wait_for(lambda: waiting_in(reader), what="a poke") == b"\n"
        stays(lambda: not waiting_in(reader), 0.3, what="one was pending")
        (runtime(ready) / "poked").unlink()
        poke(ready)
        assert wait_for(lambda: waiting_in(reader), what="another poke") == b"\n"
        os.close(reader)
        bystander.kill()
        bystander.wait()

    def test_a_stopped_reader_blocks_nobody(self, ready: Server, bystander: subprocess.Popen[bytes]) -> None:
        fake_lock(ready, bystander.pid)
        os.mkfifo(runtime(ready) / "poke")
        for _ in range(3):
            (runtime(ready) / "poked").unlink(missing_ok=True)
            poke(ready)
        bystander.kill()
        bystander.wait()

    def test_a_file_in_the_fifos_place_is_not_written(self, ready: Server, bystander: subprocess.Popen[bytes]) -> None:
        fake_lock(ready, bystander.pid)
        (runtime(ready) / "poke").write_text("theirs")
        poke(ready)
        assert (runtime(ready) / "poke").read_text() == "theirs"
        bystander.kill()
        bystander.wait()

    def test_a_vanished_runtime_directory(self, ready: Server) -> None:
        env = settings(ready) | {"AGENTS_RUN": "/nonexistent"}
        done = subprocess.run(["sh", "-c", f". '{POKE}'"], env=env, capture_output=True, timeout=10, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_by_its_path_outside_of_tmux(self, tmp_path: Path) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        done = subprocess.run([POKE], env=env, capture_output=True, timeout=10, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert not list(tmp_path.iterdir())


def test_a_relative_xdg_directory_is_ignored_by_both_languages(tmp_path: Path) -> None:
    (tmp_path / "rel").mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "TMUX": "/s,1,0"}
    env |= {"XDG_DATA_HOME": "rel", "XDG_RUNTIME_DIR": "rel"}
    text = f'. "{ROOT}/scripts/lib.sh"; agents_runtime; agents_data; echo "$AGENTS_RUN"; echo "$AGENTS_DATA"'
    said = subprocess.run(["sh", "-c", text], env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [str(find_directory(1, env)), str(data_dir(env))]
    assert said.count(str(tmp_path)) == 2
    assert not list((tmp_path / "rel").iterdir())


@pytest.mark.parametrize("word", ["--version", "version"])
def test_the_version(word: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for command in ([ROOT / "scripts" / "agents"], [sys.executable, ROOT / "agents_plugin" / "__main__.py"]):
        assert subprocess.check_output([*command, word], env=env, text=True) == f"agents.tmux {__version__}\n"
