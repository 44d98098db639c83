"""Copilot CLI's record of its sessions: a recording of the real file, and when it is not believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agents_plugin.core.evidence import Identity
from agents_plugin.core.states import State
from agents_plugin.host.records import COPILOT, Record, Records
from tests.lane import IDLE, WORKING
from tests.support import ROOT

PID = 4711
OPENED = 1_796_069_662_835  # 2026-11-30T20:14:22.835Z
AGENT = Identity("copilot", "tree", PID, OPENED / 1000 - 5)
RECORDING = [json.loads(line) for line in (ROOT / "fixtures/records/copilot.jsonl").read_text().splitlines()]
SESSION = next(iter(RECORDING[0]["content"]))


class Home:
    """A Copilot home, and the reader that looks at it."""

    def __init__(self, root: Path) -> None:
        self.base = root / ".copilot"
        self.base.mkdir()
        self.records = Records(lambda pid, names: {"HOME": str(root)})
        self.clock = OPENED

    def lock(self, session: str, pid: int = PID, at_ms: int = OPENED) -> Path:
        lock = self.base / "session-state" / session / f"inuse.{pid}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        os.utime(lock, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
        return lock

    def read(self, content: Any, at_ms: int = 0) -> Record | None:
        file = self.base / "open-sessions-state.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        self.clock = at_ms or self.clock + 60_000
        os.utime(file, ns=(self.clock * 1_000_000, self.clock * 1_000_000))
        return self.records.read(COPILOT, AGENT)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def entry(working: object = True, second: int = 30, **more: object) -> dict[str, object]:
    times = {"openedAt": "2026-11-30T20:14:22.835Z", "refreshedAt": f"2026-11-30T20:14:{second}.000Z"}
    return {"schemaVersion": 1, **times, "working": working, **more}


def state(record: Record | None) -> State | None:
    return record.claim.state if record and record.claim else None


def test_the_recording_says_what_was_true(home: Home) -> None:
    """A dialog is not in it: the screen or a hook, which come later, say so."""
    home.lock(SESSION)
    said = []
    for line in RECORDING:
        record = home.read(line["content"], line["t_ms"])
        said.append((line["what"], line["truth"], state(record)))
        assert line["truth"] == "dead" or (record and record.session_id == SESSION)
        assert record is None or record.claim is None or record.claim.at_ms <= line["t_ms"]
    wanted: dict[str, set[State | None]] = {
        "working": {WORKING},
        "idle": {IDLE},
        "blocked": {WORKING, IDLE},
        "dead": {None},
    }
    assert [line for line in said if line[2] not in wanted[line[1]]] == []
    assert {truth for _, truth, _ in said} == set(wanted)


def test_the_time_of_the_change_is_its_own(home: Home) -> None:
    home.lock("a")
    record = home.read({"a": entry(second=30)})
    assert record and record.claim and record.claim.at_ms == OPENED + 7_165
    record = home.read({"a": entry(second=30)}, OPENED + 100)  # never later than the file
    assert record and record.claim and record.claim.at_ms == OPENED + 100


def test_case_074_two_in_one_directory_keep_apart(home: Home) -> None:
    home.lock("a")
    home.lock("b", pid=PID + 1)
    record = home.read({"b": entry(True), "a": entry(False)})
    assert (state(record), record and record.session_id) == (IDLE, "a")


def test_a_new_conversation_counts_while_the_old_one_is_still_held(home: Home) -> None:
    home.lock("old")
    home.lock("new")
    record = home.read({"old": entry(True), "new": entry(False, openedAt="2026-11-30T20:15:00.000Z")})
    assert (state(record), record and record.session_id) == (IDLE, "new")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"a": entry(schemaVersion=2)}, id="another-version"),
        pytest.param({"a": entry("yes")}, id="not-a-truth-value"),
        pytest.param({"a": entry(openedAt=None)}, id="no-time"),
        pytest.param({"a": entry(openedAt="soon")}, id="no-such-time"),
        pytest.param({"a": []}, id="not-an-entry"),
        pytest.param({"b": entry()}, id="of-another-session"),
        pytest.param({"../session-state/a": entry()}, id="a-path"),
        pytest.param([], id="a-list"),
        pytest.param("{", id="half"),
    ],
)
def test_what_is_not_known_is_no_evidence(content: Any, home: Home) -> None:
    home.lock("a")
    assert state(home.read(content)) is None


def test_a_lock_left_by_an_earlier_process_with_this_pid(home: Home) -> None:
    home.lock("a", at_ms=OPENED - 60_000)
    assert home.read({"a": entry()}) is None
