"""Newer code on disk: when a monitor may hand over to it. Half of an update is none, a directory moved away neither.

A child imports what is there, so that what runs goes on running until that works.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agents_plugin import __version__

ROOT = Path(__file__).resolve().parent.parent
#: Seconds between two looks at the disk, and how long an import may take on a busy machine.
CHECK_S, _PATIENCE_S = 60.0, 60.0
_SAID_BYTES = 64 * 1024
#: Of the modules in use here those the newer code still has; the first three begin a monitor.
_IMPORT = """
import sys
sys.path[0] = sys.argv[1]
from importlib import import_module
from importlib.util import find_spec
for name in ("agents_plugin.__main__", "agents_plugin.commands.monitor", "agents_plugin.monitor"):
    import_module(name)
for name in sys.argv[2:]:
    try:
        known = find_spec(name) is not None
    except ModuleNotFoundError:
        known = False
    if known:
        import_module(name)
"""


def build() -> str:
    """The version and the age of the code on disk: another one means that the plugin was updated. "" without any."""
    newest = 0
    for file in (ROOT / "agents_plugin").rglob("*.py"):
        with contextlib.suppress(OSError):  # replaced this moment
            newest = max(newest, file.stat().st_mtime_ns)
    return f"{__version__}+{newest // 1_000_000}" if newest else ""


class Renewal:
    """Looks at the disk now and then, and at a child that tries the code there. Never waits for it."""

    def __init__(self, version: str, problem: Callable[[str], object]) -> None:
        """`version` is the code at work; `problem` is told why newer code cannot take over ("": nothing is wrong)."""
        self.version, self._problem = version, problem
        self._looked = time.monotonic()
        self._found = ""
        self._child: subprocess.Popen[bytes] | None = None

    def ready(self) -> bool:
        """Whether newer code should take over now. Cheap; asked between passes."""
        now = time.monotonic()
        if self._child is not None:
            return self._tried(self._child, now)
        if now - self._looked < CHECK_S:
            return False
        self._looked = now
        try:
            self._found = build()
        except OSError:
            self._found = ""
        if self._found == self.version:
            self._problem("")
        elif not self._found:
            self._problem(f"no code is left in {ROOT}: what runs goes on; load the plugin from where it is now")
        else:
            self._try()
        return False

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _try(self) -> None:
        names = sorted(name for name in sys.modules if name.startswith("agents_plugin."))
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _IMPORT, str(ROOT), *names],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            self._problem(f"the newer code cannot be tried ({error.strerror}): what runs goes on")

    def _tried(self, child: subprocess.Popen[bytes], now: float) -> bool:
        code = child.poll()
        if code is None:
            if now - self._looked > _PATIENCE_S:
                self.close()
                self._problem("the newer code did not start within a minute: what runs goes on")
            return False
        self._child = None
        said = os.read(child.stderr.fileno(), _SAID_BYTES) if child.stderr else b""
        child.communicate()
        if code == 0:
            # Written to while it was tried: another look, later.
            return build() == self._found
        lines = said.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"code {code}")
        self._problem(f"the newer code does not start ({last[:200]}): what runs goes on")
        return False
