"""The journal as the sidecar writes it: on a disk that is full there is still room for the last cell and the end.

That room is taken in advance, behind the end of the file, while there is some. When no more is to be had, ordinary
events are lost and counted. Of what the kernel said of its newest cell, and of being asked to end, nothing is: it waits
in memory until there is room, or for the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..recording.cell_source import shortened
from ..recording.disk_reserve import release, reserve
from ..recording.journal import JsonLines, encoded
from .memory_reserve import MemoryReserve
from .source_deduplication import SourceDeduplicator

if TYPE_CHECKING:
    from pathlib import Path

RESERVED_BYTES = 48 * 1024
"""For all that is written at the end: the cell, the stack, the surroundings, the end itself."""

_FOR_THE_END_BYTES = 16 * 1024
_STEP_BYTES = 16 * 1024
_LONGEST_WAITING_BYTES = 16 * 1024
_SOURCE_CHARACTERS = 8 * 1024  # one takes up to twelve bytes in JSON
_OF_THE_CELL = ("cell_start", "cell_end", "cell_withdrawn")


class Journal(JsonLines):
    """The file, and what waits for room in it."""

    def __init__(self, path: Path) -> None:
        """Open for appending, and take room. Raises OSError."""
        super().__init__(path)
        self._can_reserve = True
        self._reserved_bytes = 0
        """How much is taken behind the end of the file."""
        self._withheld_bytes = RESERVED_BYTES
        """How much of that is not for ordinary events."""
        self._waiting: list[dict[str, Any]] = []
        self._deduplicator = SourceDeduplicator()
        self._memory = MemoryReserve()
        self._reserve(0)

    def write_received(self, event: dict[str, Any]) -> None:
        """Append what the kernel or the server said. What has no room now waits, if the end cannot be told without."""
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
        """Everything from now on is about the end, and may take the room that was held for it."""
        self._withheld_bytes = _FOR_THE_END_BYTES
        self._write_waiting()
        self.lost += len(self._waiting)

    def write_end(self, event: dict[str, Any]) -> None:
        """Append the event after which nothing can be missed: nothing is held back for another one."""
        self._withheld_bytes = 0
        self.write(event)

    def close(self) -> None:
        """Close the file, and give back the room that was not needed."""
        release(self._fd)
        super().close()

    def _append(self, data: bytes) -> bool:
        length = len(data) + 1  # a line that was cut is ended first
        if not self._may_write(length):
            return False
        done = super()._append(data)
        # It may have been for want of memory: a new page of the file counts towards the limit.
        while not done and self._memory.release_block():
            done = super()._append(data)
        self._reserved_bytes = max(0, self._reserved_bytes - length)
        return done

    def _may_write(self, length: int) -> bool:
        if self._reserved_bytes >= length + self._withheld_bytes or self._reserve(length):
            return True
        # Without any room that was taken in advance, what can be written is found out by writing.
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
    """The event, with less of the cell's source if it is too long for the room that is held."""
    if len(encoded(event)) <= _LONGEST_WAITING_BYTES:
        return event
    source, characters, short = event.get("source"), _SOURCE_CHARACTERS, event
    while isinstance(source, str) and len(encoded(short)) > _LONGEST_WAITING_BYTES:
        short = {**event, **shortened(source, characters)}
        short |= {name: event[name] for name in ("source_length", "source_sha256") if name in event}
        characters //= 2
    return short
