"""Keeps the row of a recording that has ended beside it, so that lists read no journals and ask no rules.

A row is kept with what it was made from: the rules, and the files of the recording that may still change. Where any of
that is different now, the row is made again. It is read like all else in a recording: what is no row counts as none.
"""

import json
import os
from binascii import crc32
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from ..recording.layout import JOURNAL, KERNEL, RECENT, ROW, SERVER
from ..recording.private_files import open_file_in, recording

Row = dict[str, Any]
Stamp = list[list[int] | None]
"""Size and time of the last change of each file in `_MAY_CHANGE`; None for one that is not there."""

_MAY_CHANGE = (JOURNAL, SERVER, KERNEL, *RECENT)
_MOST_BYTES = 32 * 1024
_LONGEST_TEXT = 8 * 1024

_TEXT, _TEXT_OR_NONE = (str,), (str, type(None))
_TYPES = {
    "recording": _TEXT,
    "kernel_id": _TEXT_OR_NONE,
    "pid": (int, type(None)),
    "notebook": _TEXT_OR_NONE,
    "started": _TEXT_OR_NONE,
    "ended": _TEXT_OR_NONE,
    "cause": _TEXT,
    "headline": _TEXT,
    "state": _TEXT,
    "died": (bool,),
    "survived": _TEXT_OR_NONE,
    "loaded_by": _TEXT_OR_NONE,
}
_SIMPLE = (str, int, float, bool, type(None))
_STATES = ("died", "survived", "ended", "unknown")
"""Of what has ended. A kernel that runs or is stuck has no row that could be kept."""


def stamp(directory: int) -> Stamp:
    """Return what the files of an open recording look like now."""
    return [_of_file(directory, name) for name in _MAY_CHANGE]


def read(directory: int, recording_id: str, now: Stamp) -> Row | None:
    """Return the row of an open recording; None where there is none that these rules made of these files."""
    try:
        descriptor = open_file_in(directory, ROW, os.O_RDONLY)
        try:
            kept = json.loads(os.read(descriptor, _MOST_BYTES))
        finally:
            os.close(descriptor)
        if kept["rules"] != rules() or kept["files"] != now:
            return None
        row = kept["row"]
        return row if _is_row(row) and row["recording"] == recording_id else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write(path: Path, row: Row, made_from: Stamp) -> None:
    """Keep a row; where that is not possible, do without. `made_from` was read before the recording was."""
    data = json.dumps({"rules": rules(), "files": made_from, "row": row}).encode("ascii")
    if len(data) > _MOST_BYTES or not _is_row(row):
        return
    with suppress(OSError), recording(path) as directory:
        name = f"{ROW}-{os.urandom(4).hex()}"
        descriptor = open_file_in(directory, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            if os.write(descriptor, data) == len(data):
                os.rename(name, ROW, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            os.close(descriptor)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)


@cache
def rules() -> str:
    """Return a text that is another one when any module that makes rows was changed."""
    package = Path(__file__).parent.parent
    files = sorted(found for part in ("diagnosis", "recording", "reports") for found in _modules(package / part))
    return f"{crc32(repr(files).encode()):08x}"


def _modules(directory: Path) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(directory):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _modules(Path(entry.path))
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{directory.name}/{entry.name}", status.st_size, status.st_mtime_ns


def _of_file(directory: int, name: str) -> list[int] | None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not _TYPES.keys() <= row.keys() or row["state"] not in _STATES:
        return False
    for name, value in row.items():  # in one go: a list has thousands of rows
        if type(value) not in _TYPES.get(name, _SIMPLE) or (type(value) is str and len(value) > _LONGEST_TEXT):
            return False
    return _is_time(row["started"]) and _is_time(row["ended"])


def _is_time(text: str | None) -> bool:
    try:
        return text is None or datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
