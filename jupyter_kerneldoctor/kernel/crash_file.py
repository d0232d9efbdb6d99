"""Has faulthandler write the traceback of a fatal signal into the recording.

`faulthandler.enable()` alone is of little use in a kernel: ipykernel captures the descriptor it writes to, and the text
is lost with the process. A file of our own keeps it. The user's own `faulthandler.enable()` wins, before ours and
after; its text is then among the captured output (`output_capture`).

faulthandler does not tell whether it still writes to us. But it holds on to the object that it was given for a file, so
nobody else does: it is gone when the user has told faulthandler to write elsewhere, or nowhere.
"""

from __future__ import annotations

import faulthandler
import os
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from ..recording.disk_reserve import reserve
from ..recording.layout import CRASH
from ..recording.private_files import open_private
from .descriptors import inode

if TYPE_CHECKING:
    from pathlib import Path

_RESERVED_BYTES = 16 * 1024
"""For a traceback when the disk is full: faulthandler writes at most 100 frames."""


class _File:
    """A descriptor, as faulthandler wants it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.inode = inode(descriptor)

    def fileno(self) -> int:
        return self.descriptor

    def flush(self) -> None:
        """Do nothing: faulthandler writes to the descriptor."""

    def is_open(self) -> bool:
        """Return whether the descriptor is still that of our file."""
        return inode(self.descriptor) == self.inode

    def __del__(self) -> None:
        """Close the file when faulthandler has let go of it, which may be when Python has ended."""
        with suppress(Exception):
            if self.is_open():
                os.close(self.descriptor)


_file: weakref.ref[_File] | None = None
"""The file that faulthandler writes to; dead when that is no longer ours."""
_handles_forks = False


def write_to(directory: Path, *, in_memory: bool = False) -> int | None:
    """Have faulthandler write into the recording in `directory`. Raises OSError.

    With `in_memory`, have it write to memory instead and return the descriptor of that, for the sidecar: a process that
    crashes is not to wait for a disk that does not answer.
    """
    global _file, _handles_forks  # noqa: PLW0603 - the process has one faulthandler
    if faulthandler.is_enabled() and _ours() is None:
        return None
    file = _File(os.memfd_create("kerneldoctor-crash") if in_memory else _open(directory))
    _file = weakref.ref(file)
    # Walking the frames of running threads sometimes crashes itself: an abort would end as a segfault.
    faulthandler.enable(file=file, all_threads=False)
    if not _handles_forks:
        _handles_forks = True
        os.register_at_fork(after_in_child=stop)  # a worker's crash must not be taken for the kernel's
    return file.descriptor if in_memory else None


def stop() -> None:
    """Have faulthandler write to us no more; if it writes for the user by now, let it."""
    if _ours() is not None:
        faulthandler.disable()


def _ours() -> _File | None:
    return None if _file is None else _file()


def _open(directory: Path) -> int:
    descriptor = open_private(directory / CRASH, os.O_APPEND)
    reserve(descriptor, _RESERVED_BYTES)
    return descriptor
