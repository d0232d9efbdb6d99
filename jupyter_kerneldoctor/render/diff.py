"""The change of a cell, line by line, from a unified diff."""

GAP = "…"
"""Marks lines left out between two parts of a change."""


def lines_of(diff: str) -> list[str]:
    """Return the lines, each after its sign, without the file names and line numbers of the diff.

    A line that looks like a file name may be code: `-- all rows` of a query, removed, reads `--- all rows`.
    """
    hunks: list[list[str]] = []
    for line in diff.split("\n"):
        if line.startswith("@@"):
            hunks.append([])
        elif hunks and line[:1] in (" ", "-", "+"):
            hunks[-1].append(line)
    shown = [line for hunk in hunks for line in (GAP, *hunk)]
    return shown[1:]
