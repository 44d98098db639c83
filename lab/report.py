"""What runs say about a manifest: per saved screen truth and reading, per rule whether it held, per tape times."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read, trace
from agents_plugin.saved import load_screen
from agents_plugin.score import judge, scored
from agents_plugin.tape import TapeError, open_tape
from lab.drive import Run


@dataclass
class Report:
    """The summary of all runs of one release; `faults`: one line per screen that was not read as it was."""

    agent: str
    version: str
    steps: Counter[str] = field(default_factory=Counter)  # right, wrong, silent, missed-blocked, false-blocked
    faults: list[str] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)  # rule -> screens and frames it held on, when that was true
    against: Counter[str] = field(default_factory=Counter)  # rule -> saved screens it held on, when that was not true
    never: list[str] = field(default_factory=list)
    late: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing blocked was missed or made up."""
        return not self.steps["missed-blocked"] and not self.steps["false-blocked"]

    def line(self) -> str:
        """One line: how many steps were read how."""
        bad = ", ".join(f"{count} {kind}" for kind, count in sorted(self.steps.items()) if kind != "right" and count)
        return f"{self.agent} {self.version}: {self.steps['right']} of {self.steps.total()} steps right" + (
            f", {bad}" if bad else ""
        )

    def markdown(self) -> str:
        """The whole report."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"# {self.line()}\n"
        times = [f"{state} {statistics.median(late) / 1000:.1f} s" for state, late in sorted(self.late.items()) if late]
        yield f"Told after, median on tapes: {', '.join(times) or 'nothing to judge'}.\n"
        for title, lines in (("Steps", self.faults), ("Notes", self.notes)):
            if lines:
                yield f"## {title}\n"
                yield from (f"- {line}" for line in lines)
                yield ""
        yield "## Rules\n\n| rule | held | against the truth |\n| --- | --: | --: |"
        for rule in sorted(self.held | self.against):
            yield f"| {rule} | {self.held[rule]} | {self.against[rule]} |"
        yield f"\nNever matched: {', '.join(self.never) or 'none'}."


def report(manifest: Manifest, version: str, runs: Iterable[Run]) -> Report:
    """Judge what was recorded by a manifest."""
    found = Report(manifest.id, version)
    matched: set[str] = set()
    for run in runs:
        for saved in run.saved:
            if not saved.what.endswith("_not_reached"):
                matched |= _screen(found, manifest, saved.file, saved.truth, f"w{run.cols} {saved.what}")
        found.notes += [f"w{run.cols} not reached: {place}" for place in run.unreached]
        if run.left:
            found.notes.append(f"w{run.cols} {run.scenario}: {run.left} steps left out")
        if run.identity and not run.identity.startswith(f"{manifest.id} "):
            found.notes.append(f"w{run.cols} {run.scenario}: taken for {run.identity}")
        if run.tape:
            matched |= _tape(found, manifest, run.tape)
        if run.hosts:
            found.notes.append(f"{run.scenario}: asked for {', '.join(sorted(run.hosts))}")
        if run.unknown:
            found.notes.append(f"{run.scenario}: no answer for {', '.join(run.unknown)}")
    found.notes = list(dict.fromkeys(found.notes))
    rules = [rule.id for rule in (*manifest.skips, *manifest.rules)]
    found.never = [rule for rule in rules if rule not in matched]
    return found


def _screen(found: Report, manifest: Manifest, file: Path, truth: str, name: str) -> set[str]:
    screen = load_screen(file)[0]
    reading = read(manifest, screen)
    kind = judge(truth, reading) or "right"
    found.steps[kind] += 1
    outcomes = [outcome for outcome in trace(manifest, screen) if outcome.matched]
    if kind != "right":
        best = reading.best
        got = f"{best.state} by {best.rule}" if best else f"skip by {reading.skip}" if reading.skip else "nothing"
        found.faults.append(f"{kind}: {name} is {truth}, read as {got}")
    for outcome in outcomes:
        if str(outcome.state) == truth or outcome.skip:
            found.held[outcome.rule] += 1
        elif outcome.state is not None and str(outcome.state) == "blocked" and truth not in ("unknown", "blocked"):
            found.against[outcome.rule] += 1
    return {outcome.rule for outcome in outcomes}


def _tape(found: Report, manifest: Manifest, file: Path) -> set[str]:
    try:
        tape = replace(open_tape(file), claims=())
    except (OSError, TapeError) as error:
        found.notes.append(f"{file.name}: {error}")
        return set()
    result = scored(manifest, tape)
    for state, late in result.late_ms.items():
        found.late.setdefault(state, []).extend(late)
    start = tape.frames[0].t_ms
    for what, moments in (("told late or never", result.missed), ("blocked made up", result.false_blocked)):
        for moment in moments:
            at = (int(str(moment["t_ms"])) - start) / 1000
            found.faults.append(f"tape {file.stem} at {at:.1f} s: {moment.get('truth', '')} {what}".replace("  ", " "))
    matched: set[str] = set()
    for screen in {frame.screen for frame in tape.frames}:
        names = {outcome.rule for outcome in trace(manifest, screen) if outcome.matched}
        matched |= names
        found.held.update(names)
    return matched


def written(found: Report, folder: Path) -> Path:
    """Write the report beside what was recorded, as Markdown and JSON."""
    file = folder / "report.md"
    file.write_text(found.markdown(), encoding="utf-8")
    data = {"agent": found.agent, "version": found.version, "steps": dict(found.steps), "faults": found.faults}
    data |= {"held": dict(found.held), "never": found.never, "late_ms": found.late, "notes": found.notes}
    (folder / "report.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def summary(reports: Sequence[Report]) -> str:
    """One line per release."""
    return "\n".join(found.line() for found in reports)
