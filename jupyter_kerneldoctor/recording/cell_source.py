"""A cell's source, as it travels to the sidecar: whole up to a size, above it head and tail."""

from __future__ import annotations

from typing import Any

WHOLE_CHARACTERS = 128 * 1024
SHORT_CHARACTERS = 16 * 1024
"""For a source that is too long in JSON, where a character may take twelve bytes."""

SOURCE_FIELDS = ("source", "truncated", "source_length", "source_sha256")
"""The fields of a cell-start event that tell the source."""


def shortened(source: str, longest: int) -> dict[str, Any]:
    """The fields of a cell-start event for a source that is too long.

    It keeps its first and last characters with a line in between that says how much is left out, and is told apart by
    its length and SHA-256.
    """
    import hashlib  # noqa: PLC0415 - it takes memory, which the sidecar saves, and this is rare

    head, tail = source[: longest * 3 // 4], source[-longest // 4 :]
    left_out = len(source) - len(head) - len(tail)
    return {
        "source": f"{head}\n… {left_out:,} characters left out …\n{tail}",
        "truncated": True,
        "source_length": len(source),
        "source_sha256": hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
    }
