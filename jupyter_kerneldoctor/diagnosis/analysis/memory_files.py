"""Files that are kept in memory and count towards its limit: shared memory, and what a tmpfs holds (tmpfs(5))."""

from collections.abc import Iterable
from typing import NamedTuple

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

_KINDS = ("tmpfs", "ramfs")


class FilesInMemory(NamedTuple):
    """By how much the files of one such file system grew while they were recorded."""

    path: str
    bytes: int
    is_shared_memory: bool
    """Where `multiprocessing.shared_memory` and PyTorch put what processes share (shm_open(3))."""


def files_in_memory(states: Iterable[SystemState]) -> tuple[FilesInMemory, ...]:
    """Return the file systems in memory that grew, most first."""
    seen: dict[str, list[FileSystem]] = {}
    for one in (one for state in states for one in state.filesystems):
        if one.kind in _KINDS and one.total_bytes is not None and one.free_bytes is not None:
            seen.setdefault(one.path, []).append(one)
    found = (
        FilesInMemory(path, (looks[0].free_bytes or 0) - (looks[-1].free_bytes or 0), "shm" in looks[-1].roles)
        for path, looks in seen.items()
        if looks[0].total_bytes == looks[-1].total_bytes
    )
    return tuple(sorted((one for one in found if one.bytes > 0), key=lambda one: -one.bytes))
