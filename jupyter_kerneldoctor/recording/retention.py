"""Which recordings are kept: the newest, up to an age and a total size; never one less because its kernel lives.

The sidecar that starts does the clean-up, so this imports little.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from .layout import JOURNAL, is_id
from .processes import ProcessIdentity, boot_id, is_alive

if TYPE_CHECKING:
    from pathlib import Path


_SILENT_S = 3600.0
"""The sidecar of a living kernel writes each few seconds. Machines may differ about the time by some minutes."""


class Policy(NamedTuple):
    """How much is kept."""

    recordings: int = 200
    age_s: float = 30 * 24 * 3600.0
    total_bytes: int = 500 * 1024 * 1024


def remove(directory: Path) -> None:
    """Delete a recording's directory with all its files. Raises OSError, but not when another process was faster.

    Of a link to a directory only the link goes: what it points to lies elsewhere.
    """
    if directory.is_symlink():
        directory.unlink(missing_ok=True)
        return
    try:
        for entry in list(os.scandir(directory)):
            (directory / entry.name).unlink(missing_ok=True)
        directory.rmdir()
    except FileNotFoundError:
        return


def prune(parent: Path, policy: Policy) -> None:
    """Delete the recordings below `parent` that are too many, too old or too big, oldest first.

    Recordings of living kernels stay. Whether a kernel of another machine lives nobody here can tell, so its recording
    stays while it is written to. What cannot be deleted stays, too: another sidecar may be at the same work.
    """
    try:
        directories = sorted((path for path in parent.iterdir() if is_id(path.name)), reverse=True)
    except OSError:
        return
    kept_bytes = 0
    for position, directory in enumerate(directories):
        try:
            kept_bytes += sum(entry.stat().st_size for entry in os.scandir(directory))
            too_old = time.time() - directory.stat().st_mtime > policy.age_s
            if (position >= policy.recordings or too_old or kept_bytes > policy.total_bytes) and not _kernel_lives(
                directory
            ):
                remove(directory)
        except OSError:
            continue


def _kernel_lives(directory: Path) -> bool:
    try:
        with (directory / JOURNAL).open("rb") as file:
            start = json.loads(file.readline())
        pid, started, boot = start["process"]
        kernel, hostname = ProcessIdentity(pid, started, boot), start.get("hostname")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # No readable first line: a recording that is just being created, or the remains of one.
        return time.time() - directory.stat().st_mtime < 60.0
    if boot == boot_id() and hostname in (None, os.uname().nodename):
        return is_alive(kernel)
    return _silent_s(directory) < _SILENT_S


def _silent_s(directory: Path) -> float:
    """For how long nothing was written. A home directory may be that of several machines, or of several containers."""
    return time.time() - max(entry.stat().st_mtime for entry in os.scandir(directory))
