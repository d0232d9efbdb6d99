"""Tells how much of a large block of memory has been written to.

Linux gives memory page by page, when it is first written to (mmap(2)): an array of `np.zeros` takes none at first.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from mmap import PAGESIZE
from typing import Any

LEAST_BYTES = 64 << 20
"""Smaller blocks are taken to be written to."""
_PLACES, _PAGES = 64, 16
"""How many places of a block are looked at, and how many pages at each."""


def written_bytes(address: int, size: int) -> int:
    """Estimate how many bytes of a block are in memory, from places spread over it; all where that is unknown."""
    mincore = _mincore()
    pages = size // PAGESIZE - _PAGES
    if mincore is None or size < LEAST_BYTES:
        return size
    first, found, states = -(-address // PAGESIZE), 0, ctypes.create_string_buffer(_PAGES)
    for place in range(_PLACES):
        begin = (first + place * pages // _PLACES) * PAGESIZE
        if mincore(begin, _PAGES * PAGESIZE, states) != 0:
            return size
        found += sum(one & 1 for one in states.raw)
    return size * found // (_PLACES * _PAGES)


@cache
def _mincore() -> Any:
    """Return mincore(2), called without giving the GIL away: the block must stay where it is meanwhile."""
    function = getattr(ctypes.PyDLL(None), "mincore", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p], ctypes.c_int
    return function
