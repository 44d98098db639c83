"""Fields of cheap agent panes for benchmarks: shells under an agent's name that switch between two recorded screens."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import ROOT, Server, wait_for

_AGENT = r"""stty -echo -icanon min 1 time 0
n=0
printf '\033[?1049h\033]2;%s\007' "$3"
while :; do
    printf '\033[?25l\033[H\033[2J'
    cat "$1"
    n=$((n + 1)); tmux set-environment -g "BENCH_${TMUX_PANE#%}" $n
    read -r line || exit
    printf '\033[H\033[2J'
    cat "$2"
    n=$((n + 1)); tmux set-environment -g "BENCH_${TMUX_PANE#%}" $n
    read -r line || exit
done
"""


def screens(scene: str, width: int, first: str, second: str) -> tuple[str, str, str]:
    """Two recorded screens of a scene, by segment, and the title; lines end in CR LF."""
    found: dict[str, dict[str, Any]] = {}
    segment = ""
    with gzip.open(ROOT / "fixtures" / "try" / f"{scene}_w{width}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "segment" in row:
                segment = row["segment"]
            elif "screen" in row:
                found.setdefault(segment, row)
    return found[first]["screen"], found[second]["screen"], found[first]["title"]


def fill(server: Server, count: int, agents: int) -> list[str]:
    """Open panes until there are `count`, the first `agents` new ones being agents at rest; their ids."""
    place = server.base / "agents"
    place.mkdir(exist_ok=True)
    shell = shutil.which("dash") or shutil.which("sh") or "/bin/sh"
    program = place / "claude"
    if not program.exists():
        program.symlink_to(Path(shell).resolve())
    idle, busy, title = screens("claude-permission", 100, "fresh", "work")
    (place / "idle").write_text(idle, encoding="utf-8")
    (place / "busy").write_text(busy, encoding="utf-8")
    (place / "agent.sh").write_text(_AGENT, encoding="utf-8")
    words = [program, place / "agent.sh", place / "idle", place / "busy", title]
    command = "exec " + " ".join(shlex.quote(str(word)) for word in words)
    found = [server.window(command, name=f"a{number}") for number in range(agents)]
    have = len(server.cmd("list-panes", "-a", "-F", "x").splitlines())
    for number in range(count - have):
        server.window("exec sleep 100000", name=f"s{number}")
    wait_for(lambda: len(_drawn(server)) >= agents, timeout=60, what="agents drawn")
    return found


def _drawn(server: Server) -> dict[str, int]:
    rows = (row.partition("=") for row in server.cmd("show-environment", "-g").splitlines())
    return {name: int(value) for name, _, value in rows if name.startswith("BENCH_")}


def toggle(server: Server, agents: list[str]) -> None:
    """Make every agent draw its other screen; returns when all did."""
    before = _drawn(server)
    # Whoever looks at activity sees whole seconds: a change must fall into a new one to be seen by it.
    time.sleep(1.05)
    server.cmd("source-file", "-", stdin="".join(f"send-keys -t {pane} x Enter\n" for pane in agents))

    def all_drew() -> bool:
        now = _drawn(server)
        return all(now[name] > before[name] for name in before)

    wait_for(all_drew, timeout=30, what="agents drew")
    time.sleep(0.2)  # the screens travel by terminal, the counts by socket


def states(server: Server) -> dict[str, str]:
    """The published state of every pane that has one."""
    rows = server.cmd("list-panes", "-a", "-F", "#{pane_id} #{@agent_state}").splitlines()
    return {row.split()[0]: row.split()[1] for row in rows if len(row.split()) == 2}


def until_known(server: Server, run_pass: Callable[[], object], count: int) -> None:
    """Make passes until `count` panes have a state."""

    def known() -> bool:
        run_pass()
        return len(states(server)) >= count

    wait_for(known, timeout=60, interval=0.2, what=f"{count} agents known")
