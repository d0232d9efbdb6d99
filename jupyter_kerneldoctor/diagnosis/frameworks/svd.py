"""What a notebook does with the factors of a singular value decomposition: `U, s, Vt = np.linalg.svd(X)`."""

import ast
from collections.abc import Mapping, Sequence

from ..code.calls import last_name
from ..code.literals import number
from ..code.notebook import Call, Notebook
from ..code.trees import unparse, walk

_PRODUCTS = frozenset({"dot", "matmul", "multi_dot", "einsum", "tensordot"})
_ROWS, _COLUMNS = 0, 1
_PLACES = {"0": _COLUMNS, "-3": _COLUMNS, "2": _ROWS, "-1": _ROWS}
"""Where U and Vt stand in what `svd` returns."""


def needs_full_matrices(call: Call, code: Notebook, shape: Sequence[int] | None) -> bool:
    """Whether the code uses the part of U or Vt that belongs to no singular value, or may well do so.

    `shape` is that of the decomposed matrix, where it is known: then only one of the two has such a part.
    """
    names = _factors(call)
    if shape is not None:
        names = {name: axis for name, axis in names.items() if axis == (_COLUMNS if shape[0] > shape[1] else _ROWS)}
    if not names:
        return False
    others = code.mentioning(*names) if call.scope.is_cell else ()
    scopes = dict.fromkeys((call.scope, *code.running, *others))
    return any(_is_use_of_all(node, names, shape) for scope in scopes for node in scope.nodes)


def _factors(call: Call) -> dict[str, int]:
    """Return the names that U and Vt are bound to, each with the axis along which it is longer when it is full."""
    found: list[tuple[ast.expr, int]] = []
    match call.statement:
        case ast.Assign(targets=[ast.Tuple(elts=[left, _, right])], value=value) if value is call.node:
            found = [(left, _COLUMNS), (right, _ROWS)]
        case ast.Assign(targets=[one], value=ast.Subscript(value=value, slice=at)) if value is call.node:
            found = [(one, _PLACES[place])] if (place := unparse(at)) in _PLACES else []
    return {node.id: axis for node, axis in found if isinstance(node, ast.Name) and node.id != "_"}


def _is_use_of_all(node: ast.AST, names: Mapping[str, int], shape: Sequence[int] | None) -> bool:
    match node:
        case ast.Subscript(value=factor, slice=index) if (axis := _axis(factor, names)) is not None:
            return _reaches_beyond(index, axis, shape)
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            pairs = ((left, right), (right, left))
            return any(_axis(one, names) is not None and not _scales(other) for one, other in pairs)
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=given) if name in _PRODUCTS:
            parts = [part for one in (owner, *given) for part in (one.elts if isinstance(one, ast.List) else [one])]
            return any(_axis(one, names) is not None for one in parts) and not any(_scales(one) for one in parts)
    return False


def _axis(node: ast.expr, names: Mapping[str, int]) -> int | None:
    """Return the axis along which a factor is longer when it is full, of `U.T` the other one; None: it is no factor."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(attr="T" | "H", value=inner) | ast.Call(func=ast.Attribute(attr="transpose", value=inner)):
            axis = _axis(inner, names)
            return None if axis is None else 1 - axis
        case ast.Call(func=ast.Attribute(attr="conj" | "conjugate", value=inner)):
            return _axis(inner, names)
    return None


def _reaches_beyond(index: ast.expr, axis: int, shape: Sequence[int] | None) -> bool:
    """Whether an index takes from that axis what may not be there any more, or counts from its end."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) <= axis:
        return False
    match parts[axis]:
        case ast.Slice(lower=lower, upper=upper, step=step):
            return (lower is not None and number(lower) != 0) or any(_is_negative(one) for one in (upper, step))
        case part:
            at = number(part)
            return _is_negative(part) or (at is not None and shape is not None and at >= min(shape))


def _is_negative(node: ast.expr | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _scales(node: ast.expr) -> bool:
    """Whether it is made for as many columns as there are singular values: `np.diag(s)`, `U * s`."""
    return any(
        (isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult))
        or (isinstance(one, ast.Call) and last_name(one.func) == "diag")
        for one in walk(node)
    )
