"""The newest bytes of a stream, in memory that two processes share: one writes, the other reads whatever becomes of it.

A memfd of `HEADER_BYTES` + `SIZE_BYTES`. Byte n of the stream lies at n modulo `SIZE_BYTES` of the second part; the
first eight bytes count how many were written. The place of the next bytes is always blank. So what a writer that died
had no time to count are the bytes there that are not blank.
"""

from __future__ import annotations

import os
import sys

from .mapping import Mapping

HEADER_BYTES = 64
SIZE_BYTES = 64 * 1024
AHEAD_BYTES = 1000
"""The most that is read at once. ipykernel reads so much, and cuts characters there."""


class RingWriter:
    """The writing side."""

    def __init__(self) -> None:
        """Take all the memory now, so that none is needed when there is none. Raises OSError; Linux only."""
        self.fd = os.memfd_create("kerneldoctor-output")
        try:
            self._mapping = Mapping(self.fd, HEADER_BYTES + SIZE_BYTES)
        except BaseException:
            os.close(self.fd)
            raise
        shared = memoryview(self._mapping.memory)
        self._views = [shared, shared[:8], shared[:8].cast("Q"), shared[HEADER_BYTES:]]
        self._count, self._bytes = self._views[2:]
        self.total = 0
        """How many bytes were written so far."""

    def read_from(self, source: int) -> bytes:
        """Like `os.read(source, AHEAD_BYTES)`, but at no moment are the bytes in this process only. Raises OSError."""
        places = self._next_places()
        try:
            size = os.readv(source, places)
            data = b"".join(places)[:size]
        finally:
            _release(places)  # without the GIL a frame that another thread has looked at lives on for a while
        self.total += size
        ahead = self._next_places()
        for place in ahead:
            place[:] = bytes(len(place))
        _release(ahead)
        self._count[0] = self.total
        return data

    def close(self) -> None:
        """Free the memory; what user code has opened under our numbers meanwhile stays open."""
        if not self._views:
            return
        while self._views:
            self._views.pop().release()
        self._mapping.close()
        if self._mapping.is_behind(self.fd):
            os.close(self.fd)

    def _next_places(self) -> list[memoryview]:
        begin = self.total % SIZE_BYTES
        first = self._bytes[begin : begin + AHEAD_BYTES]
        return [first, self._bytes[: AHEAD_BYTES - len(first)]] if len(first) < AHEAD_BYTES else [first]


class RingReader:
    """The reading side; each byte is given out once."""

    def __init__(self, fd: int, begin: int = 0) -> None:
        """Read from the byte `begin` on."""
        self._fd = fd
        self._taken = begin

    def take(self) -> bytes:
        """What was written since the last call, as far as it is still there. Raises OSError."""
        total = self._total()
        if total == self._taken:
            return b""
        data = os.pread(self._fd, SIZE_BYTES, HEADER_BYTES)
        # What is older may have been overwritten meanwhile: by what is not counted yet, and by the blank behind that.
        oldest = self._total() + 2 * AHEAD_BYTES - SIZE_BYTES
        begin, self._taken = max(self._taken, oldest), total
        return (data * 2)[begin % SIZE_BYTES :][: max(0, total - begin)]

    def take_uncounted(self) -> bytes:
        """What a writer that has died had no time to count."""
        data = os.pread(self._fd, SIZE_BYTES, HEADER_BYTES)
        return (data * 2)[self._total() % SIZE_BYTES :][:AHEAD_BYTES].rstrip(b"\0")

    def _total(self) -> int:
        return int.from_bytes(os.pread(self._fd, 8, 0), sys.byteorder)


def _release(views: list[memoryview]) -> None:
    for view in views:
        view.release()
