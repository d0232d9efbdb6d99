"""Functions that call themselves more than once with a smaller number, and so work out the same again and again.

`return fib(n - 1) + fib(n - 2)` doubles its calls with every further number; a cache makes one of each.
"""

import ast
from collections import Counter
from typing import NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .loop_changes import called_name
from .notebook import Notebook
from .scopes import Scope
from .trees import holds, unparse, walk

_WORKS_OUT = frozenset({"min", "max", "len", "abs", "sum", "int", "float", "range", "divmod", "round", "str", "ord"})
_PLAIN = (
    ast.Return,
    ast.If,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.Expr,
    ast.Pass,
    ast.Continue,
    ast.Break,
)
_REPEATS = (ast.For, ast.ListComp, ast.GeneratorExp)
_MOST_ARGUMENTS = 8


class RepeatedCalls(NamedTuple):
    """A function that asks itself for the same more than once."""

    scope: Scope
    node: ast.FunctionDef
    calls: tuple[str, ...]
    """As they are written: `fib(n - 1)`."""
    numbers: tuple[str, ...]
    """The parameters that each call makes smaller or larger."""
    others: tuple[str, ...]
    """Those that are handed on as they are, and may be lists."""


def repeated_calls(code: Notebook, cell: Cell, line: int) -> RepeatedCalls | None:
    """Return the function around a line of a cell, if it is such a one, and nothing keeps its results; else None."""
    around = [one for one in code.scopes(code.index(cell)) if not one.is_cell and holds(one.node, line)]
    scope = around[-1] if around else None
    if scope is None or not isinstance(scope.node, ast.FunctionDef) or scope.node.decorator_list or scope.owner:
        return None
    name, arguments = scope.node.name, scope.node.args
    parameters = [one.arg for one in arguments.args]
    calls = [one for one in scope.calls if called_name(one) == name and isinstance(one.func, ast.Name)]
    code.spend(len(scope.nodes))
    if len(parameters) > _MOST_ARGUMENTS or arguments.kwonlyargs or arguments.vararg or arguments.defaults or not calls:
        return None
    rest = {called_name(one) for one in scope.calls} - {name}
    nodes = [node for part in scope.node.body for node in walk(part)]
    changes = any(isinstance(one, ast.Subscript | ast.Attribute) and not isinstance(one.ctx, ast.Load) for one in nodes)
    is_plain = all(isinstance(one, _PLAIN) for one in nodes if isinstance(one, ast.stmt))
    if not rest <= _WORKS_OUT or changes or not is_plain or not all(len(one.args) == len(parameters) for one in calls):
        return None
    given = [list(zip(parameters, one.args, strict=True)) for one in calls]
    if any(one.keywords for one in calls) or not all(_is_step(to, value) for one in given for to, value in one):
        return None
    moved = tuple(
        to for to in parameters if any(unparse(value) != to for one in given for at, value in one if at == to)
    )
    always = all(any(unparse(value) != to for to, value in one) for one in given)
    if not moved or not always or not _both_run(scope, calls):
        return None
    others = tuple(one for one in parameters if one not in moved)
    return RepeatedCalls(scope, scope.node, tuple(dict.fromkeys(map(unparse, calls))), moved, others)


def _is_step(name: str, value: ast.expr) -> bool:
    """Whether an argument is the parameter itself, or a number less or some more."""
    match value:
        case ast.Name(id=given):
            return given == name
        case ast.BinOp(
            left=ast.Name(id=given), op=ast.Sub(), right=ast.Constant(value=int()) | ast.Name() | ast.Subscript()
        ):
            return given == name
        case ast.BinOp(left=ast.Name(id=given), op=ast.Add(), right=ast.Constant(value=int())):
            return given == name
    return False


def _both_run(scope: Scope, calls: list[ast.Call]) -> bool:
    """Whether one call of the function makes several: two in one statement, or one in a loop."""
    asked, statements = {*calls}, Counter(scope.statement_of(one) for one in calls)
    loops = [one for one in scope.nodes if isinstance(one, _REPEATS)]
    inner = (part for one in loops for part in (one.body if isinstance(one, ast.For) else [one.elt]))
    is_in_a_loop = any(node in asked for part in inner for node in walk(part))
    in_one = any(many > 1 for one, many in statements.items() if not isinstance(one, ast.If | None))
    bodies = [
        getattr(one, "body", []) for one in (scope.node, *scope.nodes) if isinstance(one, ast.If | ast.FunctionDef)
    ]
    one_after_the_other = any(sum(one in statements for one in body) > 1 for body in bodies)  # a return ends a body
    return is_in_a_loop or in_one or one_after_the_other
