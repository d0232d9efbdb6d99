"""The newest cell in a file in memory: what is left of it when kernel and sidecar are killed together.

The kernel writes the start of each cell there before it sends it, and its end. A write to memory waits for no disk, and
the file outlives both processes; a restart of the machine or the container ends it. When both are dead, whoever finds
the file first adds it to the kernel's file in the recording. A sidecar that lives has all of it, and deletes it.
"""

from __future__ import annotations

import json
import os
import stat
import time
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
_READS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_HEADER_BYTES = 16  # checksum and length in hexadecimal: a write may have been cut off by the kill


_PLACE = "/dev/shm"  # noqa: S108 - files are made with O_EXCL there. Only Linux has it
_PREFIX = "kerneldoctor-"
_KEPT_S = 24 * 3600.0


def file_of(recording_id: str) -> str:
    """Return the path of the file."""
    return f"{_PLACE}/{_PREFIX}{recording_id}"


def create(recording_id: str) -> Mapping | None:
    """Make the file and map it; None where that is not possible. It is locked for as long as it is mapped."""
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        descriptor = os.open(file_of(recording_id), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


def tidy() -> None:
    """Delete the files whose kernel has ended and whose recording nobody has read for a day, or is gone."""
    for recording_id in ids():
        with suppress(OSError):
            _tidy(file_of(recording_id))


def ids() -> list[str]:
    """Return the recordings that have a file; other names, which anybody can put there, are none."""
    try:
        names = os.listdir(_PLACE)
    except OSError:
        return []
    return [one for name in names if name.startswith(_PREFIX) and is_id(one := name.removeprefix(_PREFIX))]


def framed(message: bytes) -> bytes:
    """Return a message as it stands in the file."""
    return b"%08x%08x%b" % (crc32(message), len(message), message)


def settle(directory: Path) -> None:
    """Add what the file says to the recording, and delete it. The kernel and its sidecar have to be dead."""
    if not is_id(directory.name) or not os.path.exists(file_of(directory.name)):
        return
    with suppress(OSError):
        if (said := _said(directory.name)) and not _is_added(directory, said):
            return
        discard(directory.name)


def _is_added(directory: Path, events: list[dict[str, Any]]) -> bool:
    """Write events down; return whether nothing is left to write. Raises OSError."""
    file = JsonLines(directory / KERNEL)
    try:
        return file.write(*events)
    except (ValueError, RecursionError):  # nested as deep as can be read, but not written
        return True
    finally:
        file.close()


def _tidy(path: str) -> None:
    import fcntl  # noqa: PLC0415 - Windows has none

    descriptor = os.open(path, _READS)
    try:
        status = os.fstat(descriptor)
        if _is_ours(status) and time.time() - status.st_mtime > _KEPT_S:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError while it is mapped
            os.unlink(path)
    finally:
        os.close(descriptor)


def _said(recording_id: str) -> list[dict[str, Any]]:
    """Return the start of the newest cell, and its end if it has ended. Raises OSError."""
    descriptor = os.open(file_of(recording_id), _READS)
    try:
        if not _is_ours(os.fstat(descriptor)):
            return []
        data = os.pread(descriptor, _SIZE, 0)
    finally:
        os.close(descriptor)
    start, end = _event(data, "cell_start"), _event(data[END_AT:], "cell_end")
    if start is None:
        return []
    return [start, end] if end is not None and end.get("seq") == start.get("seq") else [start]


def _is_ours(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and is_own(status) and status.st_nlink == 1


def _event(data: bytes, kind: str) -> dict[str, Any] | None:
    try:
        message = data[_HEADER_BYTES:][: int(data[8:_HEADER_BYTES], 16)]
        event = json.loads(message) if framed(message)[:8] == data[:8] else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and event.get("event") == kind else None
