"""Claude Code's own record of itself: what it says, and when it is not believed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents_plugin.core.evidence import Identity
from agents_plugin.core.states import Source, State
from agents_plugin.host import processes
from agents_plugin.host.records import CLAUDE, MAX_BYTES, Record, Records, claude_record, claude_record_path
from tests.lane import BLOCKED, IDLE, WORKING
from tests.support import wait_for

PID = 4711
AT = 1_796_068_842_255
STARTED = AT / 1000 - 60
AGENT = Identity("claude", "tree", PID, STARTED)


def says(status: str | None, **more: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"pid": PID, "sessionId": "0c3556c4", "version": "2.1.332", "kind": "interactive"}
    if status:
        data |= {"status": status, "updatedAt": AT, "statusUpdatedAt": AT}
    return data | more


class Home:
    """A Claude home with one record, and the reader that looks at it."""

    def __init__(self, root: Path, token: str = "") -> None:
        self.root = root
        self.file = root / ".claude" / "sessions" / f"{PID}.json"
        self.file.parent.mkdir(parents=True)
        self.records = Records(lambda pid, names: {"HOME": str(root)}, lambda pid: token)
        self.clock = AT + 100

    def write(self, data: Any, raw: bytes | None = None) -> None:
        self.file.write_bytes(raw if raw is not None else json.dumps(data).encode())
        self.clock += 50
        os.utime(self.file, ns=(self.clock * 1_000_000, self.clock * 1_000_000))

    def read(self, identity: Identity = AGENT) -> Record | None:
        return self.records.read(CLAUDE, identity)

    @property
    def state(self) -> State | None:
        record = self.read()
        return record.claim.state if record and record.claim else None


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    ("data", "state", "detail"),
    [
        pytest.param(says("busy"), WORKING, None, id="busy"),
        pytest.param(says("idle"), IDLE, None, id="idle"),
        pytest.param(says("shell"), IDLE, "background", id="case-060-background-shell"),
        pytest.param(says("waiting", waitingFor="permission prompt"), BLOCKED, "permission", id="permission"),
        pytest.param(says("waiting", waitingFor="input needed"), BLOCKED, "question", id="question"),
        pytest.param(says("waiting", waitingFor="dialog open"), IDLE, None, id="case-039-menu-the-user-opened"),
        pytest.param(says("waiting", waitingFor="the moon"), None, None, id="unknown-reason"),
        pytest.param(says("waiting"), None, None, id="no-reason"),
        pytest.param(says("dreaming"), None, None, id="unknown-status"),
        pytest.param(says(None), None, None, id="before-the-first-status"),
        pytest.param(says("busy", kind="daemon"), None, None, id="not-interactive"),
        pytest.param(says("busy") | {"status": 3}, None, None, id="status-of-another-type"),
    ],
)
def test_what_a_record_says(home: Home, data: dict[str, Any], state: State | None, detail: str | None) -> None:
    home.write(data)
    record = home.read()
    assert record and record.session_id == "0c3556c4"
    assert (record.claim and record.claim.state, record.claim and record.claim.detail) == (state, detail)
    if record.claim:
        assert (record.claim.at_ms, record.claim.source, record.claim.pid) == (AT, Source.RECORD, PID)
        assert not record.claim.turn_end


@pytest.mark.parametrize(
    ("stamp", "at"),
    [(AT, AT), (AT + 9_000, AT + 500), (None, AT + 500), ("soon", AT + 500), (True, AT + 500), (-1, AT + 500)],
    ids=["its-own", "in-the-future", "none", "text", "bool", "negative"],
)
def test_its_time_is_never_later_than_the_file(stamp: object, at: int) -> None:
    claim = claude_record(says("busy", statusUpdatedAt=stamp), AT + 500).claim
    assert claim and claim.at_ms == at


def note_opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that `os.open` is called with from now on."""
    opened: list[str] = []
    real = os.open

    def noting(path: Any, flags: int, *more: Any) -> int:
        opened.append(str(path))
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", noting)
    return opened


def test_changes_are_followed_at_the_cost_of_a_stat(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.read() is None
    home.write(says("busy"))
    assert home.records.changed(CLAUDE, AGENT)
    assert home.state is WORKING
    assert not home.records.changed(CLAUDE, AGENT)
    opened = note_opens(monkeypatch)
    assert home.state is WORKING and not opened
    home.write(says("idle"))
    assert home.state is IDLE and opened == [str(home.file)]


def test_the_secret_beside_it_is_never_opened(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.file.with_name(f"{PID}.abc.key").write_text("secret")
    opened = note_opens(monkeypatch)
    home.write(says("busy"))
    home.read()
    assert [Path(path).name for path in opened if str(home.root) in path] == [f"{PID}.json"]


def test_a_removed_record_says_nothing(home: Home) -> None:
    home.write(says("busy"))
    assert home.state is WORKING
    home.file.unlink()
    assert home.records.changed(CLAUDE, AGENT)
    assert home.read() is None


def test_a_half_written_record_changes_nothing_until_it_is_whole(home: Home) -> None:
    home.write(says("busy"))
    assert home.state is WORKING
    home.write(None, b'{"pid": 4711, "stat')
    assert home.state is WORKING
    home.write(says("idle"))
    assert home.state is IDLE


def test_a_record_that_stays_broken_says_nothing(home: Home) -> None:
    home.write(says("busy"))
    assert home.state is WORKING
    home.write(None, b"\xff\x00 not json")
    assert [home.state for _ in range(2)] == [WORKING, None]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"3",
        b"[" * 60_000,
        b'{"a":' * 9_000,
        json.dumps(says("busy") | {"x": "y" * MAX_BYTES}).encode(),
    ],
    ids=["empty", "list", "number", "deep", "deep-mapping", "huge"],
)
def test_hostile_content(home: Home, raw: bytes) -> None:
    home.write(None, raw)
    assert [home.read() for _ in range(2)] == [None, None]


def test_a_fifo_in_its_place_does_not_hang(home: Home) -> None:
    os.mkfifo(home.file)
    assert home.read() is None


@pytest.mark.parametrize(
    ("data", "identity", "token"),
    [
        pytest.param(says("busy", pid=1), AGENT, "", id="other-pid"),
        pytest.param(says("busy"), replace(AGENT, started=AT / 1000 + 60), "", id="older-than-the-process"),
        pytest.param(says("busy", procStart="555"), AGENT, "777", id="started-at-another-tick"),
        pytest.param(says("busy", procStart=555), AGENT, "777", id="started-at-another-tick-number"),
    ],
)
def test_a_left_over_of_an_earlier_process_is_not_believed(
    tmp_path: Path, data: dict[str, Any], identity: Identity, token: str
) -> None:
    home = Home(tmp_path, token)
    home.write(data)
    assert home.read(identity) is None


@pytest.mark.parametrize(("start", "token"), [("777", "777"), (777, "777"), ("Mon Nov 30", "777"), ("777", "")])
def test_a_matching_or_unknown_start_is_believed(tmp_path: Path, start: object, token: str) -> None:
    home = Home(tmp_path, token)
    home.write(says("busy", procStart=start))
    assert home.state is WORKING


def test_an_agent_without_a_pid_or_of_another_kind_has_no_record(home: Home) -> None:
    home.write(says("busy"))
    assert home.read(replace(AGENT, pid=None)) is None
    assert home.records.read("nothing-known", AGENT) is None
    assert not home.records.changed("nothing-known", AGENT)


def test_only_the_agents_at_hand_are_remembered(home: Home) -> None:
    home.write(says("busy"))
    home.read()
    home.records.keep([])
    assert home.records.changed(CLAUDE, AGENT)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/a"}, "/home/a/.claude/sessions/7.json"),
        ({"HOME": "/home/a", "CLAUDE_CONFIG_DIR": "/etc/c d"}, "/etc/c d/sessions/7.json"),
        ({"HOME": "/home/a", "CLAUDE_CONFIG_DIR": ""}, "/home/a/.claude/sessions/7.json"),
    ],
    ids=["home", "case-143-config-dir", "empty-config-dir"],
)
def test_where_it_lies(environment: dict[str, str], expected: str) -> None:
    assert str(claude_record_path(7, environment)) == expected


@pytest.fixture
def child(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real process with a Claude configuration directory of its own."""
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment)
    # An exec clears the environment for a moment.
    wait_for(lambda: psutil.Process(process.pid).environ(), what="its environment")
    yield process
    process.communicate(b"\n", timeout=10)


def test_a_real_process_is_found_by_its_environment_and_start(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    sessions = tmp_path / "config" / "sessions"
    sessions.mkdir(parents=True)
    identity = Identity("claude", "tree", child.pid, processes.started_of(child.pid))
    file = sessions / f"{child.pid}.json"
    start = processes.start_token(child.pid)
    file.write_text(json.dumps(says("busy", pid=child.pid, procStart=start)))
    record = Records().read(CLAUDE, identity)
    assert record and record.claim and record.claim.state is WORKING
    file.write_text(json.dumps(says("busy", pid=child.pid, procStart=str(int(start) - 1))))
    assert Records().read(CLAUDE, identity) is None
