"""Text edits of a cell: where a syntax node stands in the user's text, and changes that leave all other text alone."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.diagnosis.code.cellsource import LINE_END, span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable


class EditRefusedError(Exception):
    """The edits do not fit the text: they overlap, or lie outside of it."""


@dataclass(frozen=True, order=True)
class Replacement:
    """Put `text` in place of the code points from `start` to `end`."""

    start: int
    end: int
    text: str


def replace_node(source: str, node: ast.expr | ast.stmt, text: str) -> Replacement:
    """Put `text` in a node's place."""
    return Replacement(*span(source, node), text)


def append_to(source: str, node: ast.expr, text: str, *, parenthesize: bool = False) -> tuple[Replacement, ...]:
    """Write `text` directly behind an expression, which is put in parentheses on request."""
    start, end = span(source, node)
    if not parenthesize:
        return (Replacement(end, end, text),)
    return Replacement(start, start, "("), Replacement(end, end, ")" + text)


def apply(source: str, replacements: Iterable[Replacement]) -> str:
    """Make the edits. Raises EditRefusedError when they overlap or lie outside of the text."""
    parts: list[str] = []
    position = 0
    for edit in sorted(set(replacements)):
        if edit.start < position or edit.end < edit.start or edit.end > len(source):
            raise EditRefusedError
        parts += source[position : edit.start], edit.text
        position = edit.end
    return "".join([*parts, source[position:]])


def touches(replacements: Iterable[Replacement], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether an edit reaches into one of the parts of the cell that are IPython's, not Python's."""
    masked = sorted(spans)
    places = ((edit, bisect_left(masked, (edit.end,))) for edit in replacements)  # how many begin before the edit ends
    return any(place and masked[place - 1][1] > edit.start for edit, place in places)


def unified_diff(old: str, new: str, label: str) -> str:
    """The change as a unified diff; `label` names the cell. A last line without an end is given one, as is usual."""
    lines = difflib.unified_diff(LINE_END.split(old), LINE_END.split(new), label, label, lineterm="")
    return "".join(line + "\n" for line in lines)
