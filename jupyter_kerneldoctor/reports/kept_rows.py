"""Keeps the row of a recording that has ended beside it, so that lists read no journals and ask no rules.

It is read like all else in a recording: what is no row counts as none.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from ..recording.layout import ROW
from . import kept_files
from .kept_files import Stamp

Row = dict[str, Any]

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


def read(directory: int, recording_id: str, now: Stamp) -> Row | None:
    """Return the row of an open recording; None where there is none that these rules made of these files."""
    row = kept_files.read(directory, ROW, now, _MOST_BYTES)
    return row if _is_row(row) and row["recording"] == recording_id else None


def write(path: Path, row: Row, made_from: Stamp) -> None:
    """Keep a row; where that is not possible, do without. `made_from` was read before the recording was."""
    if _is_row(row):
        kept_files.write(path, ROW, row, made_from, _MOST_BYTES)


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
