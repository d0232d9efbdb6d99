"""Arrays of zeros that an earlier cell reserved and the last cell was the first to fill.

Linux gives a process such memory only page by page, when it is first written to (mmap(2), MAP_ANONYMOUS; NumPy's
`zeros` and `empty` use it for large arrays). So the cell that makes the array is cheap, and the one that fills it dies.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arraysize import MOST_CHARACTERS, bytes_of_array, names_of_numpy
from .cellsource import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_kerneldoctor.recording.model import Cell

    from .names import Names

_MAKERS = re.compile(r"\b(?:zeros|empty)\s*\(")
_RESERVE = ("numpy.zeros", "numpy.empty")
_NO_GROWTH = 0.1
"""A cell that grew by less than this share of the array did not fill it."""


@dataclass(frozen=True)
class Zeroed:
    """An array that was reserved."""

    name: str
    bytes: int
    execution_count: int | None


def reserved_before(earlier: Sequence[Cell], cell: Cell) -> tuple[Zeroed, ...]:
    """Return the arrays that earlier cells reserved, that none filled, and that this cell names; biggest first."""
    found: dict[str, Zeroed] = {}
    names: Names | None = None
    for one in earlier:
        found = {name: array for name, array in found.items() if not _fills(one, array) and not _rebinds(one, name)}
        if _MAKERS.search(one.source) and len(one.source) <= MOST_CHARACTERS:
            names = names or names_of_numpy(earlier)
            found.update({array.name: array for array in _arrays(one, names) if not _fills(one, array)})
    named = [array for array in found.values() if _names(cell, array.name) and not _rebinds(cell, array.name)]
    return tuple(sorted(named, key=lambda array: -array.bytes))


def _fills(cell: Cell, array: Zeroed) -> bool:
    """Whether a cell may have filled the array: it names it, and grew, or nobody knows."""
    if not _names(cell, array.name):
        return False
    if cell.rss_before_bytes is None or cell.rss_after_bytes is None:
        return True
    return cell.rss_after_bytes - cell.rss_before_bytes >= _NO_GROWTH * array.bytes


def _names(cell: Cell, name: str) -> bool:
    return name in cell.source and re.search(rf"\b{re.escape(name)}\b", cell.source) is not None


def _rebinds(cell: Cell, name: str) -> bool:
    """Whether the name stands for something else after the cell; `a += 1` changes the array itself."""
    if not _names(cell, name):
        return False
    tree = parse(cell.source) if len(cell.source) <= MOST_CHARACTERS else None
    return tree is not None and _times_bound(tree, name) > 0


def _times_bound(tree: ast.Module, name: str) -> int:
    nodes = list(ast.walk(tree))
    in_place = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    return sum(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load) and node not in in_place
        for node in nodes
    )


def _arrays(cell: Cell, names: Names) -> Iterator[Zeroed]:
    tree = parse(cell.source)
    if tree is None:
        return
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            (target, *others), function = statement.targets, names.resolve(statement.value.func)
            size = bytes_of_array(statement.value, function, {}) if function in _RESERVE else None
            if isinstance(target, ast.Name) and not others and size and _times_bound(tree, target.id) == 1:
                yield Zeroed(target.id, size, cell.execution_count)
