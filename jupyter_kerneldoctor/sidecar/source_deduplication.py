"""A cell that runs again and again: its source is in the journal once, later starts name the execution that has it.

A journal must not grow by what it holds already: a cell with a table pasted into it may run a hundred times a day.
"""

from __future__ import annotations

from typing import Any

from ..recording.cell_source import SOURCE_FIELDS

_WORTH_CHARACTERS = 256
_REMEMBERED = 256
"""Of so many cells; each takes some 200 bytes of a process that is to stay small."""


class SourceDeduplicator:
    """The sources in the journal, told apart by hash and length: they are not kept here."""

    def __init__(self) -> None:
        self._seqs: dict[tuple[int, int], int] = {}

    def deduplicate(self, start: dict[str, Any]) -> dict[str, Any]:
        """The `cell_start` event as it is to be written."""
        seq = self._seqs.get(_key(start))
        if seq is None or seq == start["seq"]:
            return start
        return {**{name: it for name, it in start.items() if name not in SOURCE_FIELDS}, "source_of": seq}

    def remember(self, start: dict[str, Any]) -> None:
        """A `cell_start` is in the journal."""
        source = start.get("source")
        if isinstance(source, str) and len(source) >= _WORTH_CHARACTERS:
            if len(self._seqs) >= _REMEMBERED:
                del self._seqs[next(iter(self._seqs))]
            self._seqs[_key(start)] = start["seq"]


def _key(start: dict[str, Any]) -> tuple[int, int]:
    source = start.get("source")
    return (hash(source), len(source)) if isinstance(source, str) else (0, -1)
