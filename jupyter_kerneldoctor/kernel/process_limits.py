"""The limits on the memory that this process may reserve (getrlimit(2)), and how much of each is in use."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

if sys.platform != "win32":
    import resource
    from posix import read  # not that of `os`, which some libraries replace by one that runs other code meanwhile


class ProcessLimit(NamedTuple):
    """A limit that is set; Linux refuses memory beyond it."""

    option: str
    """What the shell calls it: "ulimit -v"."""
    bytes: int
    used_bytes: int


def process_limits() -> list[ProcessLimit]:
    """Return the limits of address space and data that are set. Raises OSError."""
    sizes: list[int] = []
    found = []
    for number, limit, option in ((0, resource.RLIMIT_AS, "ulimit -v"), (5, resource.RLIMIT_DATA, "ulimit -d")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            sizes = sizes or _sizes_bytes()
            found.append(ProcessLimit(option, soft, sizes[number]))
    return found


def _sizes_bytes() -> list[int]:
    """Return the fields of /proc/self/statm (proc_pid_statm(5)): the first is all memory, the sixth data and stack."""
    descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return [int(pages) * resource.getpagesize() for pages in read(descriptor, 4096).split()]
    finally:
        os.close(descriptor)
