"""Arrays of zeros that an earlier cell reserved and the last cell was the first to fill.

Linux gives a process such memory only page by page, when it is first written to (mmap(2), MAP_ANONYMOUS; NumPy's
`zeros` and `empty` use it for large arrays). So the cell that makes the array is cheap, and the one that fills it dies.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.model import Cell

    from .notebook import Notebook

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


def reserved_before(code: Notebook) -> tuple[Zeroed, ...]:
    """Return the arrays that earlier cells reserved, that none filled, and that the running cell names; biggest first.

    Raises CodeTooLargeError.
    """
    found: dict[str, Zeroed] = {}
    for index, cell in enumerate(code.cells[: code.last]):
        code.spend(2 + len(found) * len(cell.source) / 500)
        found = {
            name: array for name, array in found.items() if not _fills(cell, array) and not _rebinds(code, index, name)
        }
        if _MAKERS.search(cell.source):
            found.update({array.name: array for array in _arrays(code, index) if not _fills(cell, array)})
    named = [one for one in found.values() if _names(code.cells[code.last], one.name)]
    named = [one for one in named if not _rebinds(code, code.last, one.name)]
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


def _rebinds(code: Notebook, index: int, name: str) -> bool:
    """Whether the name stands for something else after the cell; `a += 1` changes the array itself."""
    return _names(code.cells[index], name) and _times_bound(code, index, name) > 0


def _times_bound(code: Notebook, index: int, name: str) -> int:
    stored = [
        isinstance(scope.statement_of(node), ast.AugAssign)
        for scope in code.scopes(index)
        for node in scope.names
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    code.spend(len(stored))
    return stored.count(False)


def _arrays(code: Notebook, index: int) -> Iterator[Zeroed]:
    cell, values = code.module(index), Values(code)
    for statement in () if cell is None else cell.body:
        if cell is not None and isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            target, *others = statement.targets
            made = values.of(statement.value, cell) if code.qualified(statement.value.func, cell) in _RESERVE else None
            size = None if made is None else made.bytes
            if isinstance(target, ast.Name) and not others and size and _times_bound(code, index, target.id) == 1:
                yield Zeroed(target.id, size, code.cells[index].execution_count)
