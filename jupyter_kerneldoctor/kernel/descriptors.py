"""File descriptors that stay open for the life of the kernel, in a process whose user may close any number.

After an `os.closerange()` our number may belong to a file of the user's. So a descriptor is remembered with the inode
it was opened on, and looked at again before each use (`fstat`, below a microsecond).
"""

from __future__ import annotations

import os

from ..recording.layout import O_CLOEXEC

Inode = tuple[int, int]

_READ_BYTES = (1 << 12, 1 << 16, 1 << 20)
"""The first is enough almost anywhere, and quick. /proc/self/status names all groups of a user: 65,536 are allowed."""


def inode(descriptor: int) -> Inode | None:
    """Device and inode behind a descriptor; None when it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class KeptFile:
    """A file of /proc/self, kept open because opening it costs several times what reading it does."""

    def __init__(self, path: str, flags: int = os.O_RDONLY) -> None:
        self._path = path
        self._flags = flags | O_CLOEXEC
        self._fd = -1
        self._inode: Inode | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # /proc/self is another process's there

    def read(self) -> bytes | None:
        """The content; None when it cannot be read, or is longer than anything in /proc/self is."""
        try:
            for most in _READ_BYTES if self._is_ours() else ():
                data = os.pread(self._fd, most, 0)
                if len(data) < most:
                    return data
        except OSError:
            pass
        return None

    def write(self, data: bytes) -> bool:
        """Write; return whether that was possible."""
        try:
            return self._is_ours() and os.write(self._fd, data) == len(data)
        except OSError:
            return False

    def _is_ours(self) -> bool:
        """Whether our file is behind the descriptor, if need be opened once more."""
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
