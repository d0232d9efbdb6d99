"""Arrays of zeros that an earlier cell reserved and the last cell was the first to fill.

Linux gives a process such memory only page by page, when it is first written to (mmap(2), MAP_ANONYMOUS; NumPy's
`zeros` and `empty` use it for large arrays). So the cell that makes the array is cheap, and the one that fills it dies.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arraysize import ITEM_BYTES
from .cellsource import mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Cell

_MAKERS = re.compile(r"\b(?:zeros|empty)\s*\(")
_NO_GROWTH = 0.1
"""A cell that grew by less than this share of the array did not fill it."""

_MOST_CHARACTERS = 32_000


@dataclass(frozen=True)
class Zeroed:
    """An array that was reserved."""

    name: str
    bytes: int
    execution_count: int | None


def reserved_before(earlier: Iterable[Cell], cell: Cell) -> tuple[Zeroed, ...]:
    """Return the arrays that earlier cells reserved without filling them, and that this cell names; biggest first."""
    found: dict[str, Zeroed] = {}
    for one in earlier:
        if not _MAKERS.search(one.source) or len(one.source) > _MOST_CHARACTERS:
            continue
        grew = max(0, (one.rss_after_bytes or 0) - (one.rss_before_bytes or 0))
        for array in _arrays(one):
            if one.rss_after_bytes is not None and grew < _NO_GROWTH * array.bytes:
                found[array.name] = array
    named = [array for array in found.values() if re.search(rf"\b{re.escape(array.name)}\b", cell.source)]
    return tuple(sorted(named, key=lambda array: -array.bytes))


def _arrays(cell: Cell) -> Iterator[Zeroed]:
    masked = mask(cell.source)
    for statement in masked.tree.body if masked is not None else ():
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            (target, *others), size = statement.targets, _size(statement.value)
            if isinstance(target, ast.Name) and not others and size is not None:
                yield Zeroed(target.id, size, cell.execution_count)


def _size(call: ast.Call) -> int | None:
    """The bytes of `np.zeros((30_000, 30_000), dtype="f4")`, where its shape stands there in numbers."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in ("zeros", "empty") or not call.args:
        return None
    try:
        shape = ast.literal_eval(call.args[0])
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    if not lengths or not all(isinstance(length, int) and 0 < length < 1 << 48 for length in lengths):
        return None
    size = math.prod(lengths) * _item_bytes(call)
    return size if size < 1 << 50 else None


def _item_bytes(call: ast.Call) -> int:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"] + call.args[1:2]
    for node in given:
        name = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", getattr(node, "id", None))
        if name in ITEM_BYTES:
            return ITEM_BYTES[name]
    return 8
