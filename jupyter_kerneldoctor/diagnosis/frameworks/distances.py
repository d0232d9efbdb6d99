"""Distances of all pairs of rows, as people write them with NumPy's broadcasting."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..code.scopes import Scope
from ..code.trees import unparse, walk

_ROWS = (":, None", ":, None, :", ":, np.newaxis", ":, np.newaxis, :")
_COLUMNS = ("None", "None, :", "None, :, :", "np.newaxis", "np.newaxis, :", "np.newaxis, :, :")

_VECTOR_ROWS = (":, None", ":, np.newaxis")
_VECTOR_COLUMNS = ("None, :", "np.newaxis, :")


class Distance(NamedTuple):
    """A distance of each row of one table to each row of another."""

    left: ast.expr
    right: ast.expr
    metric: str
    """What SciPy calls it; "" for the usual one."""
    is_sure: bool
    """Both tables surely have two dimensions."""
    named: ast.Assign | None = None
    """The statement that gives the differences a name, where nothing else uses that."""


def distances_in(scope: Scope) -> Iterator[tuple[ast.expr, Distance]]:
    """Yield what `norm(X[:, None] - Y[None], axis=2)` and the like compare, in one expression or in two statements."""
    names = Counter(one.id for one in scope.names if isinstance(one, ast.Name))
    once = {
        node.targets[0].id: node
        for node in scope.nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and names[node.targets[0].id] == 2
    }
    inner: set[ast.AST] = set()
    for node in scope.calls:
        used: list[ast.Assign] = []

        def written_out(one: ast.expr, used: list[ast.Assign] = used) -> ast.expr:
            if isinstance(one, ast.Name) and one.id in once and one is not once[one.id].targets[0]:
                used.append(once[one.id])
                return once[one.id].value
            return one

        if node not in inner and (found := _distance_of(node, written_out)) is not None:
            inner.update(walk(node))  # the sum within `np.sqrt(…)`
            yield node, found._replace(named=used[-1] if used else None)


def pairs_in(scope: Scope) -> Iterator[tuple[ast.BinOp, ast.expr, ast.expr]]:
    """Yield arithmetic that makes a number for each pair, with its two vectors: `a[:, None] - b[None, :]`."""
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=ast.Subscript(value=a, slice=rows), right=ast.Subscript(value=b, slice=columns)):
                if unparse(rows).strip("()") in _VECTOR_ROWS and unparse(columns).strip("()") in _VECTOR_COLUMNS:
                    yield node, a, b


_WrittenOut = Callable[[ast.expr], ast.expr]


def _distance_of(node: ast.AST, written_out: _WrittenOut) -> Distance | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[inner]):
            found = _distance_of(inner, written_out)
            return None if found is None or found.metric != "sqeuclidean" else found._replace(metric="")
        case ast.Call(func=ast.Attribute(attr="norm"), args=[inner], keywords=[ast.keyword(arg="axis", value=axis)]):
            return _pair(written_out(inner), axis, "")
        case ast.Call(func=ast.Attribute(attr="sum", value=ast.Name()), args=[inner], keywords=words):
            return _sum(inner, words, written_out)
        case ast.Call(func=ast.Attribute(attr="sum", value=inner), args=[], keywords=words):
            return _sum(inner, words, written_out)
        case ast.Call(func=ast.Attribute(attr="sum", value=inner), args=[axis], keywords=[]):
            return _sum(inner, [ast.keyword(arg="axis", value=axis)], written_out)
    return None


def _sum(inner: ast.expr, words: list[ast.keyword], written_out: _WrittenOut) -> Distance | None:
    match inner, words:
        case ast.BinOp(op=ast.Pow(), left=differences, right=ast.Constant(value=2)), [
            ast.keyword(arg="axis", value=axis)
        ]:
            return _pair(written_out(differences), axis, "sqeuclidean")
        case (
            ast.Call(func=ast.Name(id="abs") | ast.Attribute(attr="abs"), args=[differences]),
            [ast.keyword(arg="axis", value=axis)],
        ):
            return _pair(written_out(differences), axis, "cityblock")
    return None


def _pair(node: ast.expr, axis: ast.expr, metric: str) -> Distance | None:
    """Return `X` and `Y` of `X[:, None] - Y[None]`, with or without colons behind, added up over the last axis."""
    last = unparse(axis)
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Subscript(value=left, slice=one), right=right) if last in ("2", "-1"):
            rows = unparse(one).strip("()")
            sure = last == "2" or rows.endswith(", :")
            match right:
                case ast.Subscript(value=inner, slice=other) if unparse(other).strip("()") in _COLUMNS:
                    right = inner
                case ast.Subscript():
                    return None
                case _:
                    sure = False
            return Distance(left, right, metric, sure) if rows in _ROWS else None
    return None
