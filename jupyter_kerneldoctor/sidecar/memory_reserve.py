"""Memory touched in advance.

The sidecar lives under the memory limit of its kernel. Where that is reached and nobody is killed, whoever touches a
new page waits until somebody frees one (memory.oom_control in Documentation/admin-guide/cgroup-v1/memory.rst): then the
sidecar could not even note that. So it touches what it is going to need while there is room.
"""

from __future__ import annotations

import mmap

_LARGE_BYTES = 1 << 20
_HEAP_BYTES = 512 << 10
_SMALL_BYTES = 400  # Python's own allocator takes what has at most 512 bytes, in arenas of 1 MiB
_SMALL_COUNT = 1200
_PIN_EACH = 300


def touch_heap() -> list[bytes]:
    """Leave touched and free memory to both of the allocators; it stays so while what is returned is kept.

    glibc gives a block to the system when it is freed, until one of its size was freed before; from then on it takes
    such blocks from its heap, and keeps twice as much of that (M_MMAP_THRESHOLD in mallopt(3)).
    """
    large = bytes(_LARGE_BYTES)
    del large
    heap = b"\1" * _HEAP_BYTES
    del heap
    small = [b"%d" % number + b"\1" * _SMALL_BYTES for number in range(_SMALL_COUNT)]
    return small[::_PIN_EACH]


_SPARE_BYTES = 64 << 10
_SPARES = 4


class MemoryReserve:
    """Memory to be let go when a write needs some: a new page of a file counts towards the limit, too.

    A system call gets ENOMEM then, or writes less; the kernel, which waits for memory as well, may be faster once.
    """

    def __init__(self) -> None:
        self._blocks = [mmap.mmap(-1, _SPARE_BYTES) for _ in range(_SPARES)]
        for block in self._blocks:
            block.write(b"\1" * _SPARE_BYTES)

    def release_block(self) -> bool:
        """Free a part of it; False when there is none left."""
        if self._blocks:
            self._blocks.pop().close()
            return True
        return False
