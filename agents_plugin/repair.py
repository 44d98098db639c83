"""Our hooks, put back when somebody's `set-hook -g` without an index has wiped them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

from agents_plugin.tmux.probe import installed
from agents_plugin.tmux.runner import Runner

ENTRY = Path(__file__).resolve().parent.parent / "agents.tmux"
#: The alias only the entry installs: where it is missing, the plugin was not loaded, or was uninstalled.
_LOADED = 4714
_PATIENCE_S = 10.0


def expected_hooks() -> frozenset[str]:
    """The hooks we install, by the very file that does."""
    text = (ENTRY.parent / "scripts" / "navigation.tmux").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^set-hook -g ([a-z-]+)\[\d+\]", text, re.MULTILINE))


def hooks(runner: Runner, server_pid: int) -> bool:
    """Look for our hooks (one tmux process) and load again what is missing; whether something was. Raises as tmux does.

    The status line is left as it is: what somebody wrote there, he may have meant.
    """
    if not ENTRY.is_file():  # moved away: what runs goes on without
        return False
    have = installed(runner)
    if _LOADED not in have.aliases or expected_hooks() <= have.hooks:
        return False
    environment = _inside(runner, server_pid)
    try:
        subprocess.run(
            ["/bin/sh", str(ENTRY), "again"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True


def switch_off(runner: Runner, server_pid: int) -> None:
    """Run the entry beside us: while `@agents-enabled` is off it takes everything away."""
    with contextlib.suppress(OSError):  # the plugin is gone: nothing starts us again either
        subprocess.Popen(
            ["/bin/sh", str(ENTRY)],
            env=_inside(runner, server_pid),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _inside(runner: Runner, server_pid: int) -> dict[str, str]:
    return {**os.environ, "TMUX": f"{runner.socket},{server_pid},0"}
