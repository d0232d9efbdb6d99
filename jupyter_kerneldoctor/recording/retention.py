"""Which recordings are kept: the newest, up to an age and a total size; never one less because its kernel lives.

The sidecar that starts does the clean-up, so this imports little.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from .layout import JOURNAL, is_id
from .processes import ProcessIdentity, is_alive

if TYPE_CHECKING:
    from pathlib import Path


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


def tidy(parent: Path, policy: Policy) -> None:
    """Delete the recordings below `parent` that are too many, too old or too big, oldest first.

    Recordings of living kernels stay. What cannot be deleted stays, too: another sidecar may be at the same work.
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
            pid, start, boot = json.loads(file.readline())["process"]
            return is_alive(ProcessIdentity(pid, start, boot))
    except (OSError, ValueError, KeyError, TypeError):
        # No readable first line: a recording that is just being created, or the remains of one.
        return time.time() - directory.stat().st_mtime < 60.0
