"""What no gradient passes: comparisons, indices, and the places and whole numbers that functions give."""

import ast
from collections.abc import Iterator

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.scopes import Binding
from ..code.unpacking import assigned_beside, unpacked, unpacked_from

_OF_WHOLE_NUMBERS = frozenset(
    {"argmax", "argmin", "argsort", "argwhere", "bincount", "bool", "bucketize", "int", "len", "long", "multinomial"}
    | {"nonzero", "numel", "one_hot", "randperm", "searchsorted"}
)
_WITH_PLACES = frozenset({"cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "sort", "topk"})
"""What gives values, and behind them their places."""


def without_gradient(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node, or the part of it, that no gradient passes: `keep > 0.9`, `i` of `x[i]`, `x.argmax(1)`."""
    match node:
        case ast.Subscript(slice=part):
            yield part
        case ast.Compare():
            yield node
        case ast.Call() if last_name(node.func) in _OF_WHOLE_NUMBERS:
            yield node


def unpacked_with_gradient(name: str, binding: Binding, code: Notebook) -> ast.expr | None:
    """Return what a name got a part of, as `unpacked` does; None for the places of `values, places = x.max(1)`."""
    part = unpacked_from(code, name, binding)
    if part is not None and part[0] > 0 and last_name(part[1].func) in _WITH_PLACES:
        return None
    return assigned_beside(code, name, binding) or unpacked(code, binding)
