"""Room on disk: to hold some for the last lines of a recording, and to tell the user when there is none."""

from __future__ import annotations

import errno
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ENOUGH_BYTES = 64 * 1024
"""With less free a file system is full for us: it takes space in blocks, and several files are written."""


def storage_problem(directory: Path) -> str | None:
    """Why little or nothing of what happens now is kept, as half a sentence; None when nothing speaks against it."""
    try:
        found = os.statvfs(directory)
    except FileNotFoundError:
        return "the directory of the recording is gone"
    except OSError:
        return None
    # Some network file systems have no sizes to tell: statvfs(3) leaves such fields zero.
    if found.f_blocks and found.f_bavail * found.f_frsize < _ENOUGH_BYTES:
        return "the disk is full"
    return None


def reserve(descriptor: int, length: int) -> bool | None:
    """Take room behind the end of a file, which nobody else can then fill up; whether that is done.

    None where the file system (or the operating system) has no such thing: NFS, some FUSE, macOS. What was taken stays
    until `release`, also when this process dies.
    """
    if sys.platform != "linux":
        return None
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        fcntl.ioctl(descriptor, _FS_IOC_RESVSP, _SPACE.pack(0, os.SEEK_END, 0, length, 0, 0, 0, 0, 0, 0))
    except OSError as error:
        return False if error.errno in (errno.ENOSPC, errno.EDQUOT) else None
    return True


def release(descriptor: int) -> None:
    """Let the room go that was held behind the end of a file and not needed; not being able to is no error here."""
    try:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size)
    except OSError:
        pass


_SPACE = struct.Struct("hhqqiIiiii")
_FS_IOC_RESVSP = 0x40305828
"""fallocate(2) with FALLOC_FL_KEEP_SIZE, for which Python has no function (linux/falloc.h: struct space_resv)."""
