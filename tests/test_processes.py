"""Reading processes: real ones through /proc and psutil, and stand-ins that refuse to be read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from agents_plugin.core.evidence import Identity
from agents_plugin.core.identity import identify
from agents_plugin.host import processes
from agents_plugin.host.processes import Procfs, Psutil
from tests.support import ROOT, Server, wait_for
from tests.trees import MANIFESTS, pane

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that waits."""
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "AGENTS_PROBE": "a=b c", "EMPTY": ""})
    # exec is over when the arguments are those of sleep
    wait_for(lambda: psutil.Process(process.pid).cmdline()[:1] == ["sleep"])
    yield process
    process.kill()
    process.wait()


BACKENDS = [pytest.param(Procfs, id="procfs", marks=linux), pytest.param(Psutil, id="psutil")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_readers_tell_the_same(backend: type[Any], child: subprocess.Popen[bytes]) -> None:
    reader = backend()
    table = reader.sweep()
    proc = reader.detail(table[child.pid])
    assert (proc.ppid, proc.comm, proc.argv) == (os.getpid(), "sleep", ("sleep", "60"))
    assert (proc.pgrp, proc.session, proc.zombie) == (os.getpgid(child.pid), os.getsid(child.pid), False)
    assert Path(proc.exe).name in ("sleep", "busybox", "coreutils")
    assert abs(proc.started - psutil.Process(child.pid).create_time()) <= 2
    assert reader.environ(child.pid)["AGENTS_PROBE"] == "a=b c"
    assert os.getpid() in table


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_gone_reads_as_nothing(backend: type[Any], child: subprocess.Popen[bytes]) -> None:
    reader = backend()
    proc = reader.stat(child.pid)
    child.kill()
    wait_for(lambda: (found := reader.stat(child.pid)) is None or found.zombie)
    child.wait()
    assert reader.stat(child.pid) is None
    assert reader.detail(proc).argv == ()
    assert reader.environ(child.pid) == {}
    assert reader.foreground([child.pid]) == {}


def test_alive_knows_start_times_and_zombies(child: subprocess.Popen[bytes]) -> None:
    started = processes.started_of(child.pid)
    assert started is not None and abs(started - time.time()) < 60
    assert processes.alive(child.pid, started)
    assert processes.alive(child.pid, None)
    assert not processes.alive(child.pid, started - 100)
    child.kill()
    wait_for(lambda: not processes.alive(child.pid, started))
    assert child.returncode is None  # nobody has collected it: a zombie
    child.wait()
    assert processes.started_of(child.pid) is None
    assert processes.start_token(child.pid) == ""


def test_environ_of_returns_what_was_asked(child: subprocess.Popen[bytes]) -> None:
    assert processes.environ_of(child.pid, ["AGENTS_PROBE", "EMPTY", "NOT_SET"]) == {
        "AGENTS_PROBE": "a=b c",
        "EMPTY": "",
    }


@linux
def test_start_tokens_are_what_a_shell_reads(child: subprocess.Popen[bytes]) -> None:
    token = processes.start_token(child.pid)
    script = f'read -r line </proc/{child.pid}/stat; set -- ${{line##*) }}; echo "${{20}}"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.strip() == token
    started = processes.started_of(child.pid)
    assert started is not None and processes.from_ticks(token) == pytest.approx(started)
    assert processes.from_ticks("") is None
    assert processes.from_ticks("1; rm") is None


@linux
@pytest.mark.parametrize("name", ["a b) S 1 (c", "tmux: x", ") ) )", "(("])
def test_names_with_parentheses(name: str, tmp_path: Path) -> None:
    link = tmp_path / name
    link.symlink_to(Path(sys.executable).resolve())
    process = subprocess.Popen([str(link), "-c", "input()"], stdin=subprocess.PIPE)
    try:
        wait_for(lambda: (found := Procfs().stat(process.pid)) and found.comm == name[:15])
        proc = Procfs().sweep()[process.pid]
        assert (proc.ppid, proc.pgrp) == (os.getpid(), os.getpgid(process.pid))
    finally:
        process.kill()
        process.wait()


@linux
@pytest.mark.parametrize(
    "stat",
    [
        b"",
        b"7",
        b"7 (x",
        b"7 (x)",
        b"7 (x) S 1 2",
        b"\xff\xfe) " * 30,
    ],
)
def test_broken_stat_files_are_no_processes(stat: bytes, tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_bytes(stat)
    (tmp_path / "8").mkdir()
    (tmp_path / "stat").write_text("btime 1000\n")
    reader = Procfs(str(tmp_path))
    assert reader.sweep() == {}
    assert reader.stat(7) is None and reader.ticks(7) is None and reader.foreground([7, 8]) == {}
    assert Procfs(str(tmp_path / "none")).sweep() == {}


def test_detailed_reads_only_below_the_pane(child: subprocess.Popen[bytes]) -> None:
    table = processes.sweep()
    assert set(processes.detailed(child.pid, table)) == {child.pid}
    mine = processes.detailed(os.getpid(), table)
    assert mine[child.pid].argv == ("sleep", "60") and os.getppid() not in mine
    up = processes.chain(child.pid, table)
    assert list(up)[:2] == [child.pid, os.getpid()] and up[child.pid].argv == ("sleep", "60")


def test_foreground_group_of_a_real_pane(server: Server) -> None:
    pane_id = server.window("exec sh")
    pid = int(server.format(pane_id, "#{pane_pid}"))
    wait_for(lambda: processes.foreground_group(pid) == pid)
    server.cmd("send-keys", "-t", pane_id, "sleep 60", "Enter")
    group = wait_for(lambda: (found := processes.foreground_group(pid)) != pid and found)
    wait_for(lambda: processes.sweep()[group].comm == "sleep")
    assert processes.foreground_groups([pid, 999999999]) == {pid: group}
    server.cmd("send-keys", "-t", pane_id, "C-z", "")
    wait_for(lambda: processes.foreground_group(pid) == pid)


def test_identity_in_a_real_pane(server: Server, tmp_path: Path) -> None:
    (tmp_path / "claude").symlink_to(shutil.which("sleep") or "sleep")
    pane_id = server.window("exec sh")
    pid = int(server.format(pane_id, "#{pane_pid}"))

    def owner(known: Identity | None = None) -> Identity | None:
        row = pane(server.format(pane_id, "#{pane_current_command}"), pid=pid)
        table = processes.detailed(pid, processes.sweep())
        return identify(row, table, processes.foreground_group(pid), MANIFESTS, known)

    def keys(*names: str) -> None:
        server.cmd("send-keys", "-t", pane_id, *names)

    assert owner() is None
    keys(f"{tmp_path}/claude 300", "Enter")
    found = wait_for(owner)
    assert (found.agent, found.how, found.foreground) == ("claude", "foreground", True)
    assert found.pid is not None and processes.alive(found.pid, found.started)
    assert processes.foreground_group(pid) in found.groups
    keys("C-z")
    wait_for(lambda: processes.foreground_group(pid) not in found.groups)
    behind = owner(found)
    assert behind is not None and (behind.agent, behind.pid, behind.foreground) == ("claude", found.pid, False)
    keys("fg", "Enter")
    wait_for(lambda: (now := owner(behind)) and now.foreground)
    keys("C-c")
    wait_for(lambda: owner(found) is None)
    assert not processes.alive(found.pid, found.started)


@linux
def test_psutil_is_not_imported_on_linux() -> None:
    code = (
        "import sys; from agents_plugin.host import processes as p; p.sweep(); p.alive(1, None);"
        "p.environ_of(1, ['A']); print('psutil' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"


class Refusing:
    """A stand-in for psutil: one process refuses some questions. shell 10 > launcher 11 > claude 12."""

    Error, NoSuchProcess = psutil.Error, psutil.NoSuchProcess
    AccessDenied, ZombieProcess = psutil.AccessDenied, psutil.ZombieProcess
    STATUS_ZOMBIE, STATUS_STOPPED = psutil.STATUS_ZOMBIE, psutil.STATUS_STOPPED

    def __init__(self, victim: int, error: BaseException, questions: tuple[str, ...]) -> None:
        self.victim, self.error, self.questions = victim, error, questions

    def pids(self) -> list[int]:
        return [10, 11, 12, 20]

    def Process(self, pid: int) -> SimpleNamespace:
        facts = {10: (1, ["-zsh"]), 11: (10, ["bash", "run.sh"]), 12: (11, ["claude"]), 20: (1, ["cron"])}
        if pid not in facts or (pid == self.victim and "Process" in self.questions):
            raise self.error if pid == self.victim else psutil.NoSuchProcess(pid)
        ppid, argv = facts[pid]
        answers = {
            "ppid": ppid,
            "name": argv[0].lstrip("-"),
            "create_time": 1000.0,
            "status": "sleeping",
            "cmdline": argv,
            "exe": "",
            "environ": {"A": "1"},
        }

        def ask(question: str) -> Any:
            def answer() -> Any:
                if pid == self.victim and question in self.questions:
                    raise self.error
                return answers[question]

            return answer

        return SimpleNamespace(**{question: ask(question) for question in answers})


ERRORS = [
    pytest.param(psutil.NoSuchProcess(1), id="no-such-process"),
    pytest.param(psutil.AccessDenied(1), id="access-denied"),
    pytest.param(psutil.ZombieProcess(1), id="zombie"),
    pytest.param(PermissionError(1, "denied"), id="oserror"),
    pytest.param(SystemError("proc_pidinfo"), id="systemerror"),
]
QUESTIONS = [
    pytest.param(("cmdline", "exe", "environ"), id="arguments"),
    pytest.param(("cmdline", "exe", "name", "status"), id="all-but-the-place"),
    pytest.param(("create_time",), id="start"),
    pytest.param(("Process",), id="everything"),
]


@pytest.mark.parametrize("questions", QUESTIONS)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    "victim", [pytest.param(10, id="root"), pytest.param(11, id="middle"), pytest.param(20, id="leaf")]
)
def test_case_161_processes_that_refuse(
    victim: int, error: BaseException, questions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getsid", lambda pid: 20 if pid == 20 else 10)
    monkeypatch.setattr(os, "getpgid", lambda pid: {10: 10, 20: 20}.get(pid, 11))
    monkeypatch.setattr(processes, "backend", lambda: Psutil(Refusing(victim, error, questions)))
    table = processes.sweep()
    found = identify(pane("claude"), processes.detailed(10, table), 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid, found.foreground) == ("claude", 12, True)
    for pid in (10, 11, 12, 20, 99):
        processes.alive(pid, 1000.0)
        processes.environ_of(pid, ["A"])


@pytest.mark.parametrize("error", ERRORS)
def test_case_161_an_agent_that_refuses_is_found_by_name(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getsid", lambda pid: 10)
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    monkeypatch.setattr(processes, "backend", lambda: Psutil(Refusing(12, error, ("cmdline", "exe", "environ"))))
    found = identify(pane("claude"), processes.detailed(10, processes.sweep()), 12, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("claude", 12)


def test_case_120_ps_that_hangs_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "ps").write_text(f"#!/bin/sh\n: >{marker}\nexec sleep 30\n")
    (tmp_path / "ps").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(processes, "_PS_DEADLINE", 0.5)
    reader = Psutil()
    assert reader.foreground([]) == {} and not marker.exists()
    began = time.monotonic()
    assert reader.foreground([os.getpid()]) == {} and marker.exists()
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("output", ["", "garbage", "1 2 3", "x 5", "12 -1\n", "12 0\n", "99 5\n"])
def test_ps_output_that_makes_no_sense(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ps").write_text(f"#!/bin/sh\nprintf '%s' '{output}'\n")
    (tmp_path / "ps").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Psutil().foreground([12]) == {}


def test_ps_gives_the_foreground_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ps").write_text("#!/bin/sh\nprintf '  12   34\\n 13 -1\\n'\n")
    (tmp_path / "ps").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Psutil().foreground([12, 13]) == {12: 34}
