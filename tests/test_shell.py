"""Every shell file runs under any POSIX sh, macOS's old bash and dash included."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT


def _shell_files() -> list[Path]:
    files = [ROOT / "agents.tmux", *sorted((ROOT / "scripts").iterdir())]
    text = {file: file.read_bytes() for file in files if file.is_file()}
    return [file for file, data in text.items() if data.startswith(b"#!/bin/sh") or file.suffix == ".sh"]


FILES = _shell_files()
#: What only newer shells or GNU's tools have; each was somebody's bug on macOS.
FOREIGN = {
    "bashisms": r"\[\[|\bdeclare\b|\bmapfile\b|\breadarray\b|\$\{\w+(,,|\^\^)|<<<|&>|^\s*local |\bfunction \w+",
    "gnu": r"\bflock\b|date \+%N|\breadlink -f\b|\bstat -c\b|\bsed -i\b|\bxargs -r\b|\bgrep -P\b|\bmktemp --",
}


def test_they_were_found() -> None:
    assert {"agents.tmux", "drive", "poke", "agent-hook", "lib.sh"} <= {file.name for file in FILES}


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in FILES])
def test_case_160_syntax(shell: str, file: Path) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell} here")
    options = ["--posix"] if shell == "bash" else []
    done = subprocess.run([path, *options, "-n", file], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in FILES])
def test_case_160_nothing_only_some_shells_have(kind: str, file: Path) -> None:
    code = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    assert not [line for line in code if re.search(FOREIGN[kind], line)]
