"""Another user's directory where ours was: with two users, nothing of his is run, read or waited for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin.host import directories
from tests.loading import copy_plugin
from tests.support import stays, wait_for

VICTIM, STRANGER = 65534, 12345
AS_VICTIM = ("setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}", "--clear-groups")
pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can be two users"
)


class Shared:
    """A temporary directory everybody may write to, with a plugin, a home of the victim's and a stranger's plant."""

    def __init__(self, place: Path) -> None:
        place.chmod(0o755)
        self.plugin = copy_plugin(place / "plugin")
        self.home, self.tmp, self.marks = place / "home", place / "tmp", place / "marks"
        for path in (self.home, self.tmp, self.marks):
            path.mkdir()
        os.chown(self.home, VICTIM, VICTIM)
        self.tmp.chmod(0o1777)
        self.marks.chmod(0o777)
        # A server of the victim's that is loaded already: what works for one that is not ends by itself.
        config = place / "tmux.conf"
        config.write_text("set-environment -gh AGENTS_DRIVE true\n")
        self.server = subprocess.Popen(
            [*AS_VICTIM, "tmux", "-D", "-f", str(config), "-S", f"{self.tmp}/none"],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for((self.tmp / "none").exists, what="server")
        name = directories.key(self.server.pid)
        self.planted = self.tmp / f"agents.tmux-{VICTIM}" / name
        self.own = self.home / ".local/state/agents.tmux/run" / name
        self.program("theirs", self.planted / "python")
        os.chown(self.planted.parent, STRANGER, STRANGER)
        os.chown(self.planted, STRANGER, STRANGER)
        self.program("ours", self.home / ".local/share/agents.tmux/python")
        for path in (self.home, *self.home.rglob("*")):
            os.chown(path, VICTIM, VICTIM)
        self.started: list[subprocess.Popen[bytes]] = []

    def program(self, name: str, named_in: Path) -> None:
        """A Python that leaves a mark, and the file that names it."""
        named_in.parent.mkdir(parents=True)
        script = self.marks.parent / f"{name}-python"
        script.write_text(f"#!/bin/sh\necho \"$AGENTS_RUN\" >>'{self.marks}/{name}'\n")
        script.chmod(0o755)
        named_in.write_text(f"{script}\n")

    def run(self, *command: str, given: bool = True) -> subprocess.Popen[bytes]:
        """A command as the victim has it run by tmux."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.tmp)}
        env |= {"TMUX": f"{self.tmp}/none,{self.server.pid},0", "AGENTS_HOME": str(self.plugin)}
        env |= {"AGENTS_RUN": str(self.planted)} if given else {}
        words = [*AS_VICTIM, *command]
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            words, env=env, cwd="/", stdin=null, stdout=null, stderr=null, start_new_session=True
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.server.kill()
        self.server.wait()


@pytest.fixture
def shared() -> Iterator[Shared]:
    with tempfile.TemporaryDirectory(prefix="at-", dir="/tmp") as place:
        here = Shared(Path(place))
        yield here
        here.end()


@pytest.mark.parametrize("given", [True, False], ids=["given", "looked-for"])
@pytest.mark.parametrize("entry", ["tick", "drive-load", "poke", "after-load"])
def test_a_strangers_python_is_never_run(entry: str, given: bool, shared: Shared) -> None:
    scripts = shared.plugin / "scripts"
    commands = {
        "tick": ("sh", "-c", f". '{scripts}/drive'"),
        "drive-load": (f"{scripts}/drive", "load"),
        "poke": ("sh", "-c", f". '{scripts}/poke'"),
        "after-load": (f"{scripts}/after-load",),
    }
    shared.run(*commands[entry], given=given or entry == "after-load")
    wait_for((shared.marks / "ours").exists, what="our own helper")
    stays(lambda: not (shared.marks / "theirs").exists(), 0.5)
    assert (shared.marks / "ours").read_text().splitlines()[0] == str(shared.own)


@pytest.mark.parametrize("what", ["fifos", "names-a-live-process"])
@pytest.mark.parametrize("entry", ["drive", "poke"])
def test_a_strangers_files_hold_nobody_up(what: str, entry: str, shared: Shared) -> None:
    if what == "fifos":
        for name in ("monitor", "beat", "messages", "poke"):
            os.mkfifo(shared.planted / name, 0o666)
    else:
        life = shared.run("sleep", "60")
        stat = Path(f"/proc/{life.pid}/stat").read_text().rpartition(")")[2].split()
        (shared.planted / "monitor").write_text(f"{life.pid} {stat[19]} 0\n")
    tick = shared.run("sh", "-c", f". '{shared.plugin}/scripts/{entry}'")
    assert tick.wait(timeout=10) == 0
    wait_for((shared.marks / "ours").exists, what="our own helper all the same")
