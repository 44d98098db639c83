"""`agents doctor`: every trouble has its line, and nothing makes it hang."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin.tmux.runner import server_executable
from tests.actor import Actor
from tests.cli import agents, load, one_pass
from tests.support import ROOT, Server, wait_for

Findings = list[tuple[str, str, str]]


def doctor(server: Server, **more: object) -> tuple[int, Findings]:
    done = agents(server, "doctor", "--json", **more)  # type: ignore[arg-type]
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert data["broken"] == any(row["level"] == "problem" for row in data["findings"])
    return done.returncode, [(row["level"], row["topic"], row["text"]) for row in data["findings"]]


def about(findings: Findings, topic: str, level: str = "") -> str:
    return "\n".join(text for how, what, text in findings if what == topic and level in ("", how))


@pytest.fixture
def fine(server: Server) -> Iterator[Server]:
    """A server with everything in place, and a stand-in for the monitor that holds its lock."""
    load(server)
    server.cmd("bind-key", "-T", "prefix", "j", "run-shell", "-C", "agents-jump")
    holder = (
        "import sys, time\n"
        "from agents_plugin.host.runtime import open_runtime; from agents_plugin.renewal import build\n"
        "lock = open_runtime(int(sys.argv[1])).lock(build()); print(bool(lock), flush=True); time.sleep(1000)"
    )
    env = {**server.inside(), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", holder, str(server.pid)], env=env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "True\n"
    yield server
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_healthy_server_has_no_problem(fine: Server) -> None:
    actor = Actor(fine)
    actor.show("blocked__bash_permission__w100")
    one_pass(fine)
    code, found = doctor(fine)
    assert code == 0, [row for row in found if row[0] == "problem"]
    assert "libtmux" in about(found, "python")
    assert "PyYAML" in about(found, "python")
    assert "psutil" in about(found, "python")
    assert fine.version in about(found, "tmux", "ok")
    assert fine.socket in about(found, "server", "ok")
    assert "process" in about(found, "monitor", "ok")
    assert "jump: prefix j" in about(found, "keys", "ok")
    assert "8 at index 4710" in about(found, "hooks", "ok")
    assert f"{actor.pane} claude: blocked/permission by screen, proven" in about(found, "panes", "ok")
    text = agents(fine, "doctor").stdout
    assert all(line.split()[0] in ("ok", "warn", "problem") for line in text.splitlines())


@pytest.mark.skipif(not Path("/proc/uptime").exists(), reason="beats are compared with the uptime")
def test_a_hung_monitor_is_a_problem(fine: Server) -> None:
    from agents_plugin.host.runtime import open_runtime

    up = int(float(Path("/proc/uptime").read_text().split()[0]))
    (open_runtime(fine.pid, fine.env).path / "beat").write_text(f"{up - 100}\n")
    code, found = doctor(fine)
    assert code == 1
    assert "does not answer since 10" in about(found, "monitor", "problem")


def test_without_a_drawn_status_line_it_says_what_starts_a_helper(server: Server) -> None:
    """No tick comes with `status off` or without a client."""
    load(server)
    assert "no client is attached: the next switch of windows" in about(doctor(server)[1], "monitor", "problem")
    server.attach("main")
    assert "until the status line's next tick" in about(doctor(server)[1], "monitor", "problem")
    server.cmd("set-option", "-g", "status", "off")
    found = doctor(server)[1]
    assert "the status line is off: the next switch of windows" in about(found, "monitor", "problem")
    assert "is off (status off)" in about(found, "status", "ok")


def test_a_server_without_the_plugin(server: Server) -> None:
    code, found = doctor(server)
    assert code == 1
    assert "the plugin is not loaded" in about(found, "hooks", "problem")


def test_wiped_hooks(fine: Server) -> None:
    fine.cmd("set-hook", "-g", "after-select-pane", "display-message mine")
    code, found = doctor(fine)
    assert code == 1
    assert about(found, "hooks", "problem").startswith("gone: after-select-pane (")


def test_masked_hooks(fine: Server) -> None:
    window = fine.format("main:0", "#{window_id}")
    session = fine.format("main:0", "#{session_id}")
    fine.cmd("set-hook", "-w", "-t", window, "window-layout-changed", "display-message mine")
    fine.cmd("set-hook", "-t", session, "after-select-pane", "display-message mine")
    code, found = doctor(fine)
    assert code == 0
    assert f"{window} has its own window-layout-changed" in about(found, "hooks", "warn")
    assert f"{session} has its own after-select-pane" in about(found, "hooks", "warn")


def test_keys_that_are_taken(fine: Server) -> None:
    fine.cmd("bind-key", "-T", "prefix", "j", "select-pane", "-D")
    fine.cmd("bind-key", "-T", "prefix", "M-j", "run-shell", "-C", "agents-jump")
    fine.cmd("bind-key", "-T", "prefix", "J", "resize-pane", "-D")
    fine.cmd("set-option", "-g", "@agents-list-key", "none")
    _, found = doctor(fine)
    assert "jump: prefix M-j, because prefix j was yours; set @agents-jump-key" in about(found, "keys", "warn")
    assert "back: no key, prefix J is yours (resize-pane -D" in about(found, "keys", "warn")
    assert "list: none" in about(found, "keys", "ok")


def test_the_status_line_overwritten_by_a_theme(fine: Server) -> None:
    fine.cmd("set-option", "-g", "status-right", "#{agents_status} %H:%M")
    code, found = doctor(fine)
    assert code == 1
    assert "the driver is gone" in about(found, "status", "problem")
    assert "was not replaced" in about(found, "status", "warn")


def test_options_manifests_and_what_others_noted(fine: Server) -> None:
    from agents_plugin.host.runtime import open_runtime

    own = fine.home / ".config" / "agents.tmux" / "manifests"
    own.mkdir(parents=True)
    (own / "bad.yaml").write_text("schema: 1\nid: bad\nrules:\n  - id: x\n    state: nonsense\n")
    (own / "mine.yaml").write_text((ROOT / "manifests" / "aider.yaml").read_text().replace("id: aider", "id: mine", 1))
    fine.cmd("set-option", "-g", "@agents-dwell", "soon")
    fine.cmd("set-option", "-g", "@agents-dwel", "3")
    open_runtime(fine.pid, fine.env).problem("rules", "bad.yaml: rule x was stopped after 50 ms")
    open_runtime(fine.pid, fine.env).problem("monitor", "the helper ended with code 1")
    code, found = doctor(fine)
    assert code == 1
    assert "@agents-dwell is 'soon', not a number of seconds" in about(found, "options", "warn")
    assert "@agents-dwel is not an option of ours" in about(found, "options", "warn")
    assert "bad.yaml:5: rules[0].state" in about(found, "manifests", "warn").replace("rules.0", "rules[0]")
    assert "of your own: mine" in about(found, "manifests", "ok")
    assert "was stopped after 50 ms" in about(found, "rules", "warn")
    assert "ended with code 1" in about(found, "monitor", "problem")


def test_panes_with_a_story(fine: Server) -> None:
    place = fine.base / "far"
    place.mkdir()
    (place / "ssh").symlink_to("/bin/sleep")
    remote = fine.window(f"exec {place}/ssh 1000")
    ignored = fine.window()
    fine.cmd("set-option", "-p", "-t", ignored, "@agent_ignore", "1")
    gone = fine.format("main:0", "#{pane_id}")
    for name, value in (("state", "blocked"), ("name", "claude"), ("since", "1700000000000"), ("source", "screen")):
        fine.cmd("set-option", "-p", "-t", gone, f"@agent_{name}", value)
    fine.cmd("set-environment", "-gh", f"AGENTS_{gone[1:]}_PUB", "blocked")
    _, found = doctor(fine)
    assert f"{remote} is left alone: remote or nested: ssh" in about(found, "panes", "ok")
    assert f"{ignored} is left alone: ignored" in about(found, "panes", "ok")
    assert f"{gone} claude: blocked is published, but the agent is gone" in about(found, "panes", "warn")


def test_setup_of_python_failed(fine: Server) -> None:
    log = fine.home / ".local" / "share" / "agents.tmux" / "bootstrap.log"
    log.parent.mkdir(parents=True)
    log.write_text("# venv\nlong story\nerror: the packages could not be downloaded (offline?)\n")
    _, found = doctor(fine)
    assert "the packages could not be downloaded" in about(found, "python", "warn")
    log.unlink()
    os.mkfifo(log)
    assert doctor(fine)[0] == 0, "a FIFO in its place is not waited for"


def test_case_132_a_runtime_directory_that_is_not_ours_alone(server: Server) -> None:
    base = Path(server.env["XDG_RUNTIME_DIR"]) / "agents.tmux"
    base.symlink_to(server.base)
    other = Path(server.env["TMPDIR"]) / f"agents.tmux-{os.geteuid()}"
    assert f"is not a directory: {other} is used instead" in about(doctor(server)[1], "runtime", "warn")
    other.symlink_to(server.base)
    own = server.home / ".local/state/agents.tmux"
    own.mkdir(parents=True)
    (own / "run").symlink_to(server.base)
    code, found = doctor(server)
    assert code == 1
    assert "is not a directory: no monitor will run" in about(found, "runtime", "problem")


def test_case_167_a_stale_socket(bare_server: Server) -> None:
    Path(bare_server.socket).parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(bare_server.socket)
    done = agents(bare_server, "doctor", "-S", bare_server.socket, pane=None)
    assert (done.returncode, done.stderr) == (1, "")
    assert "no server: nobody listens at the socket file left at" in done.stdout


def test_no_server(bare_server: Server) -> None:
    code, found = doctor(bare_server, pane=None)
    assert code == 1
    assert about(found, "server", "problem").startswith("no server at ")
    assert about(found, "tmux", "ok")


def _deny_connect(error: int) -> None:
    """After this every connect() of the process and its children fails, as in a sandbox. Linux, x86_64 or aarch64."""
    numbers = {"x86_64": 42, "aarch64": 203}
    libc = ctypes.CDLL(None, use_errno=True)
    program = b"".join(
        struct.pack("HBBI", *step)
        for step in (
            (0x20, 0, 0, 0),  # the number of the system call
            (0x15, 0, 1, numbers[platform.machine()]),
            (0x06, 0, 0, 0x00050000 | error),
            (0x06, 0, 0, 0x7FFF0000),
        )
    )
    text = ctypes.create_string_buffer(program)
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(text)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filters), 0, 0):
        raise OSError("no seccomp")


SANDBOX = """
import runpy, sys
sys.path.insert(0, {root!r})
from tests.test_commands_doctor import _deny_connect
_deny_connect(1)
sys.argv[0] = "agents"
runpy.run_module("agents_plugin", run_name="__main__")
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64") or sys.platform != "linux", reason="needs seccomp")
@pytest.mark.parametrize("command", ["doctor", "ls"])
def test_case_166_a_sandbox_is_said_to_be_one(server: Server, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SANDBOX.format(root=str(ROOT)), command],
        env=server.inside(),
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    if "no seccomp" in done.stderr:
        pytest.skip("seccomp is not allowed here")
    assert done.returncode == 1
    assert "sandbox" in done.stdout + done.stderr
    assert "no server" not in done.stdout + done.stderr


def test_case_119_a_tmux_that_hangs(fine: Server, tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "tmux").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 1000\n")
    (fake / "tmux").chmod(0o755)
    began = time.monotonic()
    code, found = doctor(fine, env={"PATH": f"{fake}:/usr/bin:/bin"})
    assert time.monotonic() - began < 30
    assert code == 1
    assert "does not answer" in about(found, "server", "problem")
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert pids
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), what="no child is left")


def test_a_server_that_hangs(fine: Server) -> None:
    pid = fine.pid
    around = fine.inside()
    os.kill(pid, signal.SIGSTOP)
    try:
        done = agents(fine, "doctor", pane=None, env=around, timeout=30)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 1
    assert "does not answer" in done.stdout


def test_case_157_tmux_not_on_the_path(fine: Server) -> None:
    empty = fine.base / "empty"
    empty.mkdir()
    if not server_executable(fine.pid):
        pytest.skip("a tmux unpacked for tests runs under its loader's name")
    code, found = doctor(fine, env={"PATH": str(empty)})
    assert code == 0, [row for row in found if row[0] == "problem"]


BLIND = """
import runpy, sys
sys.path.insert(0, {root!r})
from agents_plugin.host import processes
class Nothing:
    sweep = lambda self: {{}}
    stat = lambda self, pid: None
    detail = lambda self, proc: proc
    environ = lambda self, pid: {{}}
    foreground = lambda self, pids: {{}}
def refuse():
    raise ImportError("No module named 'psutil'")
processes.backend = {backend}
if {missing}:
    sys.modules["psutil"] = None
sys.argv[0] = "agents"
runpy.run_module("agents_plugin", run_name="__main__")
"""


@pytest.mark.parametrize(("backend", "missing"), [("Nothing", False), ("refuse", True)], ids=["ps-denied", "no-psutil"])
def test_case_189_without_processes_doctor_completes_and_reports_are_shown(
    fine: Server, backend: str, missing: bool
) -> None:
    fine.cmd("set-option", "-p", "-t", "main:0", "@agent_state", "blocked:1700000000")
    code = BLIND.format(root=str(ROOT), backend=backend, missing=missing)
    said = {}
    for command in ("doctor", "ls"):
        done = subprocess.run(
            [sys.executable, "-c", code, command],
            env=fine.inside(),
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        said[command] = done.stdout + done.stderr
    assert "processes: cannot be read" in said["doctor"]
    assert "hooks: 8 at index" in said["doctor"]
    assert ("Python has no psutil" if missing else "blocked") in said["ls"]
