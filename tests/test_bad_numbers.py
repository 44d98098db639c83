"""Numbers of more digits than Python converts, wherever others may write one: that one item is nothing, no more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agents_plugin.core.hookrules import build_hooks
from agents_plugin.core.hooks import interpret
from agents_plugin.core.memory import Memory
from agents_plugin.core.memory import load as load_memory
from agents_plugin.core.plan import Published
from agents_plugin.core.report import parse_claim, parse_report
from agents_plugin.host import processes
from agents_plugin.host.processes import Procfs
from agents_plugin.host.spool import END, MAGIC, Spool
from agents_plugin.integrations import jsontext
from agents_plugin.server import surrounding
from agents_plugin.tape import TapeError, load
from agents_plugin.tmux import captures
from tests.support import ROOT

NINES = "9" * 5000
STAT = f"{NINES} (claude) S {NINES} " + "1 " * 17 + f"{NINES} 1\n"


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"env.CLAUDE_PID={NINES}", "{}"),
        (f"parent={NINES}\ngrandparent={NINES}", "{}"),
        (f"time={NINES}", "{}"),
        (f"uptime={NINES}", "{}"),
        ("time=inf\nuptime=nan", "{}"),
        ("env.CLAUDE_PID=²\nparent=٣", "{}"),
        ("x=y", STAT + "{}"),
    ],
    ids=["claude-pid", "parents", "time", "uptime", "no-number", "other-digits", "stat-line"],
)
def test_a_spool_file_with_such_a_number_hides_no_other(tmp_path: Path, head: str, body: str) -> None:
    (tmp_path / "1.0").write_bytes(MAGIC + f"agent=claude\nevent=Stop\n{head}\n\n{body}".encode() + END)
    (tmp_path / "2.0").write_bytes(MAGIC + b"agent=claude\nevent=Stop\nparent=11\n\n{}" + END)
    events = {event.path.name: event for event in Spool(tmp_path).pending(now())}
    assert events["2.0"].ancestors == ((11, None),)
    assert events["1.0"].ancestors == ()
    assert abs(events["1.0"].at_ms - now()) < 60_000


def test_options_and_claims(tmp_path: Path) -> None:
    names = ("@agent_since", "@agent_pid", "@agent_evidence_at", "@agent_turn_at", "@agent_mute_until")
    published = Published.of("%1", dict.fromkeys(names, NINES), {"AGENTS_1_PUB": "idle"})
    assert published.verdict() is None
    assert parse_claim(f"idle|{NINES}|hook||||{NINES}|") is None
    assert parse_claim("idle|1|hook||||²|") is None
    assert parse_report(f"working:{NINES}", 5) is None
    assert surrounding({"TMUX": f"/tmp/x,{NINES},0"}).pid is None  # type: ignore[union-attr]


def test_what_is_remembered() -> None:
    data = {"chrome": "idle", "chrome_mono": float("inf"), "claim": "", "claim_mono": 0, "before": None, "beaten": ""}
    assert load_memory(data) == Memory()


def test_processes(tmp_path: Path) -> None:
    for pid, stat in (("11", f"11 (a) S {NINES} 11"), ("12", STAT), ("²", STAT), ("13", "13 (b) S x y z" + " q" * 20)):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(stat)
    reader = Procfs(str(tmp_path))
    assert reader.sweep() == {}
    assert [reader.stat(11), reader.ticks(12), reader.pulse(13)] == [None] * 3
    assert reader.foreground([11, 12, 13]) == {}
    assert processes.from_ticks(NINES) is None


def test_a_path_into_a_list() -> None:
    hooks = build_hooks({"events": [{"on": "Stop", "state": "idle"}], "session": f"a.{NINES}"})
    signal = interpret(hooks, "Stop", {"a": ["x"]}, 1, "k")
    assert signal is not None and signal.session == ""


def test_screens_and_tapes() -> None:
    answer = f"n 1 {NINES} 0 1 0 80 titlen\nhello\n"
    assert captures.parse(answer, "n")["%1"].cursor_x is None
    for line in ('{"t_ms": Infinity, "screen": ""}', '{"t_ms": "' + NINES + '"}', "[" * 100_000):
        with pytest.raises(TapeError):
            load([line])
    with pytest.raises(jsontext.TextError):
        jsontext.parse('{"a": ' + NINES + "}")


def test_nobody_else_asks_whether_a_text_is_a_number() -> None:
    """`isdigit` takes other scripts' digits, and `int` after it raises for them, or for too many."""
    for path in (ROOT / "agents_plugin").rglob("*.py"):
        if path.name != "manifests.py":  # looks at the first character of a word
            for word in (".isdigit(", ".isdecimal(", ".isnumeric("):
                assert word not in path.read_text(encoding="utf-8"), f"{path}: {word}"
