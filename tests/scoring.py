"""Scores a manifest against a folder of saved screens named `<truth>__<what>__w<cols>.txt` (facts in `.json` beside).

python tests/scoring.py AGENT FOLDER... [-v]      AGENT is a manifest id or a path of a YAML file
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents_plugin.core.manifest import Manifest
from agents_plugin.core.screen import read
from agents_plugin.manifests import Catalog, load
from agents_plugin.saved import load_screen
from agents_plugin.score import judge


@dataclass(frozen=True)
class Miss:
    """A saved screen whose truth the rules did not give. `kind`: false-blocked, missed-blocked, wrong or silent."""

    file: Path
    truth: str
    got: str
    rule: str
    kind: str


def manifest_named(agent: str) -> Manifest:
    """A manifest by id, alias or YAML path."""
    if agent.endswith((".yaml", ".yml")):
        return load(Path(agent))
    catalog = Catalog()
    found = catalog.find(agent)
    if found is None:
        raise SystemExit(f"no manifest named {agent}: {'; '.join(catalog.problems) or 'none is broken'}")
    return found


def score(agent: str | Manifest, folder: Path | str) -> list[Miss]:
    """Every saved screen of the folder that the manifest does not read as its name says."""
    manifest = manifest_named(agent) if isinstance(agent, str) else agent
    misses = []
    for file in sorted(Path(folder).glob("*.txt")):
        truth = file.name.split("__", 1)[0]
        reading = read(manifest, load_screen(file)[0])
        kind = judge(truth, reading)
        if kind:
            best = reading.best
            got = "skip" if reading.skip else f"{best.state}/{best.detail}" if best else "nothing"
            misses.append(Miss(file, truth, got, reading.skip or (best.rule if best else ""), kind))
    return misses


def main(arguments: list[str]) -> int:
    """Prints the misses of each folder, then how many there are of each kind."""
    if len(arguments) < 2:
        print(__doc__)
        return 2
    agent, *folders = [argument for argument in arguments if argument != "-v"]
    for folder in folders:
        found = score(agent, folder)
        if "-v" in arguments:
            manifest = manifest_named(agent)
            for file in sorted(Path(folder).glob("*.txt")):
                reading = read(manifest, load_screen(file)[0])
                best = reading.best
                print(f"  {file.stem:70} {'skip ' + reading.skip if reading.skip else best}")
        for miss in found:
            print(f"{miss.kind:15} {miss.file.stem}: got {miss.got} {miss.rule}")
        total = len(list(Path(folder).glob("*.txt")))
        print(f"{folder}: {total} screens, {len(found)} misses", dict(Counter(miss.kind for miss in found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
