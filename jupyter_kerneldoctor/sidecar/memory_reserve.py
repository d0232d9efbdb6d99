"""Touches memory in advance, so that the sidecar can still work when the memory limit is reached.

The sidecar shares its kernel's memory limit. Where that is reached and nobody is killed, whoever touches a new page
waits until another is freed (memory.oom_control in Documentation/admin-guide/cgroup-v1/memory.rst), and the sidecar
could not even record that. So it touches what it will need while there is memory.
"""

import mmap

_LARGE_BYTES = 1 << 20
_HEAP_BYTES = 512 << 10
_SMALL_BYTES = 400  # Python's own allocator takes what has at most 512 bytes, in arenas of 1 MiB
_SMALL_COUNT = 1200
_PIN_EACH = 300


def touch_heap() -> list[bytes]:
    """Leave touched, free memory to Python's and glibc's allocators, for as long as the result is kept.

    glibc returns a large block to the system when it is freed. After the first of a size it takes such blocks from its
    heap, and keeps twice as much of that (M_MMAP_THRESHOLD in mallopt(3)).
    """
    large = bytes(_LARGE_BYTES)
    del large
    heap = b"\1" * _HEAP_BYTES
    del heap
    small = [b"%d" % number + b"\1" * _SMALL_BYTES for number in range(_SMALL_COUNT)]
    return small[::_PIN_EACH]


_BLOCK_BYTES = 64 << 10
_BLOCKS = 4


class MemoryReserve:
    """Blocks of memory to release when a write needs some: a new page of a file counts towards the limit, too.

    At the limit a write fails with ENOMEM or is cut short. The watched kernel waits for memory as well and may take a
    released block first, so there are several.
    """

    def __init__(self) -> None:
        self._blocks: list[mmap.mmap] = []

    def refill(self) -> None:
        """Touch as many blocks as were released: a process that watches many kernels has one reserve for all."""
        while len(self._blocks) < _BLOCKS:
            self._blocks.append(mmap.mmap(-1, _BLOCK_BYTES))
            self._blocks[-1].write(b"\1" * _BLOCK_BYTES)

    def release_block(self) -> bool:
        """Release one block; return False when none is left."""
        if self._blocks:
            self._blocks.pop().close()
            return True
        return False


_reserve: list[MemoryReserve] = []


def memory_reserve() -> MemoryReserve:
    """Return this process's reserve, and touch again what has been released of it."""
    if not _reserve:
        _reserve.append(MemoryReserve())
    _reserve[0].refill()
    return _reserve[0]
