"""The change of a cell, line by line, from a unified diff."""

from __future__ import annotations

GAP = "…"
"""Stands where lines are left out between two places of a change."""


def lines_of(diff: str) -> list[str]:
    """Return the lines, each with its sign before it, without the names and numbers above them.

    What looks like a name there may be code: `-- all rows` in a query, removed, reads `--- all rows`.
    """
    hunks: list[list[str]] = []
    for line in diff.split("\n"):
        if line.startswith("@@"):
            hunks.append([])
        elif hunks and line[:1] in (" ", "-", "+"):
            hunks[-1].append(line)
    shown = [line for hunk in hunks for line in (GAP, *hunk)]
    return shown[1:]
