"""Has faulthandler write the traceback of a fatal signal into the recording.

`faulthandler.enable()` alone is of little use in a kernel: ipykernel captures the descriptor it writes to, and the text
is lost with the process. A file of our own keeps it. The user's own `faulthandler.enable()` wins, before ours and
after; its text is then among the captured output (`output_capture`).

faulthandler does not tell whether it still writes to us. So it is never switched off again: its descriptor stays open
and leads elsewhere, to /dev/null after `%unload_ext` and in forked children.
"""

from __future__ import annotations

import faulthandler
import os
from typing import TYPE_CHECKING

from ..recording.disk_reserve import reserve
from ..recording.layout import CRASH, O_CLOEXEC
from ..recording.private_files import open_private
from .descriptors import Inode, inode

if TYPE_CHECKING:
    from pathlib import Path

_RESERVED_BYTES = 16 * 1024
"""For a traceback when the disk is full: faulthandler writes at most 100 frames."""

_descriptor: int | None = None
_inode: Inode | None = None


def write_to(directory: Path) -> None:
    """Have faulthandler write into the recording in `directory`. Raises OSError."""
    global _descriptor  # noqa: PLW0603 - the process has one faulthandler
    if _descriptor is None:
        if faulthandler.is_enabled():
            return
        _descriptor = _open(directory)
        _remember()
        # Walking the frames of running threads sometimes crashes itself: an abort would end as a segfault.
        faulthandler.enable(file=_descriptor, all_threads=False)
        # A worker's crash must not be taken for the kernel's.
        os.register_at_fork(after_in_child=discard_output)
    elif _is_ours():
        _replace(_open(directory))


def discard_output() -> None:
    """Discard what faulthandler writes from now on."""
    if _is_ours():
        _replace(os.open(os.devnull, os.O_WRONLY | O_CLOEXEC))


def _open(directory: Path) -> int:
    descriptor = open_private(directory / CRASH, os.O_APPEND)
    reserve(descriptor, _RESERVED_BYTES)
    return descriptor


def _replace(descriptor: int) -> None:
    assert _descriptor is not None
    os.dup2(descriptor, _descriptor, inheritable=False)
    os.close(descriptor)
    _remember()


def _remember() -> None:
    global _inode  # noqa: PLW0603
    assert _descriptor is not None
    _inode = inode(_descriptor)


def _is_ours() -> bool:
    """Return whether the descriptor is still that of our file."""
    return _descriptor is not None and inode(_descriptor) == _inode
