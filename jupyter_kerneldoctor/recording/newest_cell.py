"""The newest cell in a file in memory: what is left of it when kernel and sidecar are killed together.

The kernel writes the start of each cell there before it sends it, and its end. A write to memory waits for no disk, and
the file outlives both processes; a restart of the machine or the container ends it. When both are dead, whoever finds
the file first adds it to the kernel's file in the recording. A sidecar that lives has all of it, and deletes it.
"""

from __future__ import annotations

import json
import os
import stat
from binascii import crc32
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .journal import JsonLines
from .layout import KERNEL, is_id
from .mapping import Mapping
from .private_files import is_own

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 28 * 1024
"""The longest start of a cell that has room."""
END_AT = MOST_BYTES + 16
_SIZE = 32 * 1024
_HEADER_BYTES = 16  # checksum and length in hexadecimal: a write may have been cut off by the kill


def file_of(recording_id: str) -> str:
    """Return the path of the file. Only Linux has the directory."""
    return f"/dev/shm/kerneldoctor-{recording_id}"  # noqa: S108 - made with O_EXCL


def create(recording_id: str) -> Mapping | None:
    """Make the file and map it; None where that is not possible."""
    try:
        descriptor = os.open(file_of(recording_id), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        return Mapping(descriptor, _SIZE)
    except OSError:
        discard(recording_id)
        return None
    finally:
        os.close(descriptor)


def discard(recording_id: str) -> None:
    """Delete the file, if there is one."""
    with suppress(OSError):
        os.unlink(file_of(recording_id))


def framed(message: bytes) -> bytes:
    """Return a message as it stands in the file."""
    return b"%08x%08x%b" % (crc32(message), len(message), message)


def settle(directory: Path) -> None:
    """Add what the file says to the recording, and delete it. The kernel and its sidecar have to be dead."""
    if not is_id(directory.name) or not os.path.exists(file_of(directory.name)):
        return
    with suppress(OSError):
        if said := _said(directory.name):
            file = JsonLines(directory / KERNEL)
            done = file.write(*said)
            file.close()
            if not done:
                return
        discard(directory.name)


def _said(recording_id: str) -> list[dict[str, Any]]:
    """Return the start of the newest cell, and its end if it has ended. Raises OSError."""
    descriptor = os.open(file_of(recording_id), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not is_own(status) or status.st_nlink != 1:
            return []
        data = os.pread(descriptor, _SIZE, 0)
    finally:
        os.close(descriptor)
    start, end = _event(data, "cell_start"), _event(data[END_AT:], "cell_end")
    if start is None:
        return []
    return [start, end] if end is not None and end.get("seq") == start.get("seq") else [start]


def _event(data: bytes, kind: str) -> dict[str, Any] | None:
    try:
        message = data[_HEADER_BYTES:][: int(data[8:_HEADER_BYTES], 16)]
        event = json.loads(message) if framed(message)[:8] == data[:8] else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and event.get("event") == kind else None
