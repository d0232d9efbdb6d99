"""Values that take next to no memory, however many are kept: numbers and texts."""

import ast

from ..code.scopes import Scope
from .kept import names_in
from .torch import Tensors

_DEEPEST = 12  # steps from a kept value to what it is worked out from
_PLAIN_METHODS = frozenset({"item", "tolist", "time", "perf_counter", "format", "size"})
_PLAIN_CALLS = _PLAIN_METHODS | {"float", "int", "len", "str", "round"}
"""Functions that give a number or a text; as methods `float` and the like give a tensor."""
_NUMBERS = ("logs", "metrics")
"""What Keras gives a callback: a number for each metric."""


def is_small(value: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether a value that is kept is a number or a text."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BoolOp():
            return True
        case ast.Call(func=ast.Name(id=name)) if name in _PLAIN_CALLS:
            return True
        case ast.Call(func=ast.Attribute(attr=name)) if name in _PLAIN_METHODS:
            return True
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr="get", value=ast.Name(id=name))):
            return name in _NUMBERS or tensors.is_scalar(value, scope)
        case ast.BinOp(left=left, right=right):
            return depth < _DEEPEST and all(is_small(side, scope, tensors, depth + 1) for side in (left, right))
        case ast.Name(id=name):
            binding = tensors.code.lookup(name, scope, value)
            if binding is None or binding.value is None:  # a loop's counter, most likely
                return any(
                    isinstance(one, ast.For) and name in names_in(one.target) for one in scope.loops_around(value)
                )
            return depth < _DEEPEST and is_small(binding.value, binding.scope, tensors, depth + 1)
    return tensors.is_scalar(value, scope)
