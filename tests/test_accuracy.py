"""The accuracy table counts what it says, fails on what it must, and is the one in the README."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import accuracy

RULE = "─" * 60
IDLE = f"● Hello.\n\n{RULE}\n❯\n{RULE}\n  ⏸ manual mode on\n"
BLOCKED = (accuracy.FIXTURES / "claude" / "blocked__bash_permission__w60.txt").read_text(encoding="utf-8")


def screen(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}__w60.txt").write_text(text, encoding="utf-8")


def tape(folder: Path, truth: str, *, shown: str) -> None:
    (folder / "tapes").mkdir(parents=True, exist_ok=True)
    frames = [{"t_ms": at, "screen": IDLE if at < 20_000 else shown, "title": ""} for at in range(0, 40_000, 500)]
    truths = [{"t_ms": 0, "truth": "idle"}, {"t_ms": 20_000, "truth": truth}]
    lines = "".join(json.dumps(line) + "\n" for line in (*frames, *truths))
    (folder / "tapes" / "claude_made_w60.jsonl").write_text(lines, encoding="utf-8")


def test_readme_has_the_table_of_the_fixtures() -> None:
    rows, problems = accuracy.measure([accuracy.FIXTURES])
    assert problems == []
    assert [row.agent for row in rows if not row.sound] == []
    table = accuracy.in_readme(accuracy.README.read_text(encoding="utf-8"))
    assert table == accuracy.markdown(rows), "run scripts/accuracy --write-readme"


@pytest.mark.parametrize(
    ("name", "text", "counts", "code"),
    [
        ("blocked__a", BLOCKED, {"right": 1}, 0),
        ("idle__a", IDLE, {"right": 1}, 0),
        ("blocked__a", IDLE, {"missed": 1, "right": 0}, 1),
        ("idle__a", BLOCKED, {"false": 1, "right": 0}, 1),
        ("working__a", IDLE, {"wrong": 1, "right": 0}, 0),
        ("working__a", "hello\n", {"silent": 1, "right": 0}, 0),
        ("unknown__a", BLOCKED, {"right": 1}, 0),
        ("dead__a", BLOCKED, {"false": 1}, 1),
    ],
    ids=["blocked", "idle", "missed", "false", "wrong", "silent", "unknown", "dead"],
)
def test_screens_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, counts: dict[str, int], code: int
) -> None:
    screen(tmp_path / "claude", name, text)
    (row,), problems = accuracy.measure([tmp_path])
    assert not problems and row.screens == 1
    assert {key: getattr(row, key) for key in counts} == counts
    assert accuracy.main([str(tmp_path)]) == code
    shown = capsys.readouterr().out
    assert (f"claude/{name}" in shown) == bool(code)


@pytest.mark.parametrize(
    ("truth", "shown", "missed", "false"),
    [("blocked", BLOCKED, 0, 0), ("blocked", IDLE, 1, 0), ("idle", BLOCKED, 0, 1)],
    ids=["right", "missed", "false"],
)
def test_tapes_are_counted(tmp_path: Path, truth: str, shown: str, missed: int, false: int) -> None:
    tape(tmp_path, truth, shown=shown)
    (row,), problems = accuracy.measure([tmp_path])
    assert not problems and row.tapes == 1
    assert (row.missed, row.false, row.sound) == (missed, false, not missed and not false)
    if truth == "blocked" and not missed:
        assert max(row.late["blocked"]) <= 1_500


def test_what_cannot_be_scored_is_named(tmp_path: Path) -> None:
    screen(tmp_path / "nobody", "idle__a", "x\n")
    (tmp_path / "tapes").mkdir()
    (tmp_path / "tapes" / "claude_broken.jsonl").write_text("nonsense\n")
    rows, problems = accuracy.measure([tmp_path])
    assert rows == []
    assert any("no manifest for nobody" in problem for problem in problems)
    assert any("claude_broken" in problem for problem in problems)


def test_own_manifests_count(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.yaml").write_text(
        "schema: 1\nid: mine\ntier: captured\nrules:\n  - { id: busy, state: working, line: '^Busy' }\n"
    )
    screen(tmp_path / "saved" / "mine", "working__a", "Busy\n")
    (row,), _ = accuracy.measure([tmp_path / "saved"], own)
    assert (row.agent, row.tier, row.right) == ("mine", "captured", 1)
    assert "| mine | captured | 1 | 1 | 0 | 0 | 0 | 0 | 0 | | | |" in accuracy.markdown([row])


def test_a_readme_that_is_out_of_date_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- accuracy: x -->\n<!-- end of accuracy -->\nb\n")
    screen(tmp_path / "saved" / "claude", "idle__a", IDLE)
    monkeypatch.setattr(accuracy, "README", readme)
    monkeypatch.setattr(accuracy, "FIXTURES", tmp_path / "saved")
    assert accuracy.main(["--check"]) == 1
    assert accuracy.main(["--write-readme"]) == 0
    assert accuracy.main(["--check"]) == 0
    assert readme.read_text().startswith("a\n<!-- accuracy: x -->\n| agent |") and readme.read_text().endswith("b\n")
