"""Lists that nothing in the notebook makes shorter: a number below their length stays there, whatever is called."""

import ast
from collections.abc import Iterator

from .loop_changes import called_name, running_nodes
from .notebook import Notebook
from .scopes import Scope

_SHORTENS = ("pop", "remove(", "clear(", "del ", "[:] =", "truncate", "discard", "drain", "exec(", "eval(", "user_ns")
_READS = frozenset(
    {"len", "enumerate", "zip", "range", "sorted", "reversed", "list", "tuple", "set", "sum", "min", "max", "print"}
)
_LENGTHENS = frozenset({"append", "extend", "insert", "index", "count", "copy", "sort", "reverse"})


def lasting_length(code: Notebook, loop: ast.While) -> str | None:
    """Return `rows` of `while i < len(rows)`, where neither the cells nor a library they give it to can shorten it."""
    match loop.test:
        case ast.Compare(ops=[ast.Lt() | ast.LtE()], comparators=[length]):
            pass
        case ast.Compare(left=length, ops=[ast.Gt() | ast.GtE()]):
            pass
        case _:
            return None
    match length:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            pass
        case _:
            return None
    inside = (one for part in loop.body for one in running_nodes(part) if isinstance(one, ast.Name) and one.id == name)
    if any(not isinstance(one.ctx, ast.Load) for one in inside):
        return None
    if code.has_text(*_SHORTENS, f"global {name}", f"nonlocal {name}") or any(
        _is_given_away(code, scope, name) for scope in code.scopes_mentioning(name)
    ):
        return None
    return name


def _is_given_away(code: Notebook, scope: Scope, name: str) -> bool:
    """Whether a list becomes known to what is not in the cells, or is bound anew where others run."""
    allowed = {id(one) for node in scope.nodes for one in _only_read(code, node)}
    return any(isinstance(one.ctx, ast.Load) and id(one) not in allowed for one in scope.named(name))


def _only_read(code: Notebook, node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Subscript(value=value) | ast.For(iter=value) | ast.comprehension(iter=value):
            yield value
        case ast.Attribute(value=value, attr=attr) if attr in _LENGTHENS:
            yield value
        case ast.Call(args=args) if called_name(node) in _READS or any(code.functions_named(called_name(node))):
            yield from args
