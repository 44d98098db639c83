"""Passes without end over panes that come, change and go: a stand-in for tmux that answers what a pass asks.

No tmux is run; the agents are real processes, so that identities, records and hook events are looked for as ever.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from agents_plugin.cycle import Cycle
from agents_plugin.host.clock import FixedClock
from agents_plugin.host.spool import END, MAGIC, spool_dir
from agents_plugin.tmux import listing
from agents_plugin.tmux.runner import Output, Runner
from tests.file_times import date, written_as_dated
from tests.stage import BLOCKED, IDLE, WORKING
from tests.support import ROOT

AGENTS = 3
_NONCE = re.compile(r"<([0-9a-f]+)P\|")
_CAPTURE = re.compile(r"display-message -p -t (%\d+) '([0-9a-f]+) ")
_SET = re.compile(r"set-option -pq -t %\d+ (@\w+) '([^']*)'")
_UNSET = re.compile(r"set-option -pqu -t %\d+ (@\w+)")
_ENV = re.compile(r"set-environment -gh (\w+) '([^']*)'")
_GONE = re.compile(r"set-environment -gu (\w+)")
_ACCEPT = re.compile(r"^if-shell -F -t (%\d+) .*display-message -p '([0-9a-f]+) \d+'")
_QUEUE = re.compile(r"set-option -gq @agents_queue '([^']*)'")


@dataclass
class Pane:
    """A pane of the stand-in: its process, what it shows, its options."""

    number: int
    pid: int
    screen: str = ""
    title: str = ""
    activity: int = 0
    options: dict[str, str] = field(default_factory=dict)


class Tmux(Runner):
    """Answers listings, captures and writes as a server would whose panes change by chance."""

    def __init__(self, pids: list[int], environment: dict[str, str], clock: FixedClock) -> None:
        super().__init__("/nonexistent", binary="/nonexistent", environment=environment)
        self.pids, self.clock = pids, clock
        self.chance = random.Random(1)
        self.numbers = iter(range(1, 10**9))
        self.panes: dict[str, Pane] = {}
        self.hidden: dict[str, str] = {}
        self.queue = ""
        folder = ROOT / "fixtures" / "claude"
        self.screens = [(folder / f"{name}.txt").read_text(encoding="utf-8") for name in (IDLE, WORKING, BLOCKED)]

    def change(self) -> None:
        """One pane shows something else; now and then one is closed and another opened."""
        while len(self.panes) < AGENTS or self.chance.random() < 0.02:
            if len(self.panes) >= AGENTS:
                del self.panes[next(iter(self.panes))]
            number = next(self.numbers)
            used = {pane.pid for pane in self.panes.values()}
            self.panes[f"%{number}"] = Pane(number, next(pid for pid in self.pids if pid not in used))
        pane = self.chance.choice(list(self.panes.values()))
        seed = self.chance.random()
        pane.screen = f"● line {seed}\n" * 3 + self.chance.choice(self.screens)
        pane.title = f"⠂ {seed} " + "t" * self.chance.randrange(2_000)
        pane.activity = self.clock.wall // 1000
        pane.options["@agent_display_name"] = f"{seed}" * self.chance.randrange(50)

    def run(self, *args: str, stdin: str | None = None) -> Output:
        """A listing or a script."""
        self.processes += 1
        if stdin is not None:
            return Output(self._script(stdin), "", 0)
        found = _NONCE.search(args[-1])
        assert found, args
        return Output(self._list(found[1]), "", 0)

    def _list(self, nonce: str) -> str:
        server = {"@agents_queue": self.queue}
        mark = f">{nonce}:"
        rows = [f"<{nonce}S|{os.getpid()}|1700000000|3.8"]
        rows[0] += "".join(mark + server.get(name, "") for name in listing._SERVER_TEXTS)
        rows.append(f"<{nonce}V|\n" + "\n".join(f"{name}={value}" for name, value in self.hidden.items()))
        for pane_id, pane in self.panes.items():
            facts = dict.fromkeys(listing._PANE_FACTS, "0") | {
                "pane_id": pane_id,
                "pane_pid": str(pane.pid),
                "session_id": "$0",
                "window_id": f"@{pane.number}",
                "pane_width": "100",
                "pane_height": "40",
                "cursor_flag": "1",
                "window_activity": str(pane.activity),
                "pane_pb_state": "",
                "pane_in_mode": "",
            }
            texts = {"pane_current_command": "claude", "pane_title": pane.title, "session_name": "s", **pane.options}
            row = "|".join(facts[name] for name in listing._PANE_FACTS)
            row += "".join(mark + texts.get(name, "").replace("#", "##") for name in listing._PANE_TEXTS)
            rows.append(f"<{nonce}P|{row}")
        return "\n".join(rows) + "\n"

    def _script(self, script: str) -> str:
        answer = []
        for line in script.splitlines():
            shown, accepted, queue = _CAPTURE.search(line), _ACCEPT.search(line), _QUEUE.search(line)
            if shown:
                pane = self.panes[shown[1]]
                nonce = shown[2]
                answer.append(f"{nonce} {pane.number} 0 39 1 0 100 {pane.title}{nonce}\n{pane.screen}\n")
            elif accepted and accepted[1] in self.panes:
                pane = self.panes[accepted[1]]
                pane.options.update(_SET.findall(line))
                for name in _UNSET.findall(line):
                    pane.options.pop(name, None)
                self._remember(line)
                answer.append(f"{accepted[2]} {pane.number}\n")
            elif queue:
                self.queue = queue[1]
            elif "@agents_queue" not in line and "AGENTS_R_" not in line:
                self._remember(line)
        return "".join(answer)

    def _remember(self, line: str) -> None:
        self.hidden.update(_ENV.findall(line))
        for name in _GONE.findall(line):
            self.hidden.pop(name, None)


@contextmanager
def agents(place: Path) -> Iterator[list[int]]:
    """Processes called claude; their pids."""
    program = place / "claude"
    program.symlink_to(Path(shutil.which("sleep") or "/bin/sleep").resolve())
    running = [subprocess.Popen([str(program), "100000"], start_new_session=True) for _ in range(AGENTS)]
    try:
        yield [process.pid for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Sample:
    """What this process holds: bytes of its own, descriptors, and the passes made so far."""

    passes: int
    own: int
    descriptors: int


def own_bytes(process: psutil.Process) -> int:
    """Memory that is this process's own. Not its private pages: 9 MB of code become private when other Pythons end."""
    try:
        facts = dict(re.findall(r"(\w+):\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii")))
        return (int(facts["RssAnon"]) + int(facts["VmSwap"])) * 1024
    except (OSError, KeyError):
        return int(process.memory_full_info().uss)


def soak(place: Path, passes: int, samples: int = 10, events_every: int = 25) -> list[Sample]:
    """Make so many passes in a home below `place`; samples at even distances, the first one after a tenth of them."""
    home = place / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    spool = spool_dir(environment)
    assert spool
    spool.mkdir(parents=True)
    clock = FixedClock(int(time.time() * 1000), 5_000_000)
    this = psutil.Process()
    found = []
    with agents(place) as pids, written_as_dated():
        cycle = Cycle("/nonexistent", clock=clock, environ=environment)
        cycle.runner = tmux = Tmux(pids, environment, clock)
        for number in range(1, passes + 1):
            clock.advance(1_000)
            tmux.change()
            if number % events_every == 0:
                say(spool, tmux.chance.choice(list(tmux.panes.values())).pid, number, clock.wall)
            cycle.run_pass(lambda data: json.dumps(data))
            if number % (passes // samples) == 0:
                found.append(Sample(number, own_bytes(this), this.num_fds()))
    return found


def say(spool: Path, pid: int, number: int, at_ms: int) -> None:
    """An event of an agent, or one that nobody can read."""
    event = ("UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop")[number % 4]
    body = json.dumps({"session_id": f"s{number}", "tool_name": "Bash", "tool_input": {"command": f"{number}" * 100}})
    head = f"agent=claude\nevent={event}\ntime={at_ms / 1000:.3f}\n\n".encode()
    end = b"" if number % 7 == 0 else END
    file = spool / f"{pid}.{number}"
    file.write_bytes(MAGIC + head + Path(f"/proc/{pid}/stat").read_bytes() + body.encode() + end)
    date(file, at_ms)
