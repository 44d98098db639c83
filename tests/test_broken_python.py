"""An interpreter that no longer runs, that is none, or that a server has chosen: commands say so, or find it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.loading import give_python, run_directory
from tests.support import ROOT, Server


def agents(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "agents", *args], env=env, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("code", [1, 126, 127])
def test_an_interpreter_that_broke_is_named(code: int, server: Server, tmp_path: Path) -> None:
    broken = tmp_path / "python\x1b[31m"
    broken.write_text(f"#!/bin/sh\nexit {code}\n")
    broken.chmod(0o755)
    give_python(server, str(broken))
    done = agents(server.inside(), "ls")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not run" in done.stderr and str(code) in done.stderr and "scripts/bootstrap" in done.stderr
    assert "\x1b" not in done.stderr
    assert agents(server.inside(), "doctor").stdout.startswith("python: none; ")


def test_a_directory_is_no_interpreter(server: Server, tmp_path: Path) -> None:
    give_python(server, str(tmp_path))
    done = agents(server.inside(), "ls")
    assert done.returncode == 1 and "no Python" in done.stderr


@pytest.mark.parametrize("how", ["-S", "-Sjoined", "-L", "default"])
def test_the_python_a_server_has_chosen_is_found_from_outside(how: str, server: Server) -> None:
    """Named as Python itself finds the server, or the default one."""
    run = run_directory(server)
    run.mkdir(mode=0o700, parents=True)
    run.parent.chmod(0o700)
    (run / "python").write_text(sys.executable + "\n")
    env = dict(server.env)
    words = {"-S": ["-S", server.socket], "-Sjoined": [f"-S{server.socket}"], "-L": ["-L", server.label]}.get(how, [])
    if how == "default":
        Path(server.socket).with_name("default").symlink_to(server.socket)
    done = agents(env, "explain", *words, "-t", server.format("main:", "#{pane_id}"))
    assert "no Python" not in done.stderr and done.stdout, done.stderr
    assert "no Python" in agents(env, "explain", "-S", "/nonexistent", "-t", "%0").stderr
