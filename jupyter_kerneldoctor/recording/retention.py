"""Decides which recordings are kept: the newest, up to an age and a total size, and those of living kernels.

The sidecar that starts does the clean-up, so this imports little.
"""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from .layout import JOURNAL, REPORT, ROW, is_id
from .newest_cell import discard, file_of, settle, tidy
from .private_files import open_file_in, recording, recordings
from .processes import boot_id, identity_of, is_alive, namespaces

if TYPE_CHECKING:
    from pathlib import Path


_SILENT_S = 3600.0
"""The sidecar of a living kernel writes every few seconds, but the clocks of machines may differ by minutes."""

_HEAD_BYTES = 64 * 1024
"""The first line of a journal is never longer."""

_TRIES = 5
"""A reader may be keeping its row in the recording that is deleted."""


class Policy(NamedTuple):
    """How much is kept."""

    recordings: int = 200
    age_s: float = 30 * 24 * 3600.0
    total_bytes: int = 500 * 1024 * 1024

    @classmethod
    def of(cls, numbers: object) -> Policy:
        """Return the policy of these three numbers in the order above; the usual one where they are none."""
        if not isinstance(numbers, list) or len(numbers) != len(cls._fields):
            return cls()
        is_known = all(type(one) in (int, float) and 0 <= one < 1 << 63 for one in numbers)
        return cls(*numbers) if is_known else cls()


def remove(directory: Path) -> None:
    """Delete a recording's directory with all its files. Raises OSError, but not when another process was faster.

    Everything is deleted by way of the open directory, so that nothing is deleted anywhere else.
    """
    try:
        with recordings(directory.parent) as parent:
            _remove(parent, directory.name)
    except FileNotFoundError:
        return


def prune(parent: Path, policy: Policy, own: str | None = None) -> None:
    """Delete the recordings below `parent` that are too many, too old or too big, oldest first.

    Recordings of living kernels stay. Whether a kernel of another machine lives nobody here can tell, so its recording
    stays while it is written to. What cannot be deleted stays, too: another sidecar may be at the same work. What is
    not this user's, or no recording at all, is left alone. So is `own`, which a wrong clock may date long ago.
    """
    try:
        with recordings(parent) as descriptor:
            _prune(parent, descriptor, policy, own)
        tidy()
    except OSError:
        return


def disk_bytes(directory: int) -> int:
    """Return what the disk holds of an open recording: a file may say that it is a thousand times as long."""
    return sum(512 * entry.stat(follow_symlinks=False).st_blocks for entry in os.scandir(directory))


def _prune(path: Path, parent: int, policy: Policy, own: str | None) -> None:
    position = kept_bytes = 0
    for name in sorted(filter(is_id, os.listdir(parent)), reverse=True):
        try:
            with recording(name, parent) as directory:
                position += 1
                kept_bytes += disk_bytes(directory)
                too_old = _silent_s(directory) > policy.age_s  # a kernel may have lived for months
                is_due = position > policy.recordings or too_old or kept_bytes > policy.total_bytes
                is_kept = not is_due or name == own or _kernel_lives(directory)
                if is_kept and os.path.exists(file_of(name)) and not _kernel_lives(directory):
                    settle(path / name)
            if not is_kept:
                _remove(parent, name)
        except Exception:  # noqa: S112 - a recording may hold anything; one must not keep the others from being tidied
            continue


def _remove(parent: int, name: str) -> None:
    for tries_left in reversed(range(_TRIES)):
        with recording(name, parent) as directory:
            for entry in os.listdir(directory):
                try:
                    os.unlink(entry, dir_fd=directory)
                except FileNotFoundError:
                    continue
        try:
            os.rmdir(name, dir_fd=parent)
            break
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not tries_left:
                raise
    discard(name)


def _kernel_lives(directory: int) -> bool:
    start = _first_event(directory)
    kernel = identity_of(start.get("process"))
    if kernel is None:
        # No readable first line: a recording that is just being created, or the remains of one.
        return time.time() - os.fstat(directory).st_mtime < 60.0
    is_here = start.get("hostname") in (None, os.uname().nodename) and start.get("namespaces") in (None, namespaces())
    if kernel.boot_id == boot_id() and is_here:
        return is_alive(kernel)
    return _silent_s(directory) < _SILENT_S


def _first_event(directory: int) -> dict[str, object]:
    try:
        descriptor = open_file_in(directory, JOURNAL, os.O_RDONLY)
    except OSError:
        return {}
    try:
        event = json.loads(os.read(descriptor, _HEAD_BYTES).partition(b"\n")[0])
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return event if isinstance(event, dict) else {}


def _silent_s(directory: int) -> float:
    """Return for how long nothing was written: machines or containers that share a home directory see only that."""
    written = (entry for entry in os.scandir(directory) if not entry.name.startswith((ROW, REPORT)))  # by its recorder
    times = [entry.stat(follow_symlinks=False).st_mtime for entry in written]
    return time.time() - max(times, default=os.fstat(directory).st_mtime)
