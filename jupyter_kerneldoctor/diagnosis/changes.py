"""Changes of a cell's text: what they are, and the text with them made."""

import difflib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from jupyter_kerneldoctor.recording.model import Cell

from .code.cellsource import LINE_END, is_same, mask
from .code.notebook import Notebook
from .postmortem import Edit
from .units import cell_name


class EditRefusedError(Exception):
    """The text does not allow the edit. Its own text says why, for who writes a fix."""


@dataclass(frozen=True)
class Change:
    """Puts `text` in place of the characters from `start` to `end` of a cell."""

    cell: int
    """Which cell, as an index of `Notebook.cells`."""
    start: int
    end: int
    text: str
    is_for_ipython: bool = False
    """Whether it changes what only IPython reads: a magic, or a `;` at the end. All others keep away from that."""


Changes: TypeAlias = tuple[Change, ...]


def apply(source: str, changes: Iterable[Change]) -> str:
    """Return the text of a cell with the changes made.

    Raises EditRefusedError where they overlap, lie outside of the text, reach into IPython's own syntax, or leave
    something that does not parse or is the same as before.
    """
    before, changes = mask(source), tuple(changes)
    if before is None or _touches((one for one in changes if not one.is_for_ipython), before.spans):
        raise EditRefusedError("the cell cannot be parsed, or a change reaches into IPython's own syntax")
    new = joined(source, changes)
    after = mask(new)
    of_ipython = any(one.is_for_ipython for one in changes) and new != source
    if after is None or len(after.spans) != len(before.spans) or (is_same(after.tree, before.tree) and not of_ipython):
        raise EditRefusedError("the new text does not parse, changes IPython's own syntax, or is the same as before")
    return new


def apply_all(code: Notebook, changes: Iterable[Change]) -> dict[int, str]:
    """Return the new text of each changed cell, by its index in the notebook. Raises EditRefusedError."""
    by_cell = groupby(sorted(changes, key=attrgetter("cell")), attrgetter("cell"))
    return {at: apply(code.source(at), some) for at, some in by_cell}


def edit_of(cell: Cell, new: str) -> Edit:
    """Return the edit that gives a cell another text."""
    diff = unified_diff(cell.source, new, cell_name(cell.execution_count))
    return Edit(cell.execution_count, cell.cell_id, cell.source, new, diff)


def unified_diff(old: str, new: str, label: str) -> str:
    """Return the change as a unified diff; `label` names the cell. A last line without an end is given one."""
    lines = difflib.unified_diff(LINE_END.split(old), LINE_END.split(new), label, label, lineterm="")
    return "".join(line + "\n" for line in lines)


def joined(source: str, changes: Iterable[Change]) -> str:
    """Return a text with the changes made. Raises EditRefusedError where they overlap, or lie outside of it."""
    parts: list[str] = []
    position = 0
    for one in sorted(dict.fromkeys(changes), key=lambda one: (one.start, one.end)):
        if one.start < position or one.end < one.start or one.end > len(source):
            raise EditRefusedError("changes overlap, or lie outside of the text")
        parts += source[position : one.start], one.text
        position = one.end
    return "".join([*parts, source[position:]])


def _touches(changes: Iterable[Change], spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a change reaches into one of the parts of the cell, in their order, that are IPython's, not Python's."""
    found = ((one.start, bisect_left(spans, (one.end, 0))) for one in changes)
    return any(at > 0 and start < spans[at - 1][1] for start, at in found)
