"""Append-only files of JSON lines, which a torn tail cannot spoil.

A line is written with one `write`. A reader takes whole lines and passes over what it cannot parse, so it may read
while a writer writes, and after a writer died in the middle of a line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .private_files import open_private, read_file, read_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 32 << 20
"""How much of a file is read: a journal of a week. Of a longer one the middle is left out."""
LONGEST_LINE_BYTES = 4 << 20
"""A longer line is none of ours: a cell's source has at most 128 Ki characters, of at most twelve bytes each."""

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


class JsonLines:
    """One append-only file with one writer.

    A write that fails (disk full, quota, directory gone) is counted in `lost` and otherwise passed over; the next
    write starts on a line of its own, so that a line cut in the middle spoils only itself.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open for appending. Raises OSError."""
        self._fd = open_private(path, os.O_APPEND)
        self._torn = os.fstat(self._fd).st_size > 0  # an earlier writer may have left half a line
        self.lost = 0

    def write(self, *values: Any) -> bool:
        """Append each value as one line; return whether all of it is in the file."""
        done = self._append(b"".join(encoded(value) for value in values))
        if not done:
            self.lost += len(values)
        return done

    def _append(self, data: bytes) -> bool:
        if self._torn:
            data = b"\n" + data
        try:
            written = os.write(self._fd, data)
        except OSError:
            written = 0
        if written:
            self._torn = written != len(data)
        return written == len(data)

    def sync(self) -> None:
        """Ask the disk to keep what was written; not being able to is no error here."""
        try:
            os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
        except OSError:
            pass

    def truncate(self) -> None:
        """Empty the file."""
        try:
            os.ftruncate(self._fd, 0)
            self._torn = False
        except OSError:
            pass

    def close(self) -> None:
        """Close the file; further writes are lost."""
        descriptor, self._fd = self._fd, -1  # also where closing fails, as on a full quota: the number is free then
        os.close(descriptor)

    def __del__(self) -> None:
        """Close the file: a sidecar that watches many kernels outlives each of them."""
        if getattr(self, "_fd", -1) >= 0:
            self.close()


def encoded(value: Any) -> bytes:
    """A value as one line."""
    return _encode(value).encode("ascii") + b"\n"


def read_lines(path: Path) -> list[Any]:
    """Return the value of each whole and valid line; nothing at all when the file cannot be read."""
    try:
        return values(read_file(path, MOST_BYTES))
    except OSError:
        return []


def read_events_from(path: Path, offset: int, kind: str = "") -> tuple[list[dict[str, Any]], int]:
    """The events that were written after an offset, and the offset to go on from: behind the last whole line.

    With a kind only those; what does not name it is not parsed.
    """
    try:
        data = read_part(path, offset, MOST_BYTES)
    except OSError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    naming = b"\n".join(line for line in whole.split(b"\n") if kind.encode("ascii") in line) if kind else whole
    found = [value for value in values(naming) if _is_event(value) and (not kind or value["event"] == kind)]
    return found, offset + len(whole)


def read_events(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal that are events: objects with an `event` name."""
    return [value for value in read_lines(path) if _is_event(value)]


def values(data: bytes) -> list[Any]:
    """Return the value of each whole and valid line."""
    lines = [line for line in data.split(b"\n") if 0 < len(line) <= LONGEST_LINE_BYTES]
    try:  # all at once takes a third of the time; a line that is damaged spoils the whole, and they are read one by one
        found: list[Any] = json.loads(b"[" + b",\n".join(lines) + b"]")
    except (ValueError, RecursionError):
        return list(_one_by_one(lines))
    return found


def _one_by_one(lines: list[bytes]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("event"), str)
