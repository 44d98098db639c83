"""Loading the plugin into a test server, as tmux does it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from agents_plugin.host import directories
from tests.support import ROOT, Server, wait_for


def give_python(server: Server, python: str = sys.executable) -> None:
    """What bootstrap leaves behind: here it is the Python that runs the tests."""
    place = Path(server.env["XDG_DATA_HOME"]) / "agents.tmux"
    place.mkdir(parents=True, exist_ok=True)
    (place / "python").write_text(python + "\n")


def load(server: Server, plugin: Path = ROOT) -> None:
    """`run-shell` of the entry, and nothing else."""
    server.cmd("run-shell", "'" + str(plugin / "agents.tmux").replace("'", "'\\''") + "'")


def settle(server: Server) -> None:
    """Wait until the second half of loading has decided the keys."""
    wait_for(lambda: "agents-" in prefix_keys(server), what="keys bound")


def prefix_keys(server: Server) -> str:
    return server.cmd("list-keys", "-T", "prefix")


def key(server: Server, name: str) -> str:
    """What a key of the prefix table does, empty when nothing."""
    for line in prefix_keys(server).splitlines():
        words = line.split()
        place = words.index("prefix")
        if words[place + 1] == name:
            return " ".join(words[place + 2 :])
    return ""


def run_directory(server: Server) -> Path:
    return Path(server.env["XDG_RUNTIME_DIR"]) / "agents.tmux" / directories.key(server.pid)


def monitor_pid(server: Server) -> int:
    """The pid in the lock, 0 when nobody holds it."""
    try:
        words = (run_directory(server) / "monitor").read_text().split()
    except OSError:
        return 0
    return int(words[0]) if words else 0


def copy_plugin(place: Path) -> Path:
    """The plugin's files without tests and history, as TPM would have cloned them."""
    shutil.copytree(
        ROOT, place, ignore=shutil.ignore_patterns(".git", "__pycache__", "tests", "fixtures", "docs", ".*_cache")
    )
    return place
