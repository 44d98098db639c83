"""Reading and replacing a user's file: through symlinks, whole or not at all, and only the file that was looked at."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from agents_plugin.host.files import open_regular, read_open

MAX_BYTES = 8 * 1024 * 1024
BACKUP = ".agents-tmux.bak"


class FileError(Exception):
    """A file that cannot be read or written: `str()` says why, without the path."""


class Changed(FileError):
    """The file is no longer what was looked at."""


@dataclass(frozen=True)
class Found:
    """A file as it was read. `data` is None when there is none. `real` is what links lead to."""

    path: Path
    real: Path
    data: bytes | None
    mode: int = 0o600
    owner: tuple[int, int] = (-1, -1)

    @property
    def text(self) -> str | None:
        """Its text. Raises `FileError` when it is not UTF-8."""
        if self.data is None:
            return None
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileError(f"line {self.data.count(10, 0, error.start) + 1}: not UTF-8") from None


def read(path: Path) -> Found:
    """What is there now. Raises `FileError` when something is there that cannot be read."""
    try:
        descriptor, facts = open_regular(path)
        try:
            data = read_open(descriptor, MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return Found(path, Path(os.path.realpath(path)), None)
    except OSError as error:
        raise FileError(error.strerror or str(error)) from None
    if len(data) > MAX_BYTES:
        raise FileError(f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    mode = stat.S_IMODE(facts.st_mode)
    return Found(path, Path(os.path.realpath(path)), data, mode, (facts.st_uid, facts.st_gid))


def backup_of(path: Path) -> Path:
    """Where the first version of a file is kept."""
    return path.with_name(path.name + BACKUP)


def read_backup(path: Path) -> str | None:
    """The text of the backup; None without one that can be read."""
    with contextlib.suppress(FileError):
        return read(backup_of(path)).text
    return None


def keep(found: Found) -> None:
    """Make the backup, once: an older one is never touched. Raises `FileError`."""
    if found.data is None:
        return
    try:
        _fill(backup_of(found.path), found.data, found)
    except FileExistsError:
        return
    except OSError as error:
        raise FileError(f"no backup could be made: {error.strerror}") from None


def drop_backup(found: Found) -> None:
    """Remove the backup when the file is that again, to the byte."""
    place = backup_of(found.path)
    with contextlib.suppress(FileError, OSError):
        kept = read(place)
        if kept.data is not None and kept.data == read(found.path).data and not place.is_symlink():
            place.unlink()


def replace(found: Found, data: bytes | None) -> None:
    """Make the file `data` (None: remove it), if it still is what was found. Raises `Changed`, `FileError`."""
    try:
        if data is None:
            _same(found)
            found.real.unlink(missing_ok=True)
        else:
            found.real.parent.mkdir(parents=True, exist_ok=True)
            _swap(found, data)
        _sync(found.real.parent)
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(found.path) else ""
        raise FileError(f"{error.strerror or error}{where}") from None


def _swap(found: Found, data: bytes) -> None:
    # The name must not end like the file: agents load everything in a directory that does.
    new = found.real.with_name(f".{found.real.name}.{os.getpid()}.agents-tmux")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    try:
        _fill(new, data, found)
        _same(found)
        new.replace(found.real)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def _fill(place: Path, data: bytes, like: Found) -> None:
    """A new file with the mode and, where allowed, the owner of another, safe on the disk."""
    mode = like.mode if like.data is not None else 0o666 & ~_umask()
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if like.owner != (-1, -1):
                with contextlib.suppress(OSError):
                    os.fchown(descriptor, *like.owner)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise


def _same(found: Found) -> None:
    now = read(found.path)
    if now.data != found.data or now.real != found.real:
        raise Changed("it changed meanwhile")


def _sync(directory: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
