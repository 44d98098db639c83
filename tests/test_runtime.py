"""The runtime directory: who may own it, the monitor lock, pokes, memory, problems, log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin.host import processes, runtime
from agents_plugin.host.clock import Clock, FixedClock
from agents_plugin.host.runtime import Runtime, open_runtime, write_atomic
from tests.support import ROOT, wait_for


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "TMPDIR": str(tmp_path)}


@pytest.fixture
def here(env: dict[str, str]) -> Runtime:
    return open_runtime(os.getpid(), env)


def test_directories_are_private(here: Runtime, env: dict[str, str]) -> None:
    assert [path.stat().st_mode & 0o777 for path in (here.path, here.path.parent)] == [0o700, 0o700]
    assert open_runtime(os.getpid(), env).path == here.path


HOLD = """
import os, sys, time
from pathlib import Path
from agents_plugin.host.runtime import Runtime
lock = Runtime(Path(sys.argv[1]), 1).lock(sys.argv[2])
print("held" if lock else "busy", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(here: Runtime) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the monitor lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(here.path), "v1"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_one_monitor_at_a_time(here: Runtime, holder: subprocess.Popen[str]) -> None:
    assert here.lock("v2") is None
    found = here.holder()
    assert found is not None and (found.pid, found.version) == (holder.pid, "v1")
    fields = (here.path / "monitor").read_text().split()
    assert fields == [str(holder.pid), processes.start_token(holder.pid), "v1"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_monitor_leaves_no_lock(here: Runtime, holder: subprocess.Popen[str], how: signal.Signals) -> None:
    holder.send_signal(how)
    holder.wait()
    assert here.holder() is None  # its pid is still written there
    lock = here.lock("v2")
    assert lock is not None and lock.still_ours()
    mine = here.holder()
    assert mine is not None and mine.pid == os.getpid()
    lock.release()
    assert here.holder() is None and (here.path / "monitor").read_text() == ""


def test_a_reused_pid_is_no_holder(here: Runtime) -> None:
    (here.path / "monitor").write_text(f"{os.getpid()} 12345 v1\n")
    assert here.holder() is None
    for text in ("", "x", "1", "-5 3 v", "\xff\xfe"):
        (here.path / "monitor").write_text(text)
        assert here.holder() is None


def test_a_lock_somebody_removed_is_noticed(here: Runtime) -> None:
    lock = here.lock("v1")
    assert lock is not None
    (here.path / "monitor").unlink()
    assert not lock.still_ours()
    second = here.lock("v2")
    assert second is not None and not lock.still_ours() and second.still_ours()
    lock.release()
    second.release()


def test_the_lock_does_not_follow_a_link(here: Runtime, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (here.path / "monitor").symlink_to(tmp_path / "victim")
    assert here.lock("v1") is None
    assert (tmp_path / "victim").read_text() == "precious"


def test_pokes_wake_and_collapse(here: Runtime) -> None:
    assert not here.poke()  # nobody listens
    reader = here.poke_reader()
    assert (here.path / "poke").stat().st_mode & 0o777 == 0o600
    assert not reader.wait(0)
    assert here.poke() and here.poke() and here.poke()
    assert reader.wait(5)
    assert not reader.wait(0)
    reader.close()
    assert not here.poke()
    assert not reader.wait(0)


def test_a_poke_wakes_a_sleeper_early(here: Runtime) -> None:
    reader = here.poke_reader()
    command = [sys.executable, "-c", f"open({str(here.path / 'poke')!r}, 'w').write('x')"]
    process = subprocess.Popen(command)
    began = time.monotonic()
    assert reader.wait(60)
    assert time.monotonic() - began < 50
    process.wait()
    reader.close()


def test_a_flag_of_a_dead_monitor_is_removed(here: Runtime) -> None:
    (here.path / "poked").write_text("")
    reader = here.poke_reader()
    assert not (here.path / "poked").exists()
    (here.path / "poked").write_text("")
    reader.drain()
    assert not (here.path / "poked").exists()
    reader.close()


@pytest.mark.parametrize("planted", ["file", "link"])
def test_something_else_in_place_of_the_fifo(planted: str, here: Runtime, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    if planted == "file":
        (here.path / "poke").write_text("")
    else:
        (here.path / "poke").symlink_to(tmp_path / "victim")
    here.poke()
    reader = here.poke_reader()
    assert here.poke() and reader.wait(5)
    assert (tmp_path / "victim").read_text() == "precious"
    reader.close()


def test_a_full_fifo_blocks_nobody(here: Runtime) -> None:
    reader = here.poke_reader()
    descriptor = os.open(here.path / "poke", os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(descriptor, b"x" * 4096)
    assert here.poke()
    assert reader.wait(5) and not reader.wait(0)
    os.close(descriptor)
    reader.close()


def test_case_093_memory_belongs_to_one_server(here: Runtime) -> None:
    assert here.read_memory(1000) == {}
    assert here.write_memory(1000, {"%1": {"at": 5}})
    assert here.read_memory(1000) == {"%1": {"at": 5}}
    assert here.read_memory(1001) == {"%1": {"at": 5}}  # rounding
    assert here.read_memory(5000) == {}  # a later server with the same pid
    assert Runtime(here.path, 7).read_memory(1000) == {}
    assert {path.name for path in here.path.iterdir()} == {"origin", "memory.json"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "5",
        '{"schema":1}',
        '{"schema":1,"server":5,"data":{}}',
        "[" * 100_000,
        json.dumps({"schema": 1, "server": [os.getpid(), "x"], "data": {}}),
        json.dumps({"schema": 1, "server": [os.getpid(), 1000], "data": []}),
        json.dumps({"schema": 9, "server": [os.getpid(), 1000], "data": {"a": 1}}),
    ],
    ids=range(11),
)
def test_broken_memory_is_none(text: str, here: Runtime) -> None:
    (here.path / "memory.json").write_text(text)
    assert here.read_memory(1000) == {}


def test_writes_that_fail_change_nothing(tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_text("old")
    assert not write_atomic(tmp_path / "none" / "f", "new")
    (tmp_path / "d" / "x").mkdir(parents=True)
    assert not write_atomic(tmp_path / "d", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "f"]
    gone = Runtime(tmp_path / "none", 1)
    assert gone.lock("v") is None and gone.holder() is None and not gone.poke()
    assert not gone.write_memory(1, {}) and gone.read_memory(1) == {}
    gone.log("x")
    gone.problem("k", "x")
    reader = gone.poke_reader()
    assert reader.fileno() == -1 and not reader.wait(0)
    reader.close()


def test_problems_come_and_go(here: Runtime) -> None:
    here.problem("tmux", "too old:\n2.9")
    here.problem("python", "none found")
    assert here.problems() == {"tmux": "too old: 2.9", "python": "none found"}
    stamp = (here.path / "problems").stat().st_mtime_ns
    here.problem("tmux", "too old: 2.9")
    assert (here.path / "problems").stat().st_mtime_ns == stamp
    with (here.path / "problems").open("a") as stream:
        stream.write("driver\tfrom a shell\n")
    here.problem("rules", "slow")
    assert here.problems()["driver"] == "from a shell"
    here.problem("rules", "")
    here.problem("driver", "")
    Runtime(here.path, 1).problem("tmux", "")
    assert Runtime(here.path, 1).problems() == {"python": "none found"}


def test_case_124_a_repeated_line_is_logged_once(here: Runtime) -> None:
    for _ in range(100):
        here.log("owner and scan disagree")
    here.log("other\nline")
    lines = (here.path / "log").read_text().splitlines()
    assert len(lines) == 2 and lines[1].endswith(" other line")


def test_the_log_is_bounded(here: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "LOG_BYTES", 4096)
    for number in range(300):
        here.log(f"line {number} " + "x" * 50)
        assert (here.path / "log").stat().st_size <= 4096 + 200
    lines = (here.path / "log").read_text().splitlines()
    assert lines[-1].split()[3] == "299" and all(line.split()[2] == "line" for line in lines)


def test_links_for_hooks(here: Runtime, env: dict[str, str]) -> None:
    here.announce(env)
    here.announce(env)
    link = Path(env["HOME"]) / ".local/state/agents.tmux/servers" / here.path.name
    assert link.readlink() == here.path and link.parent.stat().st_mode & 0o777 == 0o700
    here.withdraw(env)
    here.withdraw(env)
    assert not link.is_symlink()
    Runtime(here.path, 5).announce({})
    Runtime(here.path, 5).withdraw({})


def test_clocks() -> None:
    clock = Clock()
    assert abs(clock.wall_ms() - time.time() * 1000) < 5000
    first = clock.mono_ms()
    wait_for(lambda: clock.mono_ms() > first)
    fixed = FixedClock(10, 20)
    fixed.advance(5)
    assert (fixed.wall_ms(), fixed.mono_ms()) == (15, 25)
