"""Reserves disk space for the last lines of a recording, and finds out whether there is any."""

from __future__ import annotations

import errno
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ENOUGH_BYTES = 64 * 1024
"""With less than that free a disk counts as full: space is given in blocks, and a recording has several files."""


def storage_problem(directory: Path) -> str | None:
    """Return why most of what happens now is not recorded, as a clause; None without a known reason."""
    try:
        found = os.statvfs(directory)
    except FileNotFoundError:
        return "the directory of the recording is gone"
    except OSError:
        return None
    # Some network file systems do not know their size: then statvfs(3) sets these fields to zero.
    if found.f_blocks and found.f_bavail * found.f_frsize < _ENOUGH_BYTES:
        return "the disk is full"
    return None


def reserve(descriptor: int, length: int) -> bool | None:
    """Reserve space behind the end of a file, so that nothing else can fill it; return whether that was possible.

    None where the file system or the operating system has no such function: NFS, some FUSE, macOS. The space stays
    reserved until `release`, also after this process has ended.
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
    """Release what is reserved behind the end of a file and not used. Never raises."""
    try:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size)
    except OSError:
        pass


_SPACE = struct.Struct("hhqqiIiiii")
_FS_IOC_RESVSP = 0x40305828
"""fallocate(2) with FALLOC_FL_KEEP_SIZE, for which Python has no function (linux/falloc.h: struct space_resv)."""
