"""How often the code goes through a place: only loops over a few values that are written out are known."""

import ast
import math
from collections.abc import Iterable, Iterator

from .notebook import Notebook
from .scopes import Scope
from .trees import holds

_FEW = 20
_REPEATS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def times_repeated(code: Notebook, scope: Scope, node: ast.AST, callers: Iterable[tuple[int, int]]) -> int | None:
    """Return how often a statement is come to; None where that is not known.

    `callers` are the places that led there, each as the index of a cell and a line in it.
    """
    counts = [_rounds(code, scope, one) for one in scope.loops_around(node)]
    for cell, line in callers:
        around = [one for one in code.scopes(cell) if one.is_cell or holds(one.node, line)]
        if isinstance(around[-1].node, ast.Lambda):
            return None
        repeats = (one for one in around[-1].nodes if isinstance(one, (*_REPEATS, *_COMPREHENSIONS)))
        counts += [_rounds(code, around[-1], one) for one in repeats if holds(one, line)]
    known = [one for one in counts if one is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _rounds(code: Notebook, scope: Scope, loop: ast.AST) -> int | None:
    match loop:
        case ast.For(iter=items):
            return _length(code, scope, items)
        case (
            ast.ListComp(generators=[one])
            | ast.SetComp(generators=[one])
            | ast.DictComp(generators=[one])
            | ast.GeneratorExp(generators=[one])
        ):
            return _length(code, scope, one.iter)
    return None


def _length(code: Notebook, scope: Scope, items: ast.expr) -> int | None:
    """Return how many items there are, if that is written out and they are few."""
    match items:
        case ast.Name(id=name):
            bound = code.lookup(name, scope, items)
            is_other = bound is not None and not isinstance(bound.value, ast.Name | None)
            return _length(code, bound.scope, bound.value) if bound is not None and bound.value and is_other else None
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            return len(elts) if len(elts) <= _FEW else None
        case ast.Call(func=ast.Name(id="range"), args=[*_, ast.Constant(value=int(end))]):
            return end if end <= _FEW else None
        case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=args):
            return next(_known(code, scope, args), None)
    return None


def _known(code: Notebook, scope: Scope, items: Iterable[ast.expr]) -> Iterator[int]:
    return (found for one in items if (found := _length(code, scope, one)) is not None)
