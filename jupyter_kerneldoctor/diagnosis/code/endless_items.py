"""Items without an end: `itertools.count()`, a generator that goes on for ever; and who takes all of them."""

import ast
from collections.abc import Iterator

from .calls import given_to
from .loop_changes import called_name, running_nodes
from .notebook import Notebook
from .scopes import Loop, Scope
from .trees import holds, walk

_ENDLESS = frozenset({"itertools.count", "itertools.cycle"})
_OF_ALL = frozenset({"zip", "map"})
"""They end with the shortest of what they are given."""
_OF_FIRST = frozenset({"enumerate", "accumulate", "iter", "pairwise", "dropwhile", "filterfalse", "compress"})
_TAKERS = frozenset(
    {"sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "max", "min", "deque", "Counter", "join"}
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_LEAVES = (ast.Return, ast.Break, ast.Raise, ast.Assert)
_QUIET = frozenset(
    {"append", "add", "len", "abs", "int", "float", "str", "min", "max", "sum", "round", "update", "range"}
)
_DEEPEST = 4


def endless_items(code: Notebook, scope: Scope, line: int) -> ast.expr | ast.For | None:
    """Return what takes all of endless items at a line: `sum(n for n in count())`, a loop without a way out."""
    for one in (node for node in scope.nodes if isinstance(node, (ast.Call, ast.For, *_COMPREHENSIONS))):
        if not holds(one, line):
            continue
        match one:
            case ast.Call(args=[items, *_]) if called_name(one) in _TAKERS and is_endless(code, scope, items):
                return one
            case ast.ListComp() | ast.SetComp() | ast.DictComp() if is_endless(code, scope, one.generators[0].iter):
                return one
            case ast.For() if is_endless(code, scope, one.iter) and not _may_be_left(one):
                return one
    return None


def is_endless(code: Notebook, scope: Scope, items: ast.expr, depth: int = 0) -> bool:
    """Whether items have no end, as far as the cells show."""
    if depth > _DEEPEST:
        return False
    if isinstance(items, ast.GeneratorExp):
        return is_endless(code, scope, items.generators[0].iter, depth + 1)
    if isinstance(items, ast.Call):
        name, first = called_name(items), items.args[:1]
        full = code.qualified(items.func, scope) or name
        if full in _ENDLESS or (full == "itertools.repeat" and len(given_to(items)) == 1):
            return True
        if name in _OF_ALL:
            parts = items.args if name == "zip" else items.args[1:]
            return bool(parts) and all(is_endless(code, scope, one, depth + 1) for one in parts)
        if name == "filter":
            first = items.args[1:2]
        if name == "filter" or name in _OF_FIRST:
            return bool(first) and is_endless(code, scope, first[0], depth + 1)
        own = [*code.functions_named(name)]
        return len(own) == 1 and _yields_for_ever(own[0])
    bound = code.lookup(items.id, scope, items) if isinstance(items, ast.Name) else None
    value = None if bound is None else bound.value
    return bound is not None and value is not None and is_endless(code, bound.scope, value, depth + 1)


def _yields_for_ever(own: Scope) -> bool:
    """Whether a generator yields in a `while True` that nothing leaves."""
    endless = (one for one in own.nodes if isinstance(one, ast.While) and _is_true(one.test))
    return any(
        any(isinstance(part, ast.Yield) for part in walk(one))
        and not any(isinstance(part, _LEAVES) or called_name(part) == "next" for part in running_nodes(one))
        for one in endless
    )


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _may_be_left(loop: Loop) -> bool:
    """Whether a loop has a way out, or does what may be meant to go on: it shows, sends, waits or trains."""
    return any(
        isinstance(one, (*_LEAVES, ast.Yield, ast.YieldFrom, ast.Await, ast.With))
        or (isinstance(one, ast.Call) and called_name(one) not in _QUIET)
        for one in _inside(loop)
    )


def _inside(loop: Loop) -> Iterator[ast.AST]:
    return (node for part in loop.body for node in running_nodes(part))
