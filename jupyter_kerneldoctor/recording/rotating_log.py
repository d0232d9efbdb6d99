"""Keeps the newest part of an endless stream in two files of bounded size, which outlive their writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .journal import JsonLines

if TYPE_CHECKING:
    from pathlib import Path


class RotatingLog:
    """Two files of JSON lines. When one is full, the other is emptied and used: so one full file is always kept."""

    def __init__(self, directory: Path, names: tuple[str, str], most_bytes: int) -> None:
        """Open both files, of at most `most_bytes` each. Raises OSError."""
        self._paths = [directory / name for name in names]
        self._files = [JsonLines(path) for path in self._paths]
        self._most_bytes = most_bytes
        self._current = int(_newer(self._paths[1]) > _newer(self._paths[0]))

    def write(self, value: Any) -> bool:
        """Append a value as one line; return whether it is in the file."""
        if self._is_full():
            self._current = 1 - self._current
            self._files[self._current].truncate()
        return self._files[self._current].write(value)

    @property
    def lost(self) -> int:
        """How many values could not be written."""
        return sum(file.lost for file in self._files)

    def _is_full(self) -> bool:
        try:
            return self._paths[self._current].stat().st_size > self._most_bytes - LONGEST_LINE_BYTES
        except OSError:
            return False


def _newer(path: Path) -> float:
    status = path.stat()
    return status.st_mtime if status.st_size else 0.0


LONGEST_LINE_BYTES = 8192
"""The longest line that may be written."""
