"""Whether a recording can still be written: asked by those who tell the user, never while a cell runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ENOUGH_BYTES = 64 * 1024
"""With less free a file system is full for us: it takes space in blocks, and several files are written."""


def trouble(directory: Path) -> str | None:
    """Why what happens now is not kept, as half a sentence; None when nothing speaks against it."""
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
