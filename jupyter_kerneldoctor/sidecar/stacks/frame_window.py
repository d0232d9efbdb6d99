"""The interpreter's own frames as they lie in another process's memory."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from .memory import UnreadableError

if TYPE_CHECKING:
    from .layout import Layout
    from .memory import Memory

_PAGE_BYTES = 4096
_PAGES_BELOW = (3, 2, 1, 0)  # CPython keeps frames in pieces of 16 KiB
_TAGS = 7
"""The lowest bits of a reference to an object (objects are aligned to 8 bytes at least)."""

Link = tuple[int, int, int, int]
"""A frame's address, and what stands in it: the address of its caller's, the code, the instruction."""

CODE, INSTRUCTION = 2, 3


class Window:
    """Reads many frames at once: they lie one behind the other, callers below, and change less meanwhile.

    The pieces of a stack mostly lie side by side, so a long reach takes in a deep stack with one read. Generators keep
    their frames elsewhere; so the previous window is kept as well, to return to.
    """

    def __init__(self, memory: Memory, layout: Layout, reach_bytes: int = 0) -> None:
        self._memory = memory
        self._reach_bytes = reach_bytes
        offsets = sorted((layout.frame_previous, layout.frame_code, layout.frame_instruction))
        self._order = [offsets.index(at) for at in (layout.frame_previous, layout.frame_code, layout.frame_instruction)]
        first, second, third = offsets
        self._fields = struct.Struct(f"={first}xQ{second - first - 8}xQ{third - second - 8}xQ")
        self._start, self._data = 0, b""
        self._other = (0, b"")

    def link(self, address: int) -> Link:
        """Return the content of a frame. Raises UnreadableError."""
        at = address - self._start
        if not 0 <= at <= len(self._data) - self._fields.size:
            at = self._move(address)
        fields = self._fields.unpack_from(self._data, at)
        previous, code, instruction = self._order
        return address, fields[previous], fields[code] & ~_TAGS, fields[instruction]

    def _move(self, address: int) -> int:
        """Move to a window that holds an address, the previous one or a new one; return the offset in it."""
        old = self._start, self._data
        (self._start, self._data), self._other = self._other, old
        at = address - self._start
        if not 0 <= at <= len(self._data) - self._fields.size:
            at = self._read(address)
        return at

    def _read(self, address: int) -> int:
        ahead = max(self._reach_bytes, self._fields.size)
        for pages in _PAGES_BELOW:  # there may be a gap below
            below = address % _PAGE_BYTES + pages * _PAGE_BYTES
            try:
                self._data = self._memory.read_some(address - below, below + ahead)
            except UnreadableError:
                continue
            if len(self._data) >= below + self._fields.size:
                self._start = address - below
                return below
        raise UnreadableError
