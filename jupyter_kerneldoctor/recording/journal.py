"""Append-only files of JSON lines, which a torn tail cannot spoil.

A line is written with one `write`. A reader takes whole lines and passes over what it cannot parse, so it may read
while a writer writes, and after a writer died in the middle of a line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .layout import open_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        os.close(self._fd)


def encoded(value: Any) -> bytes:
    """A value as one line."""
    return _encode(value).encode("ascii") + b"\n"


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the value of each whole and valid line; nothing at all when the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    yield from _values(data)


def read_events_from(path: Path, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The events that were written after an offset, and the offset to go on from: behind the last whole line."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except OSError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    return [value for value in _values(whole) if _is_event(value)], offset + len(whole)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal that are events: objects with an `event` name."""
    for value in read_lines(path):
        if _is_event(value):
            yield value


def _values(data: bytes) -> Iterator[Any]:
    lines = data.split(b"\n")
    try:  # all at once takes a third of the time; a line that is damaged spoils the whole, and they are read one by one
        values = json.loads(b"[" + b",\n".join(line for line in lines if line) + b"]")
    except (ValueError, RecursionError):
        yield from _one_by_one(lines)
    else:
        yield from values


def _one_by_one(lines: list[bytes]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("event"), str)
