"""How much memory an array takes whose shape stands in the code: `np.ones((400, 1_000_000))`.

Only what is certain: NumPy's own functions, numbers or names bound once to a number in the same cell, a known type.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from .literals import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_kerneldoctor.recording.model import Cell

    from .notebook import Notebook
    from .scopes import Scope

_ITEM_BYTES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "uint8": 1,
    "int8": 1,
    "bool": 1,
    "complex128": 16,
    "f8": 8,
    "f4": 4,
    "float": 8,
}
"""By the name of the type, as NumPy or Python spell it."""

_FLOAT_BYTES = 8
_BY_SHAPE = {"numpy.zeros": 1, "numpy.ones": 1, "numpy.empty": 1, "numpy.full": 2}
"""Functions that take the shape first, and where the type may come without its name (NumPy's reference)."""

_BY_LENGTHS = frozenset({"numpy.random.rand", "numpy.random.randn"})
_MOST_BYTES = 1 << 60


def array_made(code: Notebook, cell: Cell, line: int) -> tuple[str, int] | None:
    """Return the largest array that a call in this line makes: the call, and the bytes; None where that is not sure.

    Raises CodeTooLargeError.
    """
    scopes = code.scopes(code.index(cell))
    numbers = _numbers(scopes)
    found = [
        (scope.segment(call), needed)
        for scope in scopes
        for call in scope.calls
        if call.lineno <= line <= (call.end_lineno or call.lineno)
        if (needed := bytes_of_array(call, code.qualified(call.func, scope), numbers)) is not None
    ]
    return max(found, key=lambda one: one[1], default=None)


def bytes_of_array(call: ast.Call, function: str | None, numbers: dict[str, int]) -> int | None:
    """Return what the array takes that a call of this NumPy function makes; `numbers` are the values of names."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or not call.args:
        return None
    if function in _BY_LENGTHS:
        lengths, item = call.args, _FLOAT_BYTES
    elif function in _BY_SHAPE:
        shape, place = call.args[0], _BY_SHAPE[function]
        lengths = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
        types = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"] + call.args[place : place + 1]
        known = _item_bytes(types, call.args[1:2] if function == "numpy.full" else [])
        if known is None or any(keyword.arg not in ("dtype", "order") for keyword in call.keywords):
            return None
        item = known
    else:
        return None
    sizes = [numbers.get(one.id) if isinstance(one, ast.Name) else number(one) for one in lengths]
    known_sizes = [one for one in sizes if one is not None and one > 0]
    needed = math.prod(known_sizes) * item
    return needed if len(known_sizes) == len(sizes) and needed < _MOST_BYTES else None


def _item_bytes(types: list[ast.expr], filled_with: list[ast.expr]) -> int | None:
    """The size of an item; without a type it is a float's, or that of what the array is filled with."""
    for node in types:
        name = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", getattr(node, "id", None))
        return _ITEM_BYTES.get(name) if isinstance(name, str) else None
    for node in filled_with:
        value = getattr(node, "value", None)
        return _FLOAT_BYTES if type(value) in (int, float) else None
    return _FLOAT_BYTES


def _numbers(scopes: Sequence[Scope]) -> dict[str, int]:
    """The names that the cell binds once, to a number, at its top level."""
    within = {name for scope in scopes[1:] for name in scope.bindings}
    top = scopes[0].bindings.items() if scopes else ()
    once = {name: bound[0].value for name, bound in top if len(bound) == 1 and name not in within}
    return {name: value for name, node in once.items() if node is not None and (value := number(node)) is not None}
