"""Prepares a cell's source for the journal: whole up to a size, above it the head and the tail."""

from typing import Any

WHOLE_CHARACTERS = 128 * 1024
SHORT_CHARACTERS = 16 * 1024
"""For a source that is too long as JSON, where a character may take twelve bytes."""

SOURCE_FIELDS = ("source", "truncated", "source_length", "source_sha256")
"""The fields of a `cell_start` event that hold the source."""


def shortened(source: str, longest: int) -> dict[str, Any]:
    """Return the fields of a `cell_start` event for a source that is too long.

    Kept are its first and last characters, with a line in between that says how much is left out, and its length and
    SHA-256, which tell it from others.
    """
    import hashlib  # noqa: PLC0415 - it takes memory, and long sources are rare

    head, tail = source[: longest * 3 // 4], source[-longest // 4 :]
    left_out = len(source) - len(head) - len(tail)
    return {
        "source": f"{head}\n… {left_out:,} characters left out …\n{tail}",
        "truncated": True,
        "source_length": len(source),
        "source_sha256": hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
    }
