"""Memory touched in advance.

The sidecar lives under the memory limit of its kernel. Where that is reached and nobody is killed, whoever touches a
new page waits until somebody frees one (memory.oom_control in Documentation/admin-guide/cgroup-v1/memory.rst): then the
sidecar could not even note that. So it touches what it is going to need while there is room.
"""

from __future__ import annotations

_LARGE_BYTES = 1 << 20
_HEAP_BYTES = 512 << 10
_SMALL_BYTES = 400  # Python's own allocator takes what has at most 512 bytes, in arenas of 1 MiB
_SMALL_COUNT = 1200
_PIN_EACH = 300


def touch() -> list[bytes]:
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
