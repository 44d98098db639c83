"""The one way files of others are read: without waiting, plain files only, and never more than asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: A FIFO is not waited for, a terminal does not become ours.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: Path | str, follow: bool = True) -> tuple[int, os.stat_result]:
    """A descriptor of a plain file, and its facts; the caller closes it. Raises `OSError`, also for anything else.

    `follow`: a link as the last component is followed.
    """
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    except ValueError:  # a NUL in the name
        raise OSError(errno.EINVAL, "no name of a file") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, facts


def read_open(descriptor: int, limit: int) -> bytes:
    """At most `limit` bytes from where a descriptor stands, whole unless the file is longer. Raises `OSError`."""
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read(limit)


def load_regular(path: Path | str, limit: int) -> bytes:
    """The first `limit` bytes of a plain file: who asks for one more than he takes sees that it is too large.

    Raises `OSError`.
    """
    descriptor, _ = open_regular(path)
    try:
        return read_open(descriptor, limit)
    finally:
        os.close(descriptor)


def read_regular(path: Path | str, limit: int, tail: bool = False, follow: bool = True) -> bytes | None:
    """The first (`tail`: last) `limit` bytes of a plain file; None when there is none that can be read."""
    try:
        descriptor, facts = open_regular(path, follow)
    except OSError:
        return None
    try:
        if tail:
            os.lseek(descriptor, max(0, facts.st_size - limit), os.SEEK_SET)
        return read_open(descriptor, limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)
