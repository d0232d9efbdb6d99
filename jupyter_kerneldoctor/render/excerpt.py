"""The part of a cell to show: all of a short one, of a long one the lines around the culprit."""

from typing import Any, NamedTuple

from .printable import visible

LONGEST = 14
"""Cells up to this many lines are shown whole."""

_BEFORE, _AFTER = 7, 4
_WIDEST = 400


class Line(NamedTuple):
    """One line of the source, safe to show."""

    number: int
    text: str
    culprit: bool


class Excerpt(NamedTuple):
    """Consecutive lines, and how many were left out on either side."""

    lines: list[Line]
    left_out_above: int
    left_out_below: int


def excerpt(cell: dict[str, Any]) -> Excerpt:
    """Return the lines of `cell` (an object of the document) to show."""
    lines = cell["source"].split("\n")
    culprit = cell.get("line")
    first, last = 0, len(lines)
    if len(lines) > LONGEST:
        middle = (culprit or 1) - 1
        first = max(0, min(middle - _BEFORE, len(lines) - LONGEST))
        last = min(len(lines), max(middle + _AFTER + 1, first + LONGEST))
    marked = range(culprit, (cell.get("end_line") or culprit) + 1) if culprit else ()
    shown = [Line(number, _shown(lines[number - 1]), number in marked) for number in range(first + 1, last + 1)]
    return Excerpt(shown, first, len(lines) - last)


def _shown(text: str) -> str:
    text = visible(text.removesuffix("\r").expandtabs(4))
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} …"
