"""The demo, as somebody without a terminal runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support import ROOT


@pytest.mark.timeout(200)
def test_try_prints_what_a_person_would_see_and_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    home.mkdir()
    sockets = Path(tempfile.mkdtemp(prefix="at-", dir="/tmp"))
    # A python3 that has everything already: nothing is downloaded.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"HOME": str(home), "PATH": path, "TMUX_TMPDIR": str(sockets), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            [str(ROOT / "scripts" / "try"), "--print"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "NOT SEEN" not in done.stdout
        status = [line for line in done.stdout.splitlines() if "▲" in line and "shell" in line]
        assert any("▲2" in line for line in status), done.stdout
        assert any("▲1" in line for line in status), done.stdout
        assert "prefix j goes to" in done.stdout
        assert "permission" in done.stdout
        for label in ("agents-try", "agents-try-view"):
            assert (
                subprocess.run(["tmux", "-L", label, "ls"], env=env, capture_output=True, check=False).returncode != 0
            )
    finally:
        for label in ("agents-try-view", "agents-try"):
            subprocess.run(["tmux", "-L", label, "kill-server"], env=env, capture_output=True, check=False)
        shutil.rmtree(sockets, ignore_errors=True)
