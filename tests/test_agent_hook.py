"""scripts/agent-hook under every ill treatment: exits 0, says nothing, blocks nobody, loses no event it can keep."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agents_plugin.host import directories, processes
from agents_plugin.host.runtime import Poke, open_runtime
from agents_plugin.host.spool import PAYLOAD_BYTES, Event, Spool
from tests.support import ROOT, stays, wait_for

HOOK = ROOT / "scripts" / "agent-hook"
SHELLS = [["sh"], *([shell] for shell in ("dash", "bash", "busybox") if shutil.which(shell)), ["bash", "--posix"]]
SHELLS = [[*shell, "sh"] if shell == ["busybox"] else shell for shell in SHELLS if shutil.which(shell[0])]
PATIENCE = 30.0


class Home:
    """A home directory and the hook called in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "run").mkdir(mode=0o700)
        self.env = {"HOME": str(path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(path / "run")}
        self.spool = path / ".local/state/agents.tmux/spool"

    def run(
        self,
        *args: str,
        payload: bytes | None = b'{"a":1}',
        shell: list[str] | None = None,
        hook: Path = HOOK,
        **env: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Call the hook; it must exit 0 with an empty stderr in time."""
        command = [*(shell or ["sh"]), str(hook), *args]
        done = subprocess.run(
            command, input=payload, env={**self.env, **env}, capture_output=True, timeout=PATIENCE, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done

    def events(self) -> list[Event]:
        """What a monitor would find now."""
        spool = Spool(self.spool)
        return [spool.whole(event) for event in spool.pending(time.time_ns() // 1_000_000)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("shell", [pytest.param(shell, id="-".join(shell)) for shell in SHELLS])
def test_an_event_is_recorded(shell: list[str], home: Home) -> None:
    payload = b'{"hook_event_name":"Stop","text":"a\\nb %s \\\\ \'\\""}\n'
    done = home.run(
        "claude", "Stop", payload=payload, shell=shell, TMUX="/tmp/x,1,2", TMUX_PANE="%3", CLAUDE_PID="77", SECRET="s"
    )
    assert done.stdout == b""
    (event,) = home.events()
    assert (event.agent, event.event, event.payload) == ("claude", "Stop", payload.decode())
    assert event.variables == {"TMUX": "/tmp/x,1,2", "TMUX_PANE": "%3", "CLAUDE_PID": "77"}
    assert event.ancestors[0][0] == os.getpid()
    assert [path.stat().st_mode & 0o777 for path in (home.spool, event.path)] == [0o700, 0o600]


@pytest.mark.parametrize("shell", [pytest.param(shell, id="-".join(shell)) for shell in SHELLS])
def test_the_payload_as_last_argument(shell: list[str], home: Home) -> None:
    reader, writer = os.pipe()  # Codex' notify leaves standard input open
    command = [*shell, str(HOOK), "codex", "notify", '{"type":"agent-turn-complete","x":"%d"}']
    done = subprocess.run(command, stdin=reader, env=home.env, capture_output=True, timeout=PATIENCE, check=False)
    os.close(reader)
    os.close(writer)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (event,) = home.events()
    assert (event.event, event.payload) == ("notify", '{"type":"agent-turn-complete","x":"%d"}')


def test_the_payload_as_only_argument(home: Home) -> None:
    home.run("codex", '{"type":"x"}')
    (event,) = home.events()
    assert (event.agent, event.event, event.payload) == ("codex", "", '{"type":"x"}')


@pytest.mark.parametrize(
    ("agent", "answer"), [("gemini", b"{}\n"), ("qwen", b"{}\n"), ("claude", b""), ("mistral-vibe", b"")]
)
def test_case_140_the_agents_own_empty_answer(agent: str, answer: bytes, home: Home) -> None:
    assert home.run(agent, "Stop").stdout == answer
    assert home.run(agent, "Stop", HOME="").stdout == answer
    assert len(home.events()) == 1


@pytest.mark.parametrize("size", [PAYLOAD_BYTES // 2, PAYLOAD_BYTES, 3 * PAYLOAD_BYTES])
def test_case_140_huge_payloads_are_read_to_the_end(size: int, home: Home) -> None:
    process = subprocess.Popen(
        ["sh", str(HOOK), "claude", "PostToolUse"], stdin=subprocess.PIPE, env=home.env, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write(b"{" + b"x" * size)  # a BrokenPipeError here is what kills agents
    process.stdin.close()
    assert process.wait(PATIENCE) == 0 and process.stderr.read() == b""
    process.stderr.close()
    (event,) = home.events()
    assert event.truncated == (size >= PAYLOAD_BYTES)
    assert event.path.stat().st_size <= PAYLOAD_BYTES + 200
    assert event.payload.startswith("{xxx") and len(event.payload) > min(size, PAYLOAD_BYTES - 4096)


@pytest.mark.parametrize("payload", [b"", b"not json", b"\x00\xff\x80", b"{" * 999, b"\n\n\n", b"--agents.tmux end--"])
def test_case_140_bad_payloads_are_kept_as_they_are(payload: bytes, home: Home) -> None:
    home.run("claude", "Stop", payload=payload)
    (event,) = home.events()
    assert event.payload == payload.decode("utf-8", "replace")


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot"])
def test_case_058_a_request_is_told_and_not_decided(agent: str, home: Home) -> None:
    """It ends at once: nothing of it runs on when the answer is given, and what it printed would be taken for one."""
    request = b'{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make"}}'
    assert home.run(agent, "PermissionRequest", payload=request).stdout == b""
    (event,) = home.events()
    assert event.event == "PermissionRequest"


def test_closed_standard_input(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{HOOK}" claude Stop <&-'], env=home.env, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (event,) = home.events()
    assert event.payload == "" and event.ancestors


def test_closed_output(home: Home) -> None:
    script = f'"{HOOK}" gemini Stop </dev/null >&- 2>&-; echo $?'
    done = subprocess.run(["sh", "-c", script], env=home.env, capture_output=True, timeout=PATIENCE, check=False)
    assert done.stdout == b"0\n"
    assert len(home.events()) == 1


def test_a_terminal_as_standard_input_is_not_waited_for(home: Home) -> None:
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            ["sh", str(HOOK), "aider", "notify"],
            stdin=slave,
            env=home.env,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(master)
        os.close(slave)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (event,) = home.events()
    assert event.payload == "" and event.ancestors[0][0] == os.getpid()


def test_case_139_the_plugin_moved_away(home: Home, tmp_path: Path) -> None:
    lonely = tmp_path / "old place"
    lonely.mkdir()
    shutil.copy(HOOK, lonely / "agent-hook")
    home.run("claude", "Stop", hook=lonely / "agent-hook", TMUX="/tmp/x,1,2")
    assert len(home.events()) == 1


@pytest.mark.parametrize("path", ["", "relative", "/dev/null", "/dev/null/x", "/proc/none"])
def test_a_home_that_is_none(path: str, home: Home) -> None:
    home.run("claude", "Stop", HOME=path)
    assert not home.spool.exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_home_without_permission(home: Home) -> None:
    home.path.chmod(0o500)
    home.run("claude", "Stop")
    home.path.chmod(0o700)
    assert not home.spool.exists()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with 8 kB free."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(full_disk: Path) -> None:
    home = Home(full_disk)
    home.run("claude", "Stop", payload=b"x" * 100_000)
    assert home.events() == []  # it could not be finished
    (half,) = home.spool.iterdir()
    half.unlink()
    home.run("claude", "Stop")
    assert len(home.events()) == 1


def test_no_directory_entry_left(full_disk: Path) -> None:
    home = Home(full_disk)
    with pytest.raises(OSError):
        for number in range(1000):
            (full_disk / f"f{number}").write_bytes(b"x" * 4096)
    home.run("claude", "Stop")
    assert home.events() == []


@pytest.mark.parametrize("agent", ["", "../x", "a b", "$(touch x)", "-n", "A", "x\ny"])
def test_odd_agents_are_ignored(agent: str, home: Home) -> None:
    home.run(agent, "Stop")
    assert home.events() == [] or agent == "-n"


@pytest.mark.parametrize("event", ["../x", "a b", "$(touch x)", "x\ny", "`id`", "*"])
def test_odd_events_are_ignored(event: str, home: Home) -> None:
    home.run("claude", event)
    assert home.events() == []


def test_no_arguments_at_all(home: Home) -> None:
    home.run()
    assert home.events() == []


def test_variables_cannot_forge_header_lines(home: Home) -> None:
    home.run("claude", "Stop", TMUX="a\nagent=evil\n\n", TMUX_PANE="%1\\nx=%s $(id)", CLAUDE_PID="5;x")
    (event,) = home.events()
    assert event.agent == "claude"
    assert event.variables == {"TMUX_PANE": "%1\\nx=%s $(id)", "CLAUDE_PID": "5;x"}
    assert event.ancestors[-1][0] != 5


def guessable(place: Path) -> Path:
    """A copy of the hook on a system that has no random numbers for it: its files are named by its pid alone."""
    text = HOOK.read_text().replace("/proc/sys/kernel/random/uuid", "/nonexistent")
    hook = place / "guessable"
    hook.write_text(text.replace("RANDOM", "NONE"))
    return hook


def test_a_planted_file_is_not_overwritten(home: Home, tmp_path: Path) -> None:
    home.spool.mkdir(mode=0o700, parents=True)
    (tmp_path / "victim").write_text("precious")
    # exec keeps the pid: the hook meets names made for it
    plant = f'ln -s "{tmp_path}/victim" "{home.spool}/$$.0"; : >"{home.spool}/$$.1"'
    script = f'{plant}; exec sh "{guessable(tmp_path)}" claude Stop'
    done = subprocess.run(
        ["sh", "-c", script], input=b"{}", env=home.env, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "victim").read_text() == "precious"
    (event,) = home.events()
    assert event.path.name.endswith(".2") and event.payload == "{}"


def test_case_132_a_planted_spool_link_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    home.spool.parent.mkdir(parents=True)
    home.spool.symlink_to(tmp_path / "victim")
    home.run("claude", "Stop")
    assert list((tmp_path / "victim").iterdir()) == []


def test_case_114_parallel_events_never_share_a_file(home: Home) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: home.run("claude", f"E{n}", payload=b"%d" % n), range(40)))
    events = home.events()
    assert sorted(int(event.payload) for event in events) == list(range(40))
    assert all(event.event == f"E{event.payload}" for event in events)


@pytest.fixture
def listening(home: Home) -> Iterator[Poke]:
    """A monitor's FIFO, announced for hooks, in this process's name."""
    runtime = open_runtime(os.getpid(), home.env)
    runtime.announce(home.env)
    poke = runtime.poke_reader()
    yield poke
    poke.close()


def test_the_monitor_is_poked(home: Home, listening: Poke) -> None:
    home.run("claude", "Stop")
    wait_for(listening.flag.exists)
    assert listening.wait(PATIENCE) and not listening.flag.exists()
    home.run("claude", "Stop", XDG_RUNTIME_DIR="", TMUX="")  # what agents strip does not matter
    assert listening.wait(PATIENCE)


def test_at_most_one_poke_is_pending(home: Home, listening: Poke) -> None:
    for _ in range(5):
        home.run("claude", "Stop")
    assert select.select([listening.fileno()], [], [], PATIENCE)[0]
    stays(lambda: listening.flag.exists(), 0.3)
    assert os.read(listening.fileno(), 100) == b"\n"


def test_a_hung_reader_blocks_nobody(home: Home, listening: Poke) -> None:
    with pytest.raises(BlockingIOError):
        while True:
            os.write(listening.fileno(), b"x" * 4096)
    listening.flag.write_text("")  # set as long as the reader does not drain
    home.run("claude", "Stop")
    assert len(home.events()) == 1


def test_a_fifo_nobody_reads_blocks_nobody(home: Home, listening: Poke) -> None:
    listening.close()
    home.run("claude", "Stop")
    assert len(home.events()) == 1


def test_links_to_nowhere_and_to_files_do_no_harm(home: Home, listening: Poke, tmp_path: Path) -> None:
    servers = home.spool.parent / "servers"
    (servers / "1").symlink_to(tmp_path / "none")
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "poke").write_text("a file")
    (servers / "2").symlink_to(tmp_path / "fake")
    home.run("claude", "Stop")
    assert listening.wait(PATIENCE)
    assert (tmp_path / "fake" / "poke").read_text() == "a file"


@pytest.fixture
def driven(tmp_path: Path) -> Path:
    """A plugin directory whose driver only leaves a mark."""
    scripts = tmp_path / "plug in" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(HOOK, scripts / "agent-hook")
    mark = f"echo \"$XDG_RUNTIME_DIR|$AGENTS_RUN\" >'{tmp_path}/new'; mv '{tmp_path}/new' '{tmp_path}/driven'"
    (scripts / "drive").write_text(f"#!/bin/sh\necho out; echo err >&2\n{mark}\nexec sleep 20\n")
    (scripts / "drive").chmod(0o755)
    return scripts / "agent-hook"


def test_without_a_monitor_the_driver_is_started(home: Home, driven: Path, tmp_path: Path, listening: Poke) -> None:
    tmux = f"/tmp/x,{os.getpid()},0"
    assert home.run("claude", "Stop", hook=driven, TMUX=tmux, XDG_RUNTIME_DIR="").stdout == b""
    wait_for((tmp_path / "driven").exists)
    run = tmp_path / "run" / "agents.tmux" / directories.key(os.getpid())
    assert (tmp_path / "driven").read_text() == f"{tmp_path}/run|{run}\n"
    assert len(home.events()) == 1


def test_the_driver_is_started_only_when_it_helps(home: Home, driven: Path, tmp_path: Path, listening: Poke) -> None:
    pid = os.getpid()
    monitor = listening.path.with_name("monitor")
    monitor.write_text(f"{pid} {processes.start_token(pid)} v1\n")
    home.run("claude", "Stop", hook=driven, TMUX=f"/tmp/x,{pid},0")  # there is a monitor
    stays(lambda: not (tmp_path / "driven").exists(), 0.3)
    monitor.write_text("999999999 1 v1\n")
    home.run("claude", "Stop", hook=driven)  # no TMUX: nothing to start it for
    home.run("claude", "Stop", hook=driven, TMUX="/tmp/x,999999,0")  # a server we never saw
    home.run("claude", "Stop", hook=driven, TMUX="nonsense")
    stays(lambda: not (tmp_path / "driven").exists(), 0.5)
    home.run("claude", "Stop", hook=driven, TMUX=f"/tmp/x,{pid},0")
    wait_for((tmp_path / "driven").exists)


def test_no_python_and_no_tmux_is_run(home: Home, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cat", "mkdir", "ps", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "/bin/false")
    home.run("claude", "Stop", PATH=str(tools), shell=[shutil.which("sh") or "sh"])
    assert len(home.events()) == 1


def test_without_any_tool_it_is_silent(home: Home, tmp_path: Path) -> None:
    home.run("claude", "Stop", PATH=str(tmp_path / "none"), shell=[shutil.which("sh") or "sh"], payload=b"")
