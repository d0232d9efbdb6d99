"""What is known of NumPy's arrays: their shapes, as they were recorded or as the code makes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..code.literals import number
from ..code.notebook import Binding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_kerneldoctor.recording.events import Namespace

    from ..code.notebook import Notebook
    from ..code.scopes import Scope

_BY_SHAPE = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full")
_BY_LENGTHS = ("numpy.random.rand", "numpy.random.randn")


def recorded_shape(
    node: ast.expr | None, scope: Scope, code: Notebook, looks: Sequence[Namespace]
) -> tuple[int, ...] | None:
    """Return the shape of an array: as one of the looks at the variables has it, else as a call with numbers makes it.

    None where neither tells. `looks` are those before the cell, `Recording.namespaces`.
    """
    if not isinstance(node, ast.Name):
        return None
    binding = code.lookup(node.id, scope, node)
    is_made_here = binding is not None and binding.cell == code.last
    for one in (one for look in reversed(looks) for one in look.objects if one.name == node.id and not is_made_here):
        return one.shape or None
    match binding:
        case Binding(value=ast.Call(func=made, args=[first, *_] as given), scope=home):
            full = code.qualified(made, home)
            lengths = first.elts if full in _BY_SHAPE and isinstance(first, ast.Tuple) else given
            numbers = [number(one) for one in lengths] if full in (*_BY_SHAPE, *_BY_LENGTHS) else []
            return tuple(one for one in numbers if one is not None) if numbers and None not in numbers else None
    return None
