"""Distances of all pairs of rows, as people write them with NumPy's broadcasting."""

import ast
from typing import NamedTuple

_ROWS = (":, None", ":, None, :", ":, np.newaxis", ":, np.newaxis, :")
_COLUMNS = ("None", "None, :", "None, :, :", "np.newaxis", "np.newaxis, :", "np.newaxis, :, :")


class Distance(NamedTuple):
    """A distance of each row of one table to each row of another."""

    left: ast.expr
    right: ast.expr
    metric: str
    """What SciPy calls it; "" for the usual one."""
    is_sure: bool
    """Both tables surely have two dimensions."""


def distance_of(node: ast.AST) -> Distance | None:
    """Return what `norm(X[:, None] - Y[None], axis=2)` and the like compare; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[inner]):
            found = distance_of(inner)
            return None if found is None or found.metric != "sqeuclidean" else found._replace(metric="")
        case ast.Call(func=ast.Attribute(attr="norm"), args=[inner], keywords=[ast.keyword(arg="axis", value=axis)]):
            return _pair(inner, axis, "")
        case ast.Call(func=ast.Attribute(attr="sum", value=ast.Name()), args=[inner], keywords=words):
            return _sum(inner, words)
        case ast.Call(func=ast.Attribute(attr="sum", value=inner), args=[], keywords=words):
            return _sum(inner, words)
        case ast.Call(func=ast.Attribute(attr="sum", value=inner), args=[axis], keywords=[]):
            return _sum(inner, [ast.keyword(arg="axis", value=axis)])
    return None


def _sum(inner: ast.expr, words: list[ast.keyword]) -> Distance | None:
    match inner, words:
        case ast.BinOp(op=ast.Pow(), left=differences, right=ast.Constant(value=2)), [
            ast.keyword(arg="axis", value=axis)
        ]:
            return _pair(differences, axis, "sqeuclidean")
        case (
            ast.Call(func=ast.Name(id="abs") | ast.Attribute(attr="abs"), args=[differences]),
            [ast.keyword(arg="axis", value=axis)],
        ):
            return _pair(differences, axis, "cityblock")
    return None


def _pair(node: ast.expr, axis: ast.expr, metric: str) -> Distance | None:
    """Return `X` and `Y` of `X[:, None] - Y[None]`, with or without colons behind, added up over the last axis."""
    last = ast.unparse(axis)
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Subscript(value=left, slice=one), right=right) if last in ("2", "-1"):
            rows = ast.unparse(one).strip("()")
            sure = last == "2" or rows.endswith(", :")
            match right:
                case ast.Subscript(value=inner, slice=other) if ast.unparse(other).strip("()") in _COLUMNS:
                    right = inner
                case ast.Subscript():
                    return None
                case _:
                    sure = False
            return Distance(left, right, metric, sure) if rows in _ROWS else None
    return None
