"""Arrays of zeros that an earlier cell reserved and the last cell was the first to fill.

Linux gives a process such memory only page by page, when it is first written to (mmap(2), MAP_ANONYMOUS; NumPy's
`zeros` and `empty` use it for large arrays). So the cell that makes the array is cheap, and the one that fills it dies.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.model import Cell

from .notebook import Notebook
from .values import Values

_MAKERS = re.compile(r"\b(?:zeros|empty)\s*\(")
_WORD = re.compile(r"\w+")
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
    makers = {*code.with_text("zeros", "empty")}
    for index in range(min(makers, default=code.last), code.last):
        cell = code.cells[index]
        code.spend(1 + len(cell.source) / 20)
        named = found.keys() & set(_WORD.findall(cell.source)) if found else set()
        bound = _bound(code, index) if named else Counter()
        for name in named:
            if name in bound or _fills(cell, found[name]):
                del found[name]
        if index in makers and _MAKERS.search(cell.source):
            found |= {array.name: array for array in _arrays(code, index) if not _fills(cell, array)}
    named = found.keys() & set(_WORD.findall(code.source(code.last))) if found else set()
    bound = _bound(code, code.last) if named else Counter()
    touched = [array for name, array in found.items() if name in named and name not in bound]
    return tuple(sorted(touched, key=lambda array: -array.bytes))


def _fills(cell: Cell, array: Zeroed) -> bool:
    """Whether a cell that names the array may have filled it: it grew, or nobody knows."""
    if cell.rss_before_bytes is None or cell.rss_after_bytes is None:
        return True
    return cell.rss_after_bytes - cell.rss_before_bytes >= _NO_GROWTH * array.bytes


def _bound(code: Notebook, index: int) -> Counter[str]:
    """How often a cell binds each name."""
    code.spend(sum(len(scope.names) for scope in code.scopes(index)) / 2)
    return Counter(
        node.id
        for scope in code.scopes(index)
        for node in scope.names
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        if not isinstance(scope.statement_of(node), ast.AugAssign)
    )


def _arrays(code: Notebook, index: int) -> Iterator[Zeroed]:
    cell, values = code.module(index), Values(code)
    if cell is None:
        return
    bound = _bound(code, index)
    for statement in cell.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            target, *others = statement.targets
            made = values.of(statement.value, cell) if code.qualified(statement.value.func, cell) in _RESERVE else None
            size = None if made is None else made.bytes
            if isinstance(target, ast.Name) and not others and size and bound[target.id] == 1:
                yield Zeroed(target.id, size, code.cells[index].execution_count)
