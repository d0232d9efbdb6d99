"""How much a loop would have taken until its end, where each of its rounds leaves an item in a list."""

import ast
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.values import Values
from ..postmortem import Statement
from .growth import Growth
from .guilty_statement import guilty_statement

_COUNTED = ("range", "list", "tuple", "numpy.ndarray", "pandas.Series")
_WRAPPERS = ("enumerate", "tqdm", "tqdm_notebook", "sorted", "reversed", "list")
_LISTS = ("list", "matplotlib.Figure")
_MOST_GENERATORS = 5  # one that goes through another
_WORTH_TELLING = 1.2
"""All rounds are at least so many times those that were done."""


class LoopTotal(NamedTuple):
    """All rounds of a loop, as a lower bound."""

    rounds: int
    bytes: int
    """What their items would take together."""


def loop_total(growth: Growth, last: Statement | None, values: Values) -> LoopTotal | None:
    """Return what all rounds would leave behind; None where a round leaves none, or may be the last one.

    `last` is where the kernel was last seen.
    """
    kept, each = growth.container, growth.bytes_per_item
    if kept is not None and kept.with_graph and (gained := growth.items_gained(kept)):
        each = growth.total_bytes // gained
    if kept is None or not each or (kept.type or "").removeprefix("builtins.") not in _LISTS or not growth.is_steady:
        return None
    found = guilty_statement(growth, last)
    rounds = 0 if found is None else _rounds(found, kept.name.rpartition(".")[2], growth.code, values)
    return LoopTotal(rounds, rounds * each) if rounds > _WORTH_TELLING * growth.items_gained(kept) else None


def _rounds(found: Statement, kept: str, code: Notebook, values: Values) -> int:
    """Multiply the rounds of the loops around the statement, up to one that begins anew; 0 where one may stop."""
    total = 1
    for scope in code.scopes_of(found.cell_source):
        around = [one for one in scope.nodes if isinstance(one, ast.For | ast.While) and _repeats(one, found)]
        for loop in sorted(around, key=lambda one: -one.lineno):
            inside = scope.inside(loop)
            if isinstance(loop, ast.While) or any(isinstance(one, ast.Break | ast.Return) for one in inside):
                return 0
            if any(_begins_anew(one, kept) for one in inside):
                return total
            total *= _length(_inner(loop.iter), scope, code, values) or 1
    return total


def _length(iterated: ast.expr, scope: Scope, code: Notebook, values: Values, depth: int = 0) -> int | None:
    """Return how many items there are, also of a generator of the cells that yields one in each round of its loop."""
    value = values.of(iterated, scope)
    if value is not None and value.shape and value.type in _COUNTED:
        return value.shape[0]
    if not isinstance(iterated, ast.Call) or depth >= _MOST_GENERATORS:
        return None
    inner = Origins(code).called(iterated.func, scope)
    if inner is None:
        return None
    match [one for one in inner.body if isinstance(one, ast.For | ast.While)]:
        case [ast.For(body=[*_, ast.Expr(value=ast.Yield())]) as loop]:
            if not any(isinstance(one, ast.Break | ast.Return | ast.Continue) for one in inner.inside(loop)):
                return _length(_inner(loop.iter), inner, code, values, depth + 1)
    return None


def _repeats(loop: ast.For | ast.While, found: Statement) -> bool:
    return loop.body[0].lineno <= found.line <= (loop.body[-1].end_lineno or 0)


def _begins_anew(node: ast.AST, kept: str) -> bool:
    """Whether a name or attribute is bound to something else, or emptied: `kept = []`, `self.kept.clear()`."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
            return name == kept
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="clear" | "pop" | "popleft"):
            return name == kept
    return False


def _inner(node: ast.expr) -> ast.expr:
    """Return what `enumerate` or a progress bar goes through."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]) if name in _WRAPPERS:
            return _inner(first)
    return node
