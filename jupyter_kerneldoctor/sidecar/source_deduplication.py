"""Writes the source of a cell that runs again only once: later starts name the execution that has it.

A cell with a table pasted into it may run a hundred times a day; the journal must not grow by that each time.
"""

from typing import Any

from ..recording.cell_source import SOURCE_FIELDS

_WORTH_CHARACTERS = 256
_REMEMBERED = 256
"""The most cells: each takes some 200 bytes of a process that has to stay small."""


class SourceDeduplicator:
    """Knows the sources in the journal by hash and length."""

    def __init__(self) -> None:
        self._seqs: dict[tuple[int, int], int] = {}

    def deduplicate(self, start: dict[str, Any]) -> dict[str, Any]:
        """Return the `cell_start` event to write."""
        seq = self._seqs.get(_key(start))
        if seq is None or seq == start["seq"]:
            return start
        return {**{name: it for name, it in start.items() if name not in SOURCE_FIELDS}, "source_of": seq}

    def remember(self, start: dict[str, Any]) -> None:
        """Remember a `cell_start` that has been written."""
        source = start.get("source")
        if isinstance(source, str) and len(source) >= _WORTH_CHARACTERS:
            if len(self._seqs) >= _REMEMBERED:
                del self._seqs[next(iter(self._seqs))]
            self._seqs[_key(start)] = start["seq"]


def _key(start: dict[str, Any]) -> tuple[int, int]:
    source = start.get("source")
    return (hash(source), len(source)) if isinstance(source, str) else (0, -1)
