"""Keeps file descriptors open for the life of the kernel, although user code may close any of them.

After an `os.closerange()` our number may belong to a file of the user's. So the inode behind a descriptor is remembered
and compared before each use (`fstat`, below a microsecond).
"""

import errno
import os

from ..recording.layout import O_CLOEXEC

Inode = tuple[int, int]

_READ_BYTES = (1 << 12, 1 << 16, 1 << 20)
"""The first is quick and nearly always enough. /proc/self/status lists all groups of a user, up to 65,536."""


def inode(descriptor: int) -> Inode | None:
    """Return device and inode behind a descriptor; None when it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def are_used_up(least: int) -> bool:
    """Return whether fewer than so many files could be opened now (EMFILE)."""
    opened = list[int]()
    try:
        for _ in range(least):
            opened.append(os.open(os.devnull, os.O_RDONLY | O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


class KeptFile:
    """A file of /proc/self that stays open, because opening it costs several times what reading does."""

    def __init__(self, path: str, flags: int = os.O_RDONLY) -> None:
        self._path = path
        self._flags = flags | O_CLOEXEC
        self._fd = -1
        self._inode: Inode | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # there /proc/self is another process

    def read(self) -> bytes | None:
        """Return the content; None when it cannot be read, or is longer than any file in /proc/self."""
        try:
            for most in _READ_BYTES if self._is_ours() else ():
                data = os.pread(self._fd, most, 0)
                if len(data) < most:
                    return data
        except OSError:
            pass
        return None

    def write(self, data: bytes) -> bool:
        """Write, and return whether that was possible."""
        try:
            return self._is_ours() and os.write(self._fd, data) == len(data)
        except OSError:
            return False

    def close(self) -> None:
        """Close it; it is opened again when it is needed."""
        if self._inode is not None and inode(self._fd) == self._inode:
            os.close(self._fd)
        self._forget()

    def _is_ours(self) -> bool:
        """Return whether the descriptor is that of our file; open the file again if it is not."""
        return (self._inode is not None and inode(self._fd) == self._inode) or self._open()

    def _open(self) -> bool:
        try:
            self._fd = os.open(self._path, self._flags)
        except OSError:
            return False
        self._inode = inode(self._fd)
        return True

    def _forget(self) -> None:
        self._fd, self._inode = -1, None
