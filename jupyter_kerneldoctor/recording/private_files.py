"""Opens the directories and files of recordings safely in a directory that other users share.

A link, a file of another user or a named pipe may be in the place of any file. So a directory is opened without
following a link and has to belong to this user. A file is looked up in the open directory, has to be a regular file of
this user's, is opened without waiting, and read up to a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = str | os.PathLike[str]

_FLAGS = {name: getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_BINARY")}
_FILE = _FLAGS["O_CLOEXEC"] | _FLAGS["O_NOFOLLOW"] | _FLAGS["O_NONBLOCK"] | _FLAGS["O_BINARY"]
_DIRECTORY = os.O_RDONLY | _FLAGS["O_CLOEXEC"] | _FLAGS["O_DIRECTORY"]

HAS_DIRECTORIES = os.open in os.supports_dir_fd
"""Whether a file can be opened in an open directory. Windows cannot, and has other means against other users."""


@contextmanager
def recordings(path: Path, *, create: bool = False) -> Iterator[int]:
    """Open the directory of all recordings; only on systems with directory descriptors.

    Raises OSError, PermissionError when it, or the directory that it is in, could be another user's to change.
    """
    path = os.fspath(path)
    above = os.path.dirname(path)
    if create:
        os.makedirs(above, 0o700, exist_ok=True)
    parent = os.open(above, _DIRECTORY)
    try:
        _check_parent(os.fstat(parent), above)
        if create and not os.path.lexists(path):
            _make_directory(os.path.basename(path), parent)
        descriptor = os.open(os.path.basename(path), _DIRECTORY | _FLAGS["O_NOFOLLOW"], dir_fd=parent)
    finally:
        os.close(parent)
    try:
        status = os.fstat(descriptor)
        if not is_own(status):
            raise _refused("it belongs to another user", path)
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _refused("other users may write to it", path)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def recording(path: Path, parent: int | None = None) -> Iterator[int]:
    """Open the directory of one recording, by name where its parent is open. Raises OSError."""
    descriptor = os.open(path, _DIRECTORY | _FLAGS["O_NOFOLLOW"], dir_fd=parent)
    try:
        if not is_own(os.fstat(descriptor)):
            raise _refused("it belongs to another user", os.fspath(path))
        yield descriptor
    finally:
        os.close(descriptor)


def make_recording(path: Path) -> None:
    """Make the directory of a new recording, and those above it, readable by this user only. Raises OSError."""
    path = os.fspath(path)
    with recordings(os.path.dirname(path), create=True) as parent:
        os.mkdir(os.path.basename(path), 0o700, dir_fd=parent)


def open_file(path: Path, flags: int) -> int:
    """Open a file of a recording, created with mode 0600. Raises OSError if it is no regular file of this user's."""
    path = os.fspath(path)
    if not HAS_DIRECTORIES:
        return os.open(path, flags | _FILE, 0o600)
    try:
        with recording(os.path.dirname(path)) as directory:
            return open_file_in(directory, os.path.basename(path), flags)
    except OSError as error:
        error.filename = path
        raise


def open_file_in(directory: int, name: str, flags: int) -> int:
    """Open a file of the recording whose directory is open. Raises OSError."""
    descriptor = os.open(name, flags | _FILE, 0o600, dir_fd=directory)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and is_own(status):
        return descriptor
    os.close(descriptor)
    raise _refused("it is no file of this user's", name)


def open_private(path: Path, flags: int = 0) -> int:
    """Open a file of a recording for writing; create it if need be. Raises OSError."""
    return open_file(path, flags | os.O_WRONLY | os.O_CREAT)


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return the content; of a file above `most_bytes` the beginning and the end. Raises OSError."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        if size <= most_bytes:
            return _read(descriptor, 0, most_bytes)
        half = most_bytes // 2
        return _read(descriptor, 0, half) + _read(descriptor, size - half, half)
    finally:
        os.close(descriptor)


def read_part(path: Path, offset: int, most_bytes: int) -> bytes:
    """Return up to `most_bytes` from an offset on; a negative one counts from the end. Raises OSError."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        begin = offset if offset >= 0 else max(0, os.fstat(descriptor).st_size + offset)
        return _read(descriptor, begin, most_bytes)
    finally:
        os.close(descriptor)


def read_end_in(directory: int, name: str, most_bytes: int) -> bytes:
    """Return the end of a file of the recording whose directory is open. Raises OSError."""
    descriptor = open_file_in(directory, name, os.O_RDONLY)
    try:
        return os.pread(descriptor, most_bytes, max(0, os.fstat(descriptor).st_size - most_bytes))
    finally:
        os.close(descriptor)


def is_own(status: os.stat_result) -> bool:
    """Return whether something belongs to this user."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def is_own_directory(path: Path) -> bool:
    """Return whether this is a directory of this user's, not a link to one. Raises OSError."""
    status = os.lstat(path)
    return stat.S_ISDIR(status.st_mode) and is_own(status)


def others_may_change(path: Path) -> bool:
    """Return whether other users may change a file, or put another in its place; true of one that is not there."""
    path, real = os.fspath(path), os.path.realpath(path)
    try:
        return any(_is_strange(one) for name in (path, real) for one in _up_from(name))
    except OSError:
        return True


def _up_from(path: str) -> Iterator[str]:
    yield path
    while (above := os.path.dirname(path)) != path:
        yield (path := above)


def _is_strange(path: str) -> bool:
    """Return whether a file, directory or link is another user's. Raises PermissionError where they may change it."""
    _check_parent(os.stat(path), path)
    status = os.lstat(path)
    return not is_own(status) and status.st_uid != 0


def _read(descriptor: int, begin: int, most_bytes: int) -> bytes:
    pieces = []
    os.lseek(descriptor, begin, os.SEEK_SET)
    while most_bytes > 0 and (piece := os.read(descriptor, min(most_bytes, 1 << 20))):
        pieces.append(piece)
        most_bytes -= len(piece)
    return b"".join(pieces)


def _make_directory(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass  # another process was faster


def _check_parent(status: os.stat_result, path: str) -> None:
    """Raise PermissionError if other users may put something else in the place of a directory's entries.

    In a directory with the sticky bit, like /tmp, they may not. A group of the user's own counts as the user.
    """
    if not is_own(status) and status.st_uid != 0:
        raise _refused("it belongs to another user", path)
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (0, os.getegid())
    if (by_group or status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
        raise _refused("other users may write to it", path)


def _refused(why: str, path: str) -> PermissionError:
    return PermissionError(errno.EPERM, why, path)
