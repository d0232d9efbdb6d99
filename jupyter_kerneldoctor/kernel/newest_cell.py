"""Writes the newest cell into memory that outlives this process and its sidecar (`recording.newest_cell`)."""

import sys

from ..recording.newest_cell import END_AT, MOST_BYTES, create, discard, framed


class NewestCell:
    """The file of one recording. Writing takes a microsecond or two, waits for nothing, and never raises."""

    def __init__(self, recording_id: str) -> None:
        """Make the file; where that is not possible, do without."""
        self._recording_id = recording_id
        self._mapping = create(recording_id) if sys.platform == "linux" else None

    def started(self, message: bytes) -> bool:
        """Write the start of a cell; return False if it is too long."""
        if len(message) <= MOST_BYTES:
            self._write(0, framed(message))
            return True
        return False

    def ended(self, message: bytes) -> None:
        """Write the end of the cell that was started last."""
        self._write(END_AT, framed(message[:_LONGEST_END_BYTES]))

    def close(self) -> None:
        """Delete the file."""
        mapping, self._mapping = self._mapping, None
        if mapping is not None:
            mapping.close()
            discard(self._recording_id)

    def _write(self, offset: int, data: bytes) -> None:
        if self._mapping is not None:
            self._mapping.memory[offset : offset + len(data)] = data


_LONGEST_END_BYTES = 2048
"""An end that is longer, by the name of an error, is not known."""
