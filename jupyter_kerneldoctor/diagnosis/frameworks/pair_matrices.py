"""Matrices that compare each number of a vector with each of another, `t[None, :] >= t[:, None]`, and their sums."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.literals import number
from ..code.notebook import Scope
from ..code.origins import Origins
from ..code.trees import unparse, walk

_COLUMNS = frozenset({":, None", ":, np.newaxis", "..., None", ":, numpy.newaxis"})
_ROWS = frozenset({"None", "None, :", "np.newaxis", "np.newaxis, :", "None, ...", "numpy.newaxis, :"})
_SHAPES = {"-1, 1": True, "1, -1": False, "(-1, 1)": True, "(1, -1)": False}
_AXES = {"0": False, "1": True, "-1": True}
_OUTER = frozenset({"less", "less_equal", "greater", "greater_equal"})
_NUMBERED = frozenset({"arange", "range", "tril_indices", "triu_indices"})
_SUMS = frozenset({"sum", "mean", "logsumexp", "nansum", "dot", "matmul", "mv", "einsum", "count_nonzero"})
_FIRST = (0, -2)
"""The first of two axes."""


class Spread(NamedTuple):
    """A vector that is put up as a column, or laid down as a row."""

    vector: ast.expr
    is_column: bool


class Weight(NamedTuple):
    """What is added up where an entry is set."""

    node: ast.expr
    is_log: bool
    """It is the exponential of this that is added up."""
    is_turned: bool = False
    """It is added up where an entry is not set."""
    is_column: bool | None = None
    """Whether there is one for each row of the matrix, or for each of its columns; None in a product of matrices."""


class PairMatrix(NamedTuple):
    """A comparison that has an entry for each pair."""

    node: ast.expr
    scope: Scope
    column: ast.expr
    row: ast.expr
    counts_larger: bool
    """Whether an entry is set where the row's number is the larger one."""
    has_equal: bool
    """Whether it is set where both are equal, too."""


def pair_matrices(scope: Scope, origins: Origins) -> Iterator[PairMatrix]:
    """Yield the comparisons of all pairs in a scope that say which is the larger; none of positions."""
    for node in scope.nodes:
        match node:
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as op], comparators=[right]):
                one, other = spread(left, scope, origins), spread(right, scope, origins)
                is_larger, has_equal = isinstance(op, ast.Gt | ast.GtE), isinstance(op, ast.LtE | ast.GtE)
            case ast.Call(func=ast.Attribute(attr="outer", value=ast.Attribute(attr=name)), args=[left, right]) if (
                name in _OUTER
            ):
                one, other = Spread(left, is_column=True), Spread(right, is_column=False)
                is_larger, has_equal = "greater" in name, "equal" in name
            case _:
                continue
        if one is None and other is not None and other.is_column and isinstance(left, ast.Name | ast.Attribute):
            one = Spread(left, is_column=False)  # a plain vector is a row
        if other is None and one is not None and one.is_column and isinstance(right, ast.Name | ast.Attribute):
            other = Spread(right, is_column=False)
        if one is None or other is None or one.is_column == other.is_column:
            continue
        column, row = (one, other) if one.is_column else (other, one)
        if not any(_is_numbered(part.vector, scope, origins) for part in (column, row)):
            yield PairMatrix(node, scope, column.vector, row.vector, is_larger != one.is_column, has_equal)


def spread(node: ast.expr, scope: Scope, origins: Origins, depth: int = 0) -> Spread | None:
    """Return the vector that an expression spreads out: `t[:, None]`, `t.view(1, -1)`, `t.unsqueeze(0)`; or a name."""
    match node:
        case ast.Subscript(value=vector, slice=given):
            text = unparse(given).strip("()")
            return Spread(vector, text in _COLUMNS) if text in _COLUMNS | _ROWS else None
        case ast.Call(func=ast.Attribute(value=vector, attr="view" | "reshape"), args=given, keywords=[]):
            text = ", ".join(map(unparse, given))
            return Spread(vector, _SHAPES[text]) if text in _SHAPES else None
        case (
            ast.Call(func=ast.Attribute(value=vector, attr="unsqueeze"), args=[axis])
            | ast.Call(func=ast.Attribute(attr="expand_dims" | "unsqueeze"), args=[vector, axis])
        ) if unparse(axis) in _AXES:
            return Spread(vector, _AXES[unparse(axis)])
        case ast.Name() if depth == 0:
            found = origins.of(node, scope)
            is_near = len(found) == 1 and found[0].scope is scope
            return spread(found[0].node, scope, origins, 1) if is_near else None
    return None


def sums_in(scope: Scope, made: set[str], matrix: ast.expr) -> Iterator[ast.expr]:
    """Yield what adds up a matrix, or what was made of it: `(w * M).sum(1)`, `M @ w`, `torch.sum(w * M, dim=1)`."""
    for node in scope.nodes:
        is_sum = isinstance(node, ast.Call) and last_name(node.func) in _SUMS
        if is_sum or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
            inside = set(walk(node))
            if matrix in inside or any(isinstance(one, ast.Name) and one.id in made for one in inside):
                yield node  # type: ignore[misc]


def sums_columns(node: ast.expr) -> bool:
    """Whether a sum goes down the columns: over the first axis."""
    match node:
        case ast.Call(args=given, keywords=words):
            axes = [*given, *(word.value for word in words if word.arg in ("dim", "axis"))]
            return any(number(one) in _FIRST for one in axes)
    return False


def weight_of(node: ast.expr, made: set[str], matrix: ast.expr, scope: Scope, origins: Origins) -> Weight | None:
    """Return what a sum multiplies the matrix by; None where it counts, or that does not show."""
    is_log = last_name(getattr(node, "func", None)) == "logsumexp"
    for one in walk(node):
        match one:
            case ast.BinOp(op=ast.Mult() | ast.MatMult() as op, left=left, right=right):
                is_product = isinstance(op, ast.MatMult)
            case ast.Call(func=ast.Attribute(attr="masked_fill", value=weight), args=[mask, *_]):
                is_column = _is_column(weight, scope, origins)
                return Weight(_plain(weight, scope, origins), is_log, not _is_not(mask), is_column)
            case ast.Call(func=ast.Attribute(attr="where"), args=[mask, weight, other]):
                is_other = not _has_names(weight) and _has_names(other)
                chosen = other if is_other else weight
                is_column = _is_column(chosen, scope, origins)
                return Weight(_plain(chosen, scope, origins), is_log, is_other != _is_not(mask), is_column)
            case ast.Call(func=ast.Attribute(attr="dot" | "matmul" | "mv"), args=[left, right]):
                is_product = True
            case _:
                continue
        sides = [side for side in (left, right) if not _holds(side, made, matrix)]
        if len(sides) == 1:
            weight = _plain(sides[0], scope, origins)
            laid = None if is_product else _is_column(sides[0], scope, origins)
            match weight:
                case (
                    ast.Call(func=ast.Attribute(attr="exp", value=inner), args=[])
                    | ast.Call(func=ast.Name(id="exp") | ast.Attribute(attr="exp"), args=[inner])
                ):
                    laid = None if is_product else laid or _is_column(inner, scope, origins)
                    return Weight(_plain(inner, scope, origins), is_log=True, is_column=laid)
            kept = sides[0] if isinstance(sides[0], ast.Name) and not isinstance(weight, ast.Name) else weight
            return Weight(kept, is_log=False, is_column=laid)
    return None


def _is_column(node: ast.expr, scope: Scope, origins: Origins) -> bool:
    """Whether a factor of the matrix stands as a column: all else is laid along its rows."""
    laid = spread(node, scope, origins)
    return laid is not None and laid.is_column


def _holds(node: ast.expr, made: set[str], matrix: ast.expr) -> bool:
    return any(one is matrix or (isinstance(one, ast.Name) and one.id in made) for one in walk(node))


def _is_not(mask: ast.expr) -> bool:
    return isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert | ast.Not)


def _has_names(node: ast.expr) -> bool:
    """Whether a value is more than a constant, as `-torch.inf` and `float("-inf")` are."""
    return bool(plain_names(node) - {"torch", "np", "numpy", "math", "float"})


def _plain(node: ast.expr, scope: Scope, origins: Origins) -> ast.expr:
    """Return an expression as it was before it was laid down as a row."""
    if isinstance(node, ast.Name):
        found = [one.node for one in origins.of(node, scope) if one.scope is scope]
        if len(found) == 1 and (spread(found[0], scope, origins, 1) or _is_exp(found[0])):
            node = found[0]
    laid = spread(node, scope, origins, 1)
    return node if laid is None else laid.vector


def _is_exp(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "exp"


def _is_numbered(vector: ast.expr, scope: Scope, origins: Origins) -> bool:
    """Whether a vector holds positions, as those of a mask."""
    found = [vector, *(one.node for one in origins.of(vector, scope))]
    return any(last_name(one.func) in _NUMBERED for node in found for one in walk(node) if isinstance(one, ast.Call))
