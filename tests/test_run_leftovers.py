"""The check at the end of a run: a tmux server or process that a test left behind fails it by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import leftovers
from tests.support import ROOT, Server, TmuxBinary, alive, wait_for

_TESTS = """
import subprocess
from pathlib import Path
from tests.support import Server

def test_a_process():
    subprocess.Popen(["sleep", "471147"], start_new_session=True)

def test_a_server(tmux_bin, tmp_path):
    Server(tmux_bin, tmp_path, label="forgotten").start()

def test_a_clean_one(bare_server):
    assert bare_server.start()
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_left_fails_the_run_and_is_named(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(_TESTS)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "AGENTS_TEST_TMUX": ""}
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "-n", workers, "--rootdir", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run([*command, str(tmp_path)], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout
    assert "3 passed" in done.stdout
    named = [line for line in done.stdout.splitlines() if line.startswith("left behind: ")]
    assert any("sleep 471147" in line for line in named) and any("-L forgotten" in line for line in named), done.stdout
    pids = [int(line.split()[2]) for line in named]
    wait_for(lambda: not any(map(alive, pids)), what="ended, too")


def test_two_servers_of_one_directory_end_without_each_other(bare_server: Server, tmp_path: Path) -> None:
    bare_server.start()
    other = Server(bare_server.binary, tmp_path / "b", label="b", beside=bare_server)
    other.start()
    pids = bare_server.pid, other.pid
    other.kill()
    assert (alive(pids[0]), alive(pids[1])) == (True, False)
    bare_server.kill()
    assert not alive(pids[0])


def test_a_run_that_nobody_marked_left_nothing(tmux_bin: TmuxBinary) -> None:
    assert leftovers.left("no such run", 0) == {}
