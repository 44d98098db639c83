"""Whole recordings of real agents through the whole fold, and the command that does it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents_plugin.core.evidence import Claim, Verdict
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read
from agents_plugin.core.states import Source, State
from agents_plugin.manifests import Catalog
from agents_plugin.score import Score, score, scored, spans
from agents_plugin.tape import Replay, Tape, TapeError, Transition, load, open_tape
from tests.lane import BLOCKED, IDLE, UNKNOWN, WORKING

ROOT = Path(__file__).resolve().parent.parent
TAPES = sorted((ROOT / "fixtures" / "tapes").glob("*.jsonl.gz"))
CATALOG = Catalog()


def agent(path: Path) -> str:
    return path.name.split("_")[0]


def replay(path: Path, tape: Tape) -> list[Transition]:
    return list(Replay(manifest(path), tape).run())


def manifest(path: Path) -> Manifest:
    found = CATALOG.get(agent(path))
    assert found, CATALOG.problems
    return found


def judged(path: Path, tape: Tape) -> Score:
    return scored(manifest(path), tape)


def test_there_are_tapes() -> None:
    assert {agent(path) for path in TAPES} >= {"claude", "codex", "opencode", "gemini", "aider", "copilot", "pi"}


@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.name.split(".")[0])
def test_tape(path: Path) -> None:
    """No blocked outside truth beyond a second, blocked within 1.5 s, idle within the dwell and a second."""
    result = judged(path, replace(open_tape(path), claims=()))
    assert not result.false_blocked
    assert not result.missed


def test_the_record_alone_with_the_screen_follows_every_change() -> None:
    path = next(path for path in TAPES if path.name.startswith("claude_registry"))
    tape = open_tape(path)
    assert tape.claims
    result = judged(path, tape)
    assert result.clean and result.judged == {"blocked": 5, "idle": 3, "working": 6}
    assert result.false_idle_ms == 0
    late = [
        min((item.t_ms for item in replay(path, tape) if item.t_ms >= at and item.verdict.state is state), default=0)
        - at
        for at, _, state in spans(tape.truths, tape.frames[-1].t_ms)
        if state is BLOCKED
    ]
    assert max(late) < 1_000, "a record is read several times a second"


def test_a_menu_over_a_session_at_rest_is_never_blocked_case_039() -> None:
    path = next(path for path in TAPES if path.name.startswith("claude_registry"))
    tape = open_tape(path)
    menus = [at for at, claim in tape.claims if "dialog open" in claim.why]
    assert len(menus) == 3
    shown = list(spans([(item.t_ms, item.verdict.state) for item in replay(path, tape)], tape.frames[-1].t_ms))
    for at in menus:
        assert {state for a, b, state in shown if a <= at + 1_000 and b > at} == {IDLE}


# --- a dialog, then an unrelated event, then silence


def with_dialog() -> Iterable[Any]:
    for path in TAPES:
        if agent(path) in ("claude", "codex", "gemini", "opencode", "copilot"):
            tape = open_tape(path)
            for begin, end, state in spans(tape.truths, tape.frames[-1].t_ms):
                dialog = [f for f in tape.frames if begin <= f.t_ms < end and read(manifest(path), f.screen).blocked]
                if state is BLOCKED and len(dialog) > 1:
                    yield pytest.param(path, dialog[-1].t_ms, id=path.name.split(".")[0])
                    break


@pytest.mark.parametrize("known_after", [0, 1_000, 20_000], ids="{}ms-late".format)
@pytest.mark.parametrize("event_after", [100, 1_400, 5_000], ids="event-after-{}ms".format)
@pytest.mark.parametrize(("path", "begin"), list(with_dialog()))
def test_a_dialog_then_an_unrelated_event_then_silence(
    path: Path, begin: int, event_after: int, known_after: int
) -> None:
    tape = open_tape(path)
    kept = [frame for frame in tape.frames if frame.t_ms <= begin]
    last = kept[-1]
    frames = (*kept, replace(last, t_ms=begin + 90_000))  # the same screen, the same activity
    event = Claim(WORKING, begin + event_after, Source.HOOK, why="PostToolUse of a subagent")
    transitions = replay(path, Tape(frames, ((event.at_ms + known_after, event),)))
    shown = list(spans([(item.t_ms, item.verdict.state) for item in transitions], frames[-1].t_ms))
    after = [(a, b, state) for a, b, state in shown if b > begin + 3_000]
    hidden = sum(b - max(a, begin + 3_000) for a, b, state in after if state is not BLOCKED)
    assert shown[-1][2] is BLOCKED
    assert hidden <= 1_500, "an event may hide the prompt until the next look, no longer"


# --- the parts


def frame(t_ms: int, screen: str = "x", **more: object) -> str:
    return json.dumps({"t_ms": t_ms, "screen": screen, "title": "", **more})


@pytest.mark.parametrize(
    "lines",
    [[], ["{}"], ["nonsense"], ['{"t_ms": 1, "screen": 3}'], [frame(1), '{"t_ms": 2, "event": "claim"}'], ["[1]"]],
    ids=["empty", "no-time", "no-json", "no-text", "bad-event", "list"],
)
def test_a_broken_tape_is_named(lines: list[str]) -> None:
    with pytest.raises(TapeError):
        load(lines)


def test_events_of_every_kind() -> None:
    tape = load(
        [
            frame(1_000),
            '{"t_ms": 2000, "event": "report", "value": "blocked:1"}',
            '{"t_ms": 3000, "event": "record", "record": {"status": "busy", "statusUpdatedAt": 2900, "pid": 1}}',
            '{"t_ms": 4000, "event": "claim", "state": "idle", "at_ms": 3900, "turn_end": true, "why": "Stop"}',
            '{"t_ms": 5000, "event": "something", "else": 1}',
            '{"t_ms": 6000, "truth": "interrupt_sent"}',
            '{"t_ms": 6000, "mock": "noise"}',
            "",
        ]
    )
    assert [(at, claim.state, claim.at_ms, claim.source.value) for at, claim in tape.claims] == [
        (2000, BLOCKED, 1000, "report"),
        (3000, WORKING, 2900, "record"),
        (4000, IDLE, 3900, "hook"),
    ]
    assert tape.truths == ()


def test_a_change_that_the_recorder_saw_late_is_output_of_its_own_second() -> None:
    tape = load([frame(1_000, "a"), frame(5_200, "b", window_activity=4), frame(6_100, "b", window_activity=4)])
    assert [shot.activity for shot in tape.frames] == [1, 5, 4]


def transitions(*points: tuple[int, State]) -> list[Transition]:
    return [Transition(at, Verdict(state, None, Source.SCREEN, at, at, "r"), False) for at, state in points]


TRUTH = load(
    [frame(0), frame(60_000)]
    + [
        json.dumps({"t_ms": at, "truth": state})
        for at, state in [(0, "working"), (20_000, "blocked"), (30_000, "idle")]
    ]
)


@pytest.mark.parametrize(
    ("points", "missed", "false"),
    [
        pytest.param([(0, WORKING), (21_000, BLOCKED), (34_000, IDLE)], [], 1, id="blocked-stays-too-long"),
        pytest.param([(0, WORKING), (21_000, BLOCKED), (31_000, IDLE)], [], 0, id="right"),
        pytest.param([(0, WORKING), (22_000, BLOCKED), (31_000, IDLE)], ["blocked"], 0, id="blocked-late"),
        pytest.param([(0, WORKING)], ["blocked", "idle"], 0, id="blocked-never"),
        pytest.param(
            [(0, WORKING), (5_000, BLOCKED), (6_000, WORKING), (20_500, BLOCKED), (31_000, IDLE)], [], 1, id="fb"
        ),
        pytest.param([(0, WORKING), (20_000, BLOCKED), (31_000, UNKNOWN), (36_000, IDLE)], ["idle"], 0, id="idle-late"),
    ],
)
def test_scores(points: list[tuple[int, State]], missed: list[str], false: int) -> None:
    result = score(TRUTH, transitions(*points), 3_000)
    assert [row["truth"] for row in result.missed] == missed
    assert len(result.false_blocked) == false
    assert result.clean is (not missed and not false)


# --- the command


def agents(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agents_plugin", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=cwd, check=False)


PLAN = ROOT / "fixtures" / "tapes" / "claude_plan_w60.jsonl.gz"


def test_command_prints_transitions_and_the_score() -> None:
    done = agents(str(PLAN), "--agent", "claude", "--json")
    assert done.returncode == 0, done.stderr
    *rows, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"t_ms", "state", "detail", "source", "why"} <= rows[0].keys()
    assert ("blocked", "plan", "screen") in {(row["state"], row["detail"], row["source"]) for row in rows}
    assert last["score"]["clean"] is True
    assert [row["t_ms"] for row in rows] == sorted(row["t_ms"] for row in rows)


def test_command_reads_plain_tapes_and_speaks_plainly(tmp_path: Path) -> None:
    plain = tmp_path / "a tape.jsonl"
    plain.write_bytes(gzip.decompress(PLAN.read_bytes()))
    done = agents(str(plain), "--agent", "claude")
    assert done.returncode == 0
    assert "blocked/plan" in done.stdout and "score:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([str(PLAN), "--agent", "nobody"], 2),
        ([str(PLAN)], 2),
        ([str(PLAN), "--agent", "claude", "--every", "0"], 2),
        (["no-such-tape", "--agent", "claude"], 1),
        ([str(ROOT / "README.md"), "--agent", "claude"], 1),
    ],
    ids=["unknown-agent", "no-agent", "no-interval", "no-file", "no-tape"],
)
def test_command_errors(arguments: list[str], code: int) -> None:
    done = agents(*arguments)
    assert done.returncode == code
    assert done.stderr and "Traceback" not in done.stderr
