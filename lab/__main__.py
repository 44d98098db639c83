"""`scripts/lab AGENT`: install a release, drive it through its scenarios, say which rules still hold."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agents_plugin.manifests import BUNDLED, Catalog
from lab.alone import leave_network, raise_loopback
from lab.drive import Lab, Run
from lab.install import InstallError, cache, install
from lab.report import report, written
from lab.scenario import SCENARIOS, ScenarioError, load, names


def main(arguments: Sequence[str], isolate: bool = False) -> int:
    """The command. `isolate`: start anew without a network, once the agent is installed.

    1 when blocked was missed or made up or nothing could be run, 2 when asked wrongly.
    """
    parser = argparse.ArgumentParser(prog="scripts/lab", description=__doc__)
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="one of " + ", ".join(names()) + "; or a YAML file")
    parser.add_argument("--version", metavar="V", default="", help="release (default: the one last tried; or latest)")
    parser.add_argument("--scenario", metavar="S", action="append", help="only this one, repeatable")
    parser.add_argument("--width", metavar="W", type=int, action="append", help="columns (default 100), repeatable")
    parser.add_argument("--rows", metavar="H", type=int, default=30)
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="directory of own manifests")
    parser.add_argument("--into", metavar="DIR", type=Path, help="where to put the recordings (default: the cache)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.alone:
        raise_loopback()
    if not args.agent:
        print("\n".join(names()))
        return 0
    path = Path(args.agent) if args.agent.endswith((".yaml", ".yml")) else SCENARIOS / f"{args.agent}.yaml"
    try:
        agent = load(path)
    except (OSError, ScenarioError) as error:
        parser.error(str(error))
    wanted = [scenario for scenario in agent.scenarios if not args.scenario or scenario.name in args.scenario]
    if not wanted:
        parser.error(f"scenarios of {agent.id}: {', '.join(scenario.name for scenario in agent.scenarios)}")
    catalog = Catalog((BUNDLED, args.manifests) if args.manifests else (BUNDLED,))
    manifest = catalog.find(agent.id)
    if manifest is None:
        parser.error(f"there is no manifest for {agent.id}")
    try:
        version, places = install(agent.install, args.version)
    except InstallError as error:
        print(f"scripts/lab: {error}", file=sys.stderr)
        return 1
    if isolate and not args.alone:
        leave_network([*arguments, "--version", version])
        print("no network namespace here: what ignores the proxy could get out", file=sys.stderr)
    folder = args.into or cache() / "runs" / agent.id / version / time.strftime("%Y%m%d-%H%M%S")
    folder.mkdir(parents=True, exist_ok=True)
    runs: list[Run] = []
    lab = Lab(agent, version, places, folder)
    for cols in args.width or [100]:
        for scenario in wanted:
            print(f"{agent.id} {version} {scenario.name} at {cols} columns …", file=sys.stderr)
            try:
                runs.append(lab.run(scenario, cols, args.rows))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                print(f"scripts/lab: {scenario.name}: {error}", file=sys.stderr)
    found = report(manifest, version, runs)
    print(found.markdown())
    print(f"recorded in {written(found, folder).parent}", file=sys.stderr)
    return int(not runs or not found.sound)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], isolate=True))
