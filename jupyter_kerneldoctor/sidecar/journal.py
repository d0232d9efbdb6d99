"""Writes the journal so that the last cell and the end are kept even when the disk is full.

Space for them is reserved in advance, behind the end of the file. When no more can be reserved, ordinary events are
lost and counted. What the kernel sent about its newest cell, and about requests to end, is not lost: it waits in memory
until there is space again, or until the end, for which the reserve may be used up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..recording.cell_source import shortened
from ..recording.disk_reserve import release, reserve
from ..recording.journal import JsonLines, encoded
from .memory_reserve import memory_reserve
from .source_deduplication import SourceDeduplicator

if TYPE_CHECKING:
    from pathlib import Path

RESERVED_BYTES = 48 * 1024
"""For all that is written at the end: the cell, the stack, the system's state, the end itself."""

_FOR_THE_END_BYTES = 16 * 1024
_STEP_BYTES = 16 * 1024
_MOST_BYTES = 128 * 1024 * 1024
"""Of ordinary events: a month of work. User code that talks without end must not fill the disk."""
_LONGEST_WAITING_BYTES = 16 * 1024
_SOURCE_CHARACTERS = 8 * 1024  # one takes up to twelve bytes in JSON
_OF_THE_CELL = ("cell_start", "cell_end", "cell_withdrawn")


class Journal(JsonLines):
    """The file, and the events that wait for space in it."""

    def __init__(self, path: Path) -> None:
        """Open for appending, and reserve space. Raises OSError."""
        super().__init__(path)
        self._can_reserve = True
        self._reserved_bytes = 0
        """How much is reserved behind the end of the file."""
        self._withheld_bytes = RESERVED_BYTES
        """How much of the reserve ordinary events may not use."""
        self._written_bytes = 0
        self._waiting: list[dict[str, Any]] = []
        self._deduplicator = SourceDeduplicator()
        self._memory = memory_reserve()
        self._reserve(0)

    def write_received(self, event: dict[str, Any]) -> None:
        """Append an event of the kernel's or the server's. If it matters for the end and has no space now, it waits."""
        kind = event["event"]
        if kind not in (*_OF_THE_CELL, "exit_request"):
            self.write(event)
            return
        if kind == "cell_start":
            self._forget_older_cell()
            event = self._deduplicator.deduplicate(event)
        self._waiting.append(event)
        self._write_waiting()
        self._waiting = [_short(waiting) for waiting in self._waiting]

    def begin_end(self) -> None:
        """Let the events from now on, which are about the end, use the reserve."""
        self._withheld_bytes = _FOR_THE_END_BYTES
        self._write_waiting()
        self.lost += len(self._waiting)

    def write_end(self, event: dict[str, Any]) -> None:
        """Append the last event, for which the whole reserve may be used."""
        self._withheld_bytes = 0
        self.write(event)

    def close(self) -> None:
        """Close the file, and release the space that was not needed."""
        release(self._fd)
        super().close()

    def _append(self, data: bytes) -> bool:
        length = len(data) + 1  # a line that was cut is ended first
        if not self._may_write(length):
            return False
        done = super()._append(data)
        # Memory may be what is missing: a new page of the file counts towards the memory limit.
        while not done and self._memory.release_block():
            done = super()._append(data)
        self._reserved_bytes = max(0, self._reserved_bytes - length)
        self._written_bytes += length
        return done

    def _may_write(self, length: int) -> bool:
        if self._written_bytes > _MOST_BYTES and self._withheld_bytes == RESERVED_BYTES:
            return False  # as on a disk that is full: the newest cell and the end are still to come
        if self._reserved_bytes >= length + self._withheld_bytes or self._reserve(length):
            return True
        # Without a reserve, only writing shows what can be written.
        return self._reserved_bytes == 0

    def _reserve(self, length: int) -> bool:
        if not self._can_reserve:
            return False
        wanted = length + RESERVED_BYTES + _STEP_BYTES
        done = reserve(self._fd, wanted)
        self._can_reserve = done is not None
        if done:
            self._reserved_bytes = wanted
        return bool(done)

    def _forget_older_cell(self) -> None:
        newer = [event for event in self._waiting if event["event"] not in _OF_THE_CELL]
        self.lost += len(self._waiting) - len(newer)
        self._waiting = newer

    def _write_waiting(self) -> None:
        while self._waiting and self._append(encoded(self._waiting[0])):
            written = self._waiting.pop(0)
            if written["event"] == "cell_start":
                self._deduplicator.remember(written)


def _short(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event, with less of the cell's source if it is too long for the reserve."""
    if len(encoded(event)) <= _LONGEST_WAITING_BYTES:
        return event
    source, characters, short = event.get("source"), _SOURCE_CHARACTERS, event
    while isinstance(source, str) and len(encoded(short)) > _LONGEST_WAITING_BYTES:
        short = {**event, **shortened(source, characters)}
        short |= {name: event[name] for name in ("source_length", "source_sha256") if name in event}
        characters //= 2
    return short


def current_traceback() -> str:
    """Return the traceback of the exception that is being handled.

    `traceback` takes half a megabyte of the sidecar's memory, and a sidecar without a fault never needs it.
    """
    from traceback import format_exc  # noqa: PLC0415 - see above

    return format_exc()
