"""Where our own files lie: one state directory under HOME, and a private runtime directory for each tmux server.

`scripts/lib.sh` chooses the same: the first place that is, or can be made, ours alone. Nobody else may own or write it,
or rename what lies above it, else another user could put a program there that we would run.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agents_plugin.core.numbers import parse_int
from agents_plugin.host.files import open_regular, read_open

#: Where nothing is and nothing is made: the directory of who has none.
NOWHERE = Path("/nonexistent")
_OTHERS = 0o022


class RuntimeRefused(Exception):
    """A directory that is not ours alone: a symlink, another owner, writable by others, or not to be made."""


@dataclass(frozen=True)
class Place:
    """A candidate for the runtime directories: `base` holds one for each server; `above` is made on the way."""

    base: Path
    above: tuple[Path, ...] = ()


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Which start of which machine this is; "" where the system does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii", errors="replace").strip()
    return ""


@lru_cache(maxsize=1)
def namespace() -> str:
    """The number of the pid namespace our pids count in: a container has its own. "" where there are none."""
    with contextlib.suppress(OSError):
        number = os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")  # noqa: PTH115  not a path
        return number if parse_int(number) is not None else ""
    return ""


def space() -> str:
    """Boot and namespace as they stand in names: pids of another space say nothing here. "" where neither is known."""
    boot = boot_id().partition("-")[0]
    plain = boot and not boot.strip("0123456789abcdef")
    return f"{boot}-{namespace()}" if plain else ""


def key(server_pid: int) -> str:
    """The name of a server's directory and link: two servers of equal pid in different spaces have two."""
    return f"{server_pid}.{space()}" if space() else str(server_pid)


def state_dir(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The one place hooks can find: under HOME, because agents strip XDG and TMUX variables. None without a HOME."""
    home = environ.get("HOME", "")
    return Path(home) / ".local/state/agents.tmux" if home.startswith("/") and Path(home).is_dir() else None


def private_dir(path: Path) -> Path:
    """Make `path` (its parents must exist) or accept it when it is ours alone; raises `RuntimeRefused`."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        facts = path.lstat()
        fault = _fault(facts)
        if fault:
            raise RuntimeRefused(f"{path} {fault}")
        if facts.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise RuntimeRefused(f"{path}: {error.strerror}") from None
    return path


def is_private(path: Path) -> bool:
    """Whether a directory is there and ours alone. One system call: asked at every use of a file in it."""
    try:
        return not _fault(os.lstat(path))
    except OSError:
        return False


def read_own(path: Path, limit: int) -> str:
    """The beginning of a plain file of ours; "" for any other: a link, a FIFO, one that others own or may write."""
    try:
        descriptor, facts = open_regular(path, follow=False)
        try:
            return read_open(descriptor, limit).decode("utf-8", "replace") if is_own(facts) else ""
        finally:
            os.close(descriptor)
    except OSError:
        return ""


def is_own(facts: os.stat_result) -> bool:
    """Whether these are the facts of a plain file that nobody else owns or may write."""
    return stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & _OTHERS


def places(environ: Mapping[str, str]) -> Iterator[Place]:
    """The candidates, best first: what the login made for us, the temporary directory, our own below HOME."""
    xdg = environ.get("XDG_RUNTIME_DIR", "")
    if xdg.startswith("/") and _owner(Path(xdg)) == os.geteuid():  # the XDG specification ignores a relative one
        yield Place(Path(xdg) / "agents.tmux")
    temporary = environ.get("TMPDIR", "")
    base = Path(temporary) if temporary.startswith("/") else Path("/tmp")
    yield Place(base / f"agents.tmux-{os.geteuid()}")
    state = state_dir(environ)
    if state is not None and _owner(Path(environ["HOME"])) == os.geteuid():
        yield Place(state / "run", (state,))


def why_not(place: Place, name: str = "") -> str:
    """Why a candidate cannot be used, in one line; "" when it can. Looks only."""
    if not place.above and not _sheltered(place.base.parent):
        return f"others may write in {place.base.parent}"
    for path in (*place.above, place.base, *([place.base / name] if name else [])):
        try:
            facts = path.lstat()
        except FileNotFoundError:
            return "" if _makeable(path) else f"{path} cannot be made"
        except OSError as error:
            return f"{path}: {error.strerror}"
        if fault := _fault(facts):
            return f"{path} {fault}"
    return ""


def find_directory(server_pid: int, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of a tmux server, made or not; one below `NOWHERE` when every candidate is refused."""
    name = key(server_pid)
    given = _given(name, environ)
    if given is not None:
        return given
    return next((place.base / name for place in places(environ) if not why_not(place, name)), NOWHERE / name)


def make_directory(server_pid: int, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of a tmux server, made when missing. Raises `RuntimeRefused`."""
    name = key(server_pid)
    given = _given(name, environ)
    if given is not None:
        return given
    refused = []
    for place in places(environ):
        try:
            return _make(place, name)
        except RuntimeRefused as why:
            refused.append(str(why))
    raise RuntimeRefused("; ".join(refused))


def _make(place: Place, name: str) -> Path:
    if not place.above and not _sheltered(place.base.parent):
        raise RuntimeRefused(f"others may write in {place.base.parent}")
    for path in place.above:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        private_dir(path)
    return private_dir(private_dir(place.base) / name)


def _given(name: str, environ: Mapping[str, str]) -> Path | None:
    """The directory whoever started us uses for this very server: its variables may differ from ours."""
    given = Path(environ.get("AGENTS_RUN", ""))
    good = given.is_absolute() and given.name == name and is_private(given.parent) and is_private(given)
    return given if good else None


def _fault(facts: os.stat_result) -> str:
    if not stat.S_ISDIR(facts.st_mode):
        return "is not a directory"
    if facts.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be written by others" if facts.st_mode & _OTHERS else ""


def _owner(path: Path) -> int | None:
    """Who owns a directory; None when it is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_uid if stat.S_ISDIR(facts.st_mode) else None


def _sheltered(path: Path) -> bool:
    """Whether nobody but us and root can rename what is ours in this directory."""
    try:
        facts = path.stat()
    except OSError:
        return False
    closed = facts.st_mode & stat.S_ISVTX or not facts.st_mode & _OTHERS
    return stat.S_ISDIR(facts.st_mode) and bool(closed) and facts.st_uid in (0, os.geteuid())


def _makeable(path: Path) -> bool:
    """Whether a missing directory could be made: the nearest one above it that is there lets us write."""
    parent = next(parent for parent in path.parents if parent.exists())
    return parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
