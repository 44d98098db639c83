"""The runner: bounded, exact about text, and typed in its failures."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path

import pytest

from agents_plugin.tmux import runner as runner_module
from agents_plugin.tmux.runner import (
    NoSuchPane,
    Runner,
    ServerGone,
    SocketDenied,
    TmuxError,
    TmuxNotFound,
    TmuxTimeout,
    VersionMismatch,
    find_tmux,
    is_pane_id,
)
from tests.support import Server, alive, wait_for


def runner_of(server: Server) -> Runner:
    return Runner(server.socket, binary=server.binary.path, environment=dict(server.env))


def script(place: Path, text: str) -> str:
    place.write_text("#!/bin/sh\n" + text)
    place.chmod(place.stat().st_mode | stat.S_IXUSR)
    return str(place)


@pytest.mark.versions
def test_output_and_exit_code(server: Server) -> None:
    runner = runner_of(server)
    done = runner.run("display-message", "-p", "a\tb é ⠂")
    assert (done.stdout, done.code) == ("a\tb é ⠂\n", 0)
    assert runner.processes == 1


def test_script_on_standard_input_larger_than_a_pipe(server: Server) -> None:
    lines = 3000  # 130 kB: two pipes full
    runner = runner_of(server)
    runner.deadline = 30
    done = runner.source("".join(f"display-message -p 'line {n} of a long script'\n" for n in range(lines)))
    assert done.stdout.count("\n") == lines


def test_a_failing_line_does_not_stop_the_next(server: Server) -> None:
    done = runner_of(server).source("kill-pane -t %99\ndisplay-message -p here\n")
    assert "here" in done.stdout


def test_missing_pane_is_typed(server: Server) -> None:
    runner = runner_of(server)
    with pytest.raises(NoSuchPane):
        runner.check("capture-pane", "-p", "-t", "%99")
    with pytest.raises(TmuxError):
        runner.check("no-such-command")


@pytest.mark.parametrize("bad", ["%1; touch P", "1", "%", "%1 ", "%1\n", "", "@1", "%١"])
def test_case_128_a_pane_id_is_nothing_else(bad: str) -> None:
    assert is_pane_id("%12")
    assert not is_pane_id(bad)


def test_case_150_a_client_without_a_locale_keeps_text(server: Server) -> None:
    server.cmd("set-option", "-g", "@text", "⠂ é\tx")
    bare = {name: value for name, value in server.env.items() if name not in ("LANG", "LC_ALL")}
    runner = Runner(server.socket, binary=server.binary.path, environment=bare)
    assert runner.check("show-options", "-gv", "@text") == "⠂ é\tx\n"


def test_case_167_stale_socket_is_a_gone_server_at_once(tmp_path: Path, bare_server: Server) -> None:
    place = bare_server.sockets / "stale"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.close()
    started = time.monotonic()
    with pytest.raises(ServerGone):
        Runner(str(place)).run("list-panes", "-a")
    with pytest.raises(ServerGone):
        Runner(str(bare_server.sockets / "none")).run("list-panes", "-a")
    assert time.monotonic() - started < runner_module.DEADLINE, "waited for nobody"
    assert not (bare_server.sockets / "none").exists(), "a read started a server"


def test_a_server_that_ends_is_gone(server: Server) -> None:
    runner = runner_of(server)
    runner.run("list-panes")
    server.kill()
    with pytest.raises(ServerGone):
        runner.run("list-panes")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        pytest.param("error connecting to /s (Operation not permitted)", SocketDenied, id="case-166-sandbox"),
        pytest.param("error connecting to /s (Permission denied)", SocketDenied, id="case-166-permission"),
        pytest.param("protocol version mismatch (client 8, server 7)", VersionMismatch, id="case-123-mismatch"),
        pytest.param("no server running on /s", ServerGone, id="case-123-gone"),
        pytest.param("lost server", ServerGone, id="lost"),
    ],
)
def test_what_a_client_says_is_typed(tmp_path: Path, message: str, error: type[TmuxError]) -> None:
    fake = script(tmp_path / "tmux", f'echo "{message}" >&2\nexit 1\n')
    with pytest.raises(error):
        Runner("/s", binary=fake).run("list-panes")


def test_case_123_mismatch_is_asked_again_with_the_servers_own_program(tmp_path: Path, server: Server) -> None:
    fake = script(tmp_path / "tmux", "echo 'protocol version mismatch (client 8, server 7)' >&2\nexit 1\n")
    runner = Runner(server.socket, pid=server.pid, binary=fake, environment=dict(server.env))
    assert runner.check("display-message", "-p", "x") == "x\n"


def test_case_119_a_tmux_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    fake = script(tmp_path / "tmux", f"sleep 1000 &\necho $$ $! >{noted}\nwait\n")
    runner = Runner("/s", binary=fake, deadline=0.5)
    started = time.monotonic()
    with pytest.raises(TmuxTimeout):
        runner.run("list-panes")
    assert time.monotonic() - started < runner_module.DEADLINE
    for pid in map(int, noted.read_text().split()):
        wait_for(lambda pid=pid: not alive(pid), what=f"{pid} gone")  # type: ignore[misc]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_tmux_that_closes_its_output_and_stays_is_killed(tmp_path: Path) -> None:
    fake = script(tmp_path / "tmux", "exec >&- 2>&-\nsleep 1000\n")
    with pytest.raises(TmuxTimeout):
        Runner("/s", binary=fake, deadline=0.3).run("list-panes")


def test_descriptors_do_not_leak(server: Server, tmp_path: Path) -> None:
    runner = runner_of(server)
    hanging = Runner("/s", binary=script(tmp_path / "tmux", "sleep 1000\n"), deadline=0.05)
    runner.source("display-message -p x\n")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        runner.source("display-message -p x\n")
        with pytest.raises(TmuxTimeout):
            hanging.run("list-panes", stdin="x" * 500_000)
        with pytest.raises(TmuxNotFound):
            Runner("/s", binary=str(tmp_path / "none")).run("x")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_case_157_tmux_is_found_without_path(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(runner_module, "KNOWN_DIRECTORIES", ())
    with pytest.raises(TmuxNotFound):
        find_tmux(None)
    assert find_tmux(server.pid) == f"/proc/{server.pid}/exe"
    monkeypatch.setattr(runner_module, "KNOWN_DIRECTORIES", (str(tmp_path / "opt"),))
    (tmp_path / "opt").mkdir()
    placed = script(tmp_path / "opt" / "tmux", "exit 0\n")
    assert find_tmux(None) == placed


def test_case_158_two_servers_never_meet(server: Server, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Server(server.binary, tmp_path / "other")
    try:
        other.start()
        runner_of(server).source("set-option -p -t %0 @agent_state working\n")
        inside = other.inside("%0")
        assert (
            Runner(other.socket, environment=inside | server.inside("%0")).check(
                "display-message", "-p", "-t", "%0", "[#{@agent_state}]"
            )
            == "[]\n"
        )
        assert server.option("%0", "@agent_state") == "working"
    finally:
        other.kill()
