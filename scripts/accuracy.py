"""Runs every saved screen and every tape through the manifests: one row per agent.

A folder holds screens `<agent>/<truth>__<what>__w<cols>.txt` (facts in the `.json` beside) and tapes
`tapes/<agent>_<what>.jsonl[.gz]`. The exit code is 1 when any screen or tape was blocked and not told, or told and
not blocked. Tapes run by their screens alone: what an agent says of itself is left out.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read
from agents_plugin.manifests import BUNDLED, Catalog
from agents_plugin.saved import load_screen
from agents_plugin.score import Score, judge, scored
from agents_plugin.tape import TapeError, open_tape

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FIXTURES = ROOT / "fixtures"
MARKED = re.compile(r"(<!-- accuracy: [^\n]*-->\n).*?(<!-- end of accuracy -->)", re.DOTALL)
HEADER = (
    *("agent", "tier", "screens", "right", "wrong", "silent", "blocked missed", "blocked false"),
    *("tapes", "to blocked", "to working", "to idle"),
)
#: Columns that screens alone fill: cheap enough for a test.
SCREEN_COLUMNS = 6


@dataclass
class Row:
    """What was found for one agent. `faults`: one line per screen or moment that is not right; times in ms."""

    agent: str
    tier: str
    screens: int = 0
    wrong: int = 0
    silent: int = 0
    missed: int = 0
    false: int = 0
    tapes: int = 0
    late: dict[str, list[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    missed_screens: int = 0
    false_screens: int = 0

    @property
    def right(self) -> int:
        """Screens read as they are named, or not scored (truth unknown or dead)."""
        return self.screens - self.wrong - self.silent - self.missed_screens - self.false_screens

    @property
    def sound(self) -> bool:
        """Whether no blocked was missed or made up."""
        return not self.missed and not self.false

    def cells(self) -> tuple[str, ...]:
        """As in `HEADER`."""
        counts = (self.screens, self.right, self.wrong, self.silent, self.missed, self.false, self.tapes)
        times = (_seconds(self.late.get(state, ())) for state in ("blocked", "working", "idle"))
        return (self.agent, self.tier, *map(str, counts), *times)

    def add(self, other: Row) -> None:
        """Count another row of the same agent in."""
        for name in ("screens", "wrong", "silent", "missed", "false", "tapes", "missed_screens", "false_screens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for state, times in other.late.items():
            self.late.setdefault(state, []).extend(times)
        self.faults += other.faults


def _seconds(times: Sequence[int]) -> str:
    return f"{statistics.median(times) / 1000:.1f} s" if times else ""


def screens_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Saved screens at any depth with the name of their agent: the folder they are in."""
    for file in sorted(folder.rglob("*__*.txt")):
        yield file.resolve().parent.name, file


def tapes_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Tapes in the folder itself or in one named `tapes`, with the name of their agent."""
    names = ("*.jsonl", "*.jsonl.gz")
    found = {path for name in names for path in (*folder.glob(name), *folder.rglob(f"tapes/{name}"))}
    for file in sorted(found):
        yield file.name.split("_", 1)[0], file


def screen_row(manifest: Manifest, name: str, file: Path) -> Row:
    """One saved screen."""
    row = Row(manifest.id, manifest.tier.value, screens=1)
    truth = file.name.split("__", 1)[0]
    reading = read(manifest, load_screen(file)[0])
    kind = judge(truth, reading)
    row.wrong, row.silent = int(kind == "wrong"), int(kind == "silent")
    row.missed = row.missed_screens = int(kind == "missed-blocked")
    row.false = row.false_screens = int(kind == "false-blocked")
    if kind:
        best = reading.best
        got = f"{best.state} by {best.rule}" if best else f"skip by {reading.skip}" if reading.skip else "nothing"
        row.faults.append(f"{kind}: {name}/{file.stem}: {got}")
    return row


def tape_row(manifest: Manifest, file: Path) -> Row:
    """One tape. Raises `OSError` or `TapeError`."""
    tape = replace(open_tape(file), claims=())
    row = Row(manifest.id, manifest.tier.value, tapes=1)
    if not tape.truths:
        return row
    result: Score = scored(manifest, tape)
    row.late, row.false = result.late_ms, len(result.false_blocked)
    row.missed = sum(1 for miss in result.missed if miss["truth"] == "blocked")
    start = tape.frames[0].t_ms
    row.faults += [_moment("late " + str(m["truth"]), file, m, start) for m in result.missed]
    row.faults += [_moment("false-blocked", file, m, start) for m in result.false_blocked]
    return row


def _moment(what: str, file: Path, found: dict[str, object], start: int) -> str:
    at = (int(str(found["t_ms"])) - start) / 1000
    late = found.get("late_ms")
    more = f", told after {int(str(late)) / 1000:.1f} s" if late is not None else ""
    return f"{what}: {file.name} at {at:.1f} s for {int(str(found['for_ms'])) / 1000:.1f} s{more}"


def measure(folders: Iterable[Path], manifests: Path | None = None, tapes: bool = True) -> tuple[list[Row], list[str]]:
    """A row per agent, by name, and one line per agent without a manifest or file that could not be read."""
    catalog = Catalog((BUNDLED, manifests) if manifests else (BUNDLED,))
    problems = [str(problem) for problem in catalog.problems]
    rows: dict[str, Row] = {}
    unknown: dict[str, int] = {}
    jobs: list[tuple[str, Path]] = []
    for folder in folders:
        for name, file in screens_in(folder):
            manifest = catalog.find(name)
            if manifest is None:
                unknown[name] = unknown.get(name, 0) + 1
                continue
            row = screen_row(manifest, name, file)
            rows.setdefault(manifest.id, Row(manifest.id, manifest.tier.value)).add(row)
        for name, file in tapes_in(folder) if tapes else ():
            if catalog.find(name) is None:
                unknown[name] = unknown.get(name, 0) + 1
            else:
                jobs.append((name, file))
    for done in _tapes(jobs, catalog.directories):
        if isinstance(done, str):
            problems.append(done)
        else:
            rows.setdefault(done.agent, Row(done.agent, done.tier)).add(done)
    problems += [f"no manifest for {name}: {count} recordings left out" for name, count in sorted(unknown.items())]
    return [rows[name] for name in sorted(rows)], problems


def _tapes(jobs: list[tuple[str, Path]], directories: Sequence[Path]) -> Iterator[Row | str]:
    # Two processes: a replay is pure computing, and two cores are what a small machine has.
    with ProcessPoolExecutor(2, initializer=_open_catalog, initargs=(directories,)) as pool:
        yield from pool.map(_tape, jobs, chunksize=2)


# Per process: a manifest does not survive pickling, its matchers compare regions by identity.
_catalogs: list[Catalog] = []


def _open_catalog(directories: Sequence[Path]) -> None:
    _catalogs[:] = [Catalog(directories)]


def _tape(job: tuple[str, Path]) -> Row | str:
    manifest = _catalogs[0].find(job[0])
    if manifest is None:
        return f"{job[1]}: the manifest of {job[0]} went away"
    try:
        return tape_row(manifest, job[1])
    except (OSError, TapeError) as error:
        return f"{job[1]}: {error}"


def total(rows: Sequence[Row]) -> Row:
    """All rows in one."""
    found = Row("all", "")
    for row in rows:
        found.add(replace(row, late=dict(row.late)))
    return found


def markdown(rows: Sequence[Row]) -> str:
    """The table as it stands in the README."""
    lines = [" | ".join(HEADER), " | ".join("---" if i < 2 else "--:" for i in range(len(HEADER)))]
    lines += [" | ".join(cells) for cells in (*(row.cells() for row in rows), total(rows).cells())]
    return "".join(" ".join(f"| {line} |".split()) + "\n" for line in lines)


def in_readme(text: str) -> str:
    """The table that stands between the marks of a README. Raises `ValueError` when the marks are gone."""
    found = MARKED.search(text)
    if not found:
        raise ValueError("the marks around the accuracy table are gone")
    return text[found.end(1) : found.start(2)]


def _show(rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(HEADER):
        table.add_column(name, justify="left" if index < 2 else "right")
    for row in (*rows, total(rows)):
        table.add_row(*row.cells(), style="" if row.sound else "red")
    console = Console()
    Console(width=max(console.width, 130)).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 1: blocked missed or made up, or the README is out of date with `--check`; 2: asked wrongly."""
    parser = argparse.ArgumentParser(prog="scripts/accuracy", description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", metavar="FOLDER", nargs="*", type=Path, help="default: fixtures/")
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="directory of own manifests")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--faults", action="store_true", help="also list what is not right")
    parser.add_argument("--write-readme", action="store_true", help="put the table of fixtures/ into README.md")
    parser.add_argument("--check", action="store_true", help="fail when the table in README.md is another one")
    args = parser.parse_args(arguments)
    missing = [folder for folder in args.folders if not folder.is_dir()]
    if missing or (args.folders and (args.write_readme or args.check)):
        parser.error(f"no folder {missing[0]}" if missing else "README.md has the table of fixtures/ only")
    rows, problems = measure(args.folders or [FIXTURES], args.manifests)
    if args.markdown:
        print(markdown(rows), end="")
    else:
        _show(rows)
    wanted = ("late", "wrong", "silent", "missed", "false") if args.faults else ("missed", "false", "late blocked")
    for fault in (fault for row in rows for fault in row.faults):
        if fault.startswith(wanted):
            print(fault)
    for problem in problems:
        print(problem, file=sys.stderr)
    stale = False
    text = README.read_text(encoding="utf-8")
    if args.write_readme:
        in_readme(text)
        table = markdown(rows)
        README.write_text(MARKED.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    elif args.check and in_readme(text) != markdown(rows):
        print("README.md has another table: run scripts/accuracy --write-readme", file=sys.stderr)
        stale = True
    return int(stale or not all(row.sound for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
