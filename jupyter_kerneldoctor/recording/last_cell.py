"""Reads the last cell of a recording from the end of its journal, so that many recordings take little time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .journal import MOST_BYTES
from .layout import JOURNAL
from .private_files import read_file, read_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TAIL_BYTES = 64 * 1024
"""A journal ends with the last cell, what was seen of it, and the end; a longer tail is not worth its time."""

_STARTS, _ENDS = b'"cell_start"', b'"end"'


def last_cell_source(directory: Path) -> str | None:
    """Return the source of the last cell of a recording that has an end; None when the tail does not hold it."""
    try:
        lines = read_part(directory / JOURNAL, -TAIL_BYTES, TAIL_BYTES).split(b"\n")
    except OSError:
        return None
    if not any(_ENDS in line and _event(line).get("event") == "end" for line in reversed(lines[-8:])):
        return None
    newest = next(_starts(reversed(lines)), {})
    source = newest.get("source")
    if "source_of" in newest:
        source = _source(directory, newest["source_of"])
    return source if isinstance(source, str) else None


def _source(directory: Path, seq: Any) -> Any:
    """Return the source of an earlier execution of the cell."""
    try:
        lines = read_file(directory / JOURNAL, MOST_BYTES).split(b"\n")
    except OSError:
        return None
    return next((event.get("source") for event in _starts(lines) if event.get("seq") == seq), None)


def _starts(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (event for line in lines if _STARTS in line and (event := _event(line)).get("event") == "cell_start")


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # the first line of the tail is cut off, the last one may be
        return {}
    return event if isinstance(event, dict) else {}
