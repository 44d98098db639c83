"""Runs an agent through its scenarios: a home of its own, a clean environment, loopback only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from agents_plugin.core.redact import Person
from agents_plugin.cycle import Cycle
from agents_plugin.fixture import person
from lab.mock.script import Script
from lab.mock.server import Mock
from lab.pane import Pane
from lab.proxy import Certificate, Proxy
from lab.record import Recorder, Saved, now_ms
from lab.scenario import Agent, Scenario, Step, placed

ROOT = Path(__file__).resolve().parent
#: How long a prompt may take to reach the model before Enter is pressed once more.
HEARD_S = 8.0
#: A request that comes this soon after Enter shows that the agent worked from then on.
PROMPT_MS = 3_000
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass
class Run:
    """What one scenario gave. `unreached`: steps waited for in vain; `left`: how many were left out after them."""

    scenario: str
    cols: int
    saved: list[Saved] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    left: int = 0
    tape: Path | None = None
    identity: str = ""
    hosts: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


class Lab:
    """Runs scenarios of one installed agent and puts what was recorded into `folder`."""

    def __init__(self, agent: Agent, version: str, path: Sequence[Path], folder: Path) -> None:
        self.agent, self.version, self.path, self.folder = agent, version, path, folder

    def run(self, scenario: Scenario, cols: int, rows: int) -> Run:
        """One scenario from a fresh home on. Raises `OSError`, `RuntimeError`."""
        run = Run(scenario.name, cols)
        with ExitStack() as stack:
            base = stack.enter_context(_base())
            home, work = base / "home", base / "work"
            _make_work(work, home)
            script = Script(str(work), self.agent.words, self.agent.quote, self.agent.toolless)
            mock = stack.enter_context(Mock(script).running())
            certificate = Certificate(base / "tls") if self.agent.proxy else None
            proxy = stack.enter_context(Proxy(certificate).running())
            places: dict[str, object] = {"PORT": mock.port, "HOME": home, "WORK": work, "VERSION": self.version}
            places |= {"HOOK": ROOT / "hook", "CA": certificate.ca if certificate else ""}
            env = self._environment(base, proxy, certificate)
            env |= {key: placed(value, places) for key, value in scenario.env.items()}
            for name, text in scenario.files.items():
                file = home / name[2:] if name.startswith("~/") else work / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(placed(text, places), encoding="utf-8")
            pane = Pane(base / "tmux", env, work, cols, rows)
            stack.callback(_end_all, base)
            stack.callback(pane.close)
            people = (Person(home=str(base), host=socket.gethostname()), person())
            recorder = Recorder(pane, self.folder, self.agent.id, self.version, scenario.name, people)
            pane.wait(r"\$", 10)
            pane.enter(placed(scenario.launch, places))
            _Steps(run, pane, mock, recorder, env).go(scenario.steps)
            run.saved, run.tape = recorder.saved, recorder.finish(mock.events)
            run.hosts, run.unknown = dict(proxy.asked), sorted(set(mock.unknown))
        return run

    def _environment(self, base: Path, proxy: Proxy, certificate: Certificate | None) -> dict[str, str]:
        hooks, temporary = base / "hooks", base / "tmp"
        hooks.mkdir()
        temporary.mkdir()
        env = {
            "PATH": os.pathsep.join([*map(str, self.path), *SYSTEM_PATH]),
            "HOME": str(base / "home"),
            "TMPDIR": str(temporary),
            "LAB_HOOKS": str(hooks),
            "HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}",
            "NO_PROXY": "127.0.0.1,localhost",
            "PS1": "$ ",
        }
        env |= {"TERM": "tmux-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "USER": "dev", "LOGNAME": "dev"}
        env |= {"DO_NOT_TRACK": "1", "NO_UPDATE_NOTIFIER": "1", "BROWSER": "/bin/true"}
        if certificate:
            env["NODE_EXTRA_CA_CERTS"] = env["SSL_CERT_FILE"] = str(certificate.ca)
        return env


class _Steps:
    def __init__(self, run: Run, pane: Pane, mock: Mock, recorder: Recorder, env: Mapping[str, str]) -> None:
        self.run, self.pane, self.mock, self.recorder, self.env = run, pane, mock, recorder, env
        self.word, self.since = "", 0

    def go(self, steps: Sequence[Step]) -> None:
        """Every step in turn."""
        leaving = False
        for index, step in enumerate(steps):
            if leaving and not step.ask:
                self.run.left += 1
                continue
            leaving = not self._step(step)
            if leaving:
                wanted = step.wait or (f"not {step.gone}" if step.gone else "the end of the answer")
                self.run.unreached.append(f"{step.place}: {wanted}")
                self.recorder.say("unknown")
                self.recorder.save(f"step{index + 1}_not_reached", step.place)
                if index == 0:  # it did not even start
                    self.run.left += len(steps) - 1
                    return

    def _step(self, step: Step) -> bool:
        if step.ask:
            self._ask(step.ask)
        if step.type:
            self.pane.type(step.type)
        if step.key:
            self.pane.key(*step.key)
        at: int | None = None
        if step.wait and not self.pane.wait(step.wait, step.within):
            return False
        if step.gone and not self.pane.wait(step.gone, step.within, absent=True):
            return False
        if step.over:
            at = self._over(step.within)
            if at is None:
                return False
        if step.truth:
            self.recorder.say(step.truth, at)
        time.sleep(step.pause)
        if step.save:
            if not self.run.identity and self.recorder.truth != "dead":
                self.run.identity = self._identity()
            self.recorder.save(step.save, step.place)
        return True

    def _ask(self, word: str) -> None:
        self.word, self.since = word, now_ms()
        self.pane.type(f"please lab:{word}")
        time.sleep(1.0)
        sent = now_ms()
        self.pane.key("Enter")
        heard = self._heard(HEARD_S)
        if heard is None:
            # Some agents swallow the first Enter while they still start.
            screen = self.pane.look()
            if screen and any(f"lab:{word}" in line for line in [line for line in screen.lines if line][-9:]):
                self.pane.key("Enter")
            heard = self._heard(4 * HEARD_S)
        if heard is not None and heard - sent <= PROMPT_MS:
            self.recorder.say("working", sent)
        else:
            # When it began to work is not known: it may have started something first.
            self.recorder.say("unknown", sent)
            self.recorder.say("working", heard)

    def _heard(self, within: float) -> int | None:
        end = time.monotonic() + within
        while time.monotonic() < end:
            at = self.mock.heard(self.word, self.since)
            if at is not None:
                return at
            time.sleep(0.1)
        return None

    def _over(self, within: float) -> int | None:
        end = time.monotonic() + within
        while time.monotonic() < end:
            at = self.mock.ended(self.word, self.since)
            if at is not None:
                return at
            time.sleep(0.1)
        return None

    def _identity(self) -> str:
        """Which agent the product takes the pane for, and how it knows."""
        with suppress(Exception):
            subjects, _ = Cycle(str(self.pane.socket), environ=dict(self.env)).observe()
            for subject in subjects:
                if subject.identity and subject.row.pane_id == self.pane.id:
                    return f"{subject.identity.agent} by {subject.identity.how}"
        return "nobody"


@contextmanager
def _base() -> Iterator[Path]:
    # Short: a socket's path has about a hundred characters, and agents draw the directory they are in.
    base = Path(tempfile.mkdtemp(prefix="lab-", dir="/tmp")).resolve()
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _make_work(work: Path, home: Path) -> None:
    """A small repository to work in."""
    work.mkdir()
    home.mkdir()
    (work / "README.md").write_text("# sample\n\nA small sample project.\n")
    (work / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    env = {"PATH": os.pathsep.join(SYSTEM_PATH), "HOME": str(home)}
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *words], cwd=work, env=env, capture_output=True, timeout=30, check=True)


def _end_all(base: Path) -> None:
    """End what an agent left running (daemons of its own): every process whose home is the one made for this run."""
    home, left = str(base / "home"), []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == home:
                process.terminate()
                left.append(process)
    _, alive = psutil.wait_procs(left, timeout=3)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
