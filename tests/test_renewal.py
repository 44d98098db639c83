"""Code replaced, half replaced or moved away under a running monitor: what runs goes on until the new code imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin import renewal
from agents_plugin.renewal import Renewal, build
from tests.actor import Actor
from tests.loading import copy_plugin, monitor_pid, run_directory
from tests.stage import BLOCKED, WORKING
from tests.support import ROOT, Server, alive, stays, wait_for


class Running:
    """A monitor that runs from a copy of the plugin and looks at the disk several times a second."""

    def __init__(self, server: Server, plugin: Path) -> None:
        self.server, self.plugin = server, copy_plugin(plugin)
        server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
        for file, name in (
            ("renewal.py", "CHECK_S, _PATIENCE_S"),
            ("monitor.py", "POKE_LASTS_S, GLANCE_S, SELF_CHECK_S"),
        ):
            code = self.plugin / "agents_plugin" / file
            text, changed = re.subn(
                rf"^{name} = (.*?)60\.0", rf"{name} = \g<1>0.3", code.read_text(), flags=re.MULTILINE
            )
            assert changed == 1
            code.write_text(text)
        self.process = subprocess.Popen(
            [sys.executable, str(self.plugin / "agents_plugin" / "__main__.py"), "monitor"],
            env=server.inside(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        wait_for(lambda: monitor_pid(server) == self.process.pid, what="the monitor")

    def problem(self) -> str:
        """What it notes of newer code."""
        file = run_directory(self.server) / "problems"
        lines = file.read_text().splitlines() if file.exists() else []
        return next((line.partition("\t")[2] for line in lines if line.startswith("update\t")), "")

    def version(self) -> str:
        """The code at work, as its lock says."""
        words = (run_directory(self.server) / "monitor").read_text().split()
        return words[2] if len(words) > 2 else ""

    def write(self, file: str, text: str) -> None:
        """Newer text in a file of the plugin."""
        path = self.plugin / "agents_plugin" / file
        path.write_text(text)
        os.utime(path, (time.time() + 60, time.time() + 60))


@pytest.fixture
def running(server: Server, tmp_path: Path) -> Iterator[Running]:
    here = Running(server, tmp_path / "plugin")
    yield here
    here.process.kill()
    here.process.communicate()


def follows(running: Running, actor: Actor) -> None:
    """It is the same process, and states move."""
    actor.show(BLOCKED)
    wait_for(lambda: actor.state() == "blocked/permission", what="blocked")
    actor.show(WORKING)
    wait_for(lambda: actor.state() == "working", what="working")
    assert running.process.poll() is None


def test_a_plugin_moved_away_keeps_its_monitor(running: Running, server: Server, tmp_path: Path) -> None:
    actor = Actor(server)
    follows(running, actor)
    running.plugin.rename(tmp_path / "moved")
    wait_for(lambda: "no code is left" in running.problem(), what="noted")
    follows(running, actor)
    assert actor.option("@agent_name") == "claude"
    (tmp_path / "moved").rename(running.plugin)
    wait_for(lambda: not running.problem(), what="back again")
    follows(running, actor)


def test_half_an_update_is_not_taken_over(running: Running, server: Server) -> None:
    actor, before = Actor(server), running.version()
    cycle = (running.plugin / "agents_plugin" / "cycle.py").read_text()
    running.write("cycle.py", cycle[: len(cycle) // 2] + "\n    (")
    wait_for(lambda: "does not start (SyntaxError" in running.problem(), what="noted")
    follows(running, actor)
    running.write("cycle.py", cycle + "from agents_plugin.core.text import what_is_pulled_next\n")
    wait_for(lambda: "ImportError" in running.problem(), what="noted anew")
    follows(running, actor)
    assert running.version() == before
    running.write("cycle.py", cycle + "# newer\n")
    wait_for(lambda: running.version() not in ("", before), what="the newer code at work")
    assert monitor_pid(server) == running.process.pid
    follows(running, actor)
    wait_for(lambda: not running.problem(), what="nothing wrong any more")


def test_an_older_version_without_a_module_of_ours_is_taken(running: Running, server: Server) -> None:
    """A module that is gone in the other code is not asked for."""
    before = running.version()
    running.write("explain.py", "")
    (running.plugin / "agents_plugin" / "tape.py").unlink()
    wait_for(lambda: running.version() not in ("", before), what="the other code at work")


def test_nobody_waits_for_code_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents_plugin").mkdir()
    (tmp_path / "agents_plugin" / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(renewal, "ROOT", tmp_path)
    monkeypatch.setattr(renewal, "CHECK_S", 0.0)
    said: list[str] = []
    asked = Renewal("other", said.append)
    assert not asked.ready()
    child = asked._child
    assert child is not None
    stays(lambda: not asked.ready(), 0.3)
    monkeypatch.setattr(renewal, "_PATIENCE_S", 0.1)
    assert not asked.ready()
    assert said == ["the newer code did not start within a minute: what runs goes on"]
    assert not alive(child.pid)
    asked.close()


def test_the_build_of_nothing_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(r"[0-9.]+\+\d+", build())
    monkeypatch.setattr(renewal, "ROOT", tmp_path)
    assert build() == ""


def test_the_monitor_imports_nothing_later() -> None:
    """What it needs is there when it begins: its directory may be gone by the time."""
    files = ("monitor", "repair", "serving", "renewal", "cycle", "marks", "owners", "events", "settings", "server")
    for file in (f"{name}.py" for name in files):
        text = (ROOT / "agents_plugin" / file).read_text()
        assert not re.search(r"^ +(?:from|import) agents_plugin", text, re.MULTILINE), file
    for folder in ("core", "host", "tmux"):
        for path in (ROOT / "agents_plugin" / folder).glob("*.py"):
            assert not re.search(r"^ +(?:from agents_plugin|import agents_plugin)", path.read_text(), re.MULTILINE), (
                path
            )
