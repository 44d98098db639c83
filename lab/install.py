"""Installs a release of an agent into the cache, once: each npm package in a folder, each Python package in a venv."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.scenario import Install

#: The npm package that brings a Node for agents that want a newer one than the system has.
NODE = "node"


class InstallError(RuntimeError):
    """An agent could not be installed: `str()` is what the installer said last."""


def cache() -> Path:
    """Where everything of the lab is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "agents.tmux" / "lab"


def install(wanted: Install, version: str = "") -> tuple[str, list[Path]]:
    """The version installed and the directories for `PATH`. `version`: another than the scenario's, or `latest`.

    Raises `InstallError`.
    """
    version = version or wanted.version
    if wanted.npm:
        path = _node(wanted.node)
        if version in ("", "latest"):
            version = json.loads(_run(["npm", "view", wanted.npm, "version", "--json"], path=path))
        folder = cache() / "npm" / wanted.npm.replace("/", "+") / version
        if not (folder / ".complete").exists():
            _npm(wanted.npm, version, folder, path, wanted.scripts)
            for command in wanted.after:
                _run(command, folder, path)
            (folder / ".complete").touch()
        return version, [folder / "node_modules" / ".bin", *path]
    if wanted.pypi:
        if version in ("", "latest"):
            said = _run([sys.executable, "-m", "pip", "index", "versions", wanted.pypi])
            version = said.split("(", 1)[1].split(")", 1)[0]
        folder = cache() / "pypi" / wanted.pypi / version
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(folder)])
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            _run([*pip, f"{wanted.pypi}=={version}"])
            (folder / ".complete").touch()
        return version, [folder / "bin"]
    return version or "none", []


def _npm(package: str, version: str, folder: Path, path: Sequence[Path], scripts: bool) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    flags = ["--no-audit", "--no-fund", "--loglevel=error", *([] if scripts else ["--ignore-scripts"])]
    # npm takes an older release when the engine does not fit: the exact version makes it fail instead.
    _run(["npm", "install", "--prefix", str(folder), *flags, f"{package}@{version}"], folder, path)


def _node(oldest: int) -> list[Path]:
    """Directories of a Node that is new enough; none when the system's is."""
    found = shutil.which("node")
    if not oldest or (found and _major(_run([found, "--version"])) >= oldest):
        return []
    major = str(oldest + oldest % 2)  # even ones are the long-lived releases
    folder = cache() / "npm" / NODE / major
    if not (folder / ".complete").exists():
        _npm(NODE, major, folder, [], True)
        (folder / ".complete").touch()
    return [folder / "node_modules" / NODE / "bin"]


def _major(said: str) -> int:
    return int(said.strip().lstrip("v").split(".")[0] or 0)


def _run(command: Sequence[str], folder: Path | None = None, path: Sequence[Path] = ()) -> str:
    env = {**os.environ, "PATH": os.pathsep.join([*map(str, path), os.environ.get("PATH", "")])}
    try:
        done = subprocess.run(
            list(command), cwd=folder, env=env, capture_output=True, text=True, timeout=900, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"{command[0]}: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InstallError(f"{' '.join(command[:3])}: {said[-1] if said else 'failed'}")
    return done.stdout
