"""Manifests as plain data, read and checked once: a pass that is a process of its own need not read YAML again.

For 32 files YAML costs some 300 ms of CPU, this file 5 ms.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from agents_plugin import __version__
from agents_plugin.host.files import load_regular
from agents_plugin.host.runtime import write_atomic

Stamp = tuple[int, int, int]  # mtime in ns, size, inode
_MAX_BYTES = 8 * 1024 * 1024
#: Files that were renamed or are gone would stay for good: the oldest entry makes room.
_MAX_FILES = 256
#: The code that checks manifests: what it accepted before it changed is checked anew.
_CHECKERS = ("manifest", "matchers", "asking", "regions", "hooks", "hookrules", "schema")


class ManifestCache:
    """One file of checked manifests by path and stamp. Losing it, or not being able to write it, costs time only."""

    def __init__(self, file: Path, writable: bool = True) -> None:
        self.file, self.writable = file, writable
        self._code = [__version__, sys.hexversion, *_code_stamps()]
        self._entries: dict[str, Any] = self._load()
        self._dirty = False

    def get(self, path: str, stamp: Stamp) -> Mapping[str, Any] | str | None:
        """The checked data of a file, or what is wrong with it; None when the file is not the one that was read."""
        entry = self._entries.get(path)
        if (
            isinstance(entry, list)
            and len(entry) == 2
            and entry[0] == list(stamp)
            and isinstance(entry[1], (dict, str))
        ):
            return entry[1]
        return None

    def put(self, path: str, stamp: Stamp, data: Mapping[str, Any] | str) -> None:
        """Keep what was read and checked, or what is wrong with it; data that JSON would change is not kept."""
        try:
            same = json.loads(json.dumps(data)) == data
        except (TypeError, ValueError, RecursionError):
            same = False
        if same:
            self._entries.pop(path, None)
            while len(self._entries) >= _MAX_FILES:
                del self._entries[next(iter(self._entries))]
            self._entries[path] = [list(stamp), data]
            self._dirty = True

    def keep(self, paths: Container[str]) -> None:
        """Forget files of the same directories that are gone: what was seen once need not stay for good."""
        gone = [path for path in self._entries if path not in paths and not os.path.lexists(path)]
        for path in gone:
            del self._entries[path]
            self._dirty = True

    def save(self) -> None:
        """Write it, if anything is new."""
        if not (self._dirty and self.writable):
            return
        self._dirty = False
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return
        write_atomic(self.file, json.dumps({"code": self._code, "files": self._entries}, separators=(",", ":")))

    def _load(self) -> dict[str, Any]:
        try:
            known = json.loads(load_regular(self.file, _MAX_BYTES))
            if known["code"] == self._code and isinstance(known["files"], dict):
                return dict(known["files"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return {}


def open_cache(environment: Mapping[str, str], *, writable: bool = True) -> ManifestCache | None:
    """The cache of this user; None without a place for it. Not `writable`: what is new stays in this process."""
    place = cache_file(environment)
    return ManifestCache(place, writable) if place else None


def cache_file(environment: Mapping[str, str]) -> Path | None:
    """Where the cache lives (XDG); None without a place for it."""
    base, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    if base.startswith("/"):
        return Path(base) / "agents.tmux" / "manifests.json"
    there = home.startswith("/") and Path(home).is_dir()
    return Path(home) / ".cache" / "agents.tmux" / "manifests.json" if there else None


def _code_stamps() -> list[int]:
    here = Path(__file__).parent
    files = (here / "manifests.py", *(here / "core" / f"{name}.py" for name in _CHECKERS))
    try:
        return [os.stat(file).st_mtime_ns for file in files]  # noqa: PTH116  hot
    except OSError:
        return []
