"""A vector for each pair of positions, looked up by how far apart they are: `emb(pos[None, :] - pos[:, None])`."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.attributes import Origin
from ..code.calls import last_name, plain_names
from ..code.notebook import Scope
from ..code.origins import Origins
from ..code.trees import walk
from .pair_matrices import spread
from .torch import Kind, Tensors

_DEEPEST = 4
_COUNTS = ("arange", "range")
_PRODUCTS = ("einsum", "matmul", "bmm")
_TURNS = frozenset({"permute", "transpose", "movedim", "contiguous", "unsqueeze", "squeeze"})


class PairVectors(NamedTuple):
    """A vector for each pair."""

    node: ast.expr
    scope: Scope
    places: ast.expr
    """The distances of all pairs."""
    table: str
    """The text of what has a vector for each distance, as rows; "" where a network works each vector out."""
    sides: tuple[ast.expr, ...]
    """How many rows and columns the table has, as far as they are written."""
    made_in: Scope
    steps: Origin | None
    """How many positions there are, where that is written: `T` of `torch.arange(T)`."""
    queries: str
    """What the vectors are multiplied with."""


def pair_vectors(scope: Scope, tensors: Tensors) -> Iterator[PairVectors]:
    """Yield the look-ups of a scope that give a vector for each pair of positions."""
    for node in scope.nodes:
        match node:
            case ast.Call(func=function, args=[index, table, *_]) if last_name(function) in (
                "embedding",
                "index_select",
            ):
                found = _table(index, scope, tensors), _table(table, scope, tensors)
                text, made = (scope.segment(table), found[1]) if found[1] else (scope.segment(index), found[0])
                index = index if found[1] else table
            case ast.Call(func=function, args=[index]):
                made = _table(function, scope, tensors)
                text = f"{scope.segment(function)}.weight" if made else ""
                if made is None and tensors.kind(function, scope) is not Kind.MODULE:
                    continue
            case ast.Subscript(value=table, slice=index):
                made, text = _table(table, scope, tensors), scope.segment(table)
                if made is None:
                    continue
            case _:
                continue
        pair = _difference(index, scope, tensors.origins)
        if pair is not None and (made is not None or pair.steps is not None) and not _is_added(node, scope):
            sides, made_in = made or ((), scope)
            if (queries := _queries(node, scope)) is None:
                continue
            yield PairVectors(node, scope, index, text, sides, made_in, pair.steps, queries)


def _table(node: ast.expr, scope: Scope, tensors: Tensors) -> tuple[tuple[ast.expr, ...], Scope] | None:
    """Return the sides of a table of vectors, and where it was made: an embedding, a parameter with two dimensions."""
    layer = node.value if isinstance(node, ast.Attribute) and node.attr == "weight" else node
    for one, where in tensors.origins.of(layer, scope):
        if not isinstance(one, ast.Call):
            continue
        name = tensors.code.qualified(one.func, where) or ""
        if name.endswith(".Embedding") and len(one.args) > 1:
            return tuple(one.args[:2]), where
        if (
            name.endswith(".Parameter")
            and one.args
            and isinstance(one.args[0], ast.Call)
            and len(one.args[0].args) == 2
        ):
            return tuple(one.args[0].args), where
    return None


class _Pair(NamedTuple):
    steps: Origin | None


def _difference(node: ast.expr, scope: Scope, origins: Origins, depth: int = 0) -> _Pair | None:
    """Return how an index of all pairs was made: a row of positions minus a column of them, also clipped or shifted."""
    for one in walk(node):
        match one:
            case ast.BinOp(op=ast.Sub(), left=left, right=right):
                parts = [spread(side, scope, origins) for side in (left, right)]
                known = [part for part in parts if part is not None]
                is_plain = [isinstance(side, ast.Name | ast.Attribute) for side in (left, right)]
                if len({part.is_column for part in known}) == 2 or (
                    len(known) == 1 and known[0].is_column and is_plain[parts[0] is not None]
                ):
                    return _Pair(_count(known[0].vector, scope, origins))
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) | ast.Call() if depth < _DEEPEST:
                found = [*origins.of(one, scope), *(origins.returned(one, scope) if isinstance(one, ast.Call) else ())]
                if isinstance(one, ast.Attribute):
                    found += _buffers(one.attr, scope, origins)
                for before in found:
                    if (pair := _difference(before.node, before.scope, origins, depth + 1)) is not None:
                        return pair
    return None


def _buffers(name: str, scope: Scope, origins: Origins) -> Iterator[Origin]:
    """Yield what a class of the user's registers under a name: `self.register_buffer("index", index)`."""
    for other in origins.code.scopes(scope.cell) if scope.owner else ():
        for call in other.calls if other.owner == scope.owner else ():
            match call:
                case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=known), value, *_]):
                    if known == name:
                        yield Origin(value, other)


def _count(vector: ast.expr, scope: Scope, origins: Origins) -> Origin | None:
    """Return how many positions `torch.arange(T)` gives; None for other vectors."""
    for one, where in [(vector, scope), *origins.of(vector, scope)]:
        match one:
            case ast.Call(func=function, args=[count]) if last_name(function) in _COUNTS:
                return Origin(count, where)
    return None


def _queries(node: ast.expr, scope: Scope) -> str | None:
    """Return what the vectors are multiplied with, `q` of `einsum("bhid,ijd->bhij", q, r)`; None for weights of them.

    The product with weights keeps the numbers of a vector apart: `einsum("bhij,ijd->bhid", weights, r)`.
    """
    made = scope.assigned_by(node)
    for one in scope.calls:
        given = [part for part in one.args if not isinstance(part, ast.Constant)]
        if last_name(one.func) in _PRODUCTS and len(given) == 2:
            others = [part for part in given if not plain_names(part) & made and node not in walk(part)]
            if len(others) == 1 and isinstance(others[0], ast.Name):
                return None if _keeps_the_last(one, 1 - given.index(others[0])) else others[0].id
    return "q"


def _keeps_the_last(product: ast.Call, factor: int) -> bool:
    """Whether the last direction of a factor is one of the result, too."""
    match product.args[0]:
        case ast.Constant(value=str(text)):
            given, _, result = text.replace(" ", "").partition("->")
            letters = given.split(",")[factor : factor + 1]
            return bool(letters) and letters[0][-1:] in result
    return False


def _is_added(node: ast.expr, scope: Scope) -> bool:
    """Whether the numbers are added to something as they are: one for each head, or what is known of each pair."""
    made = scope.assigned_by(node)
    for one in scope.nodes:
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add):
            parts = [_turned(side) for side in (one.left, one.right)]
            if any(part is node or getattr(part, "id", None) in made for part in parts):
                return True
    return False


def _turned(node: ast.expr) -> ast.expr:
    """Return an expression as it was before its directions were put in another order."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TURNS:
        node = node.func.value
    return node
