"""End marks of a queue: what a reader takes for the end, and where it is put in."""

import ast
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import unparse
from ..edits import Changes, indent_unit, insert_after, insert_before, replace_by_lines

_PUTS = frozenset({"put", "put_nowait"})


class Reader(NamedTuple):
    """A loop that takes items out of a queue, until one of them is its end mark."""

    item: str
    mark: str | None
    """What the item is compared with, before the loop is left."""
    scope: Scope
    statement: ast.Assign | ast.NamedExpr


def reader_at(code: Notebook, text: str) -> Reader | None:
    """Return the name that an item gets at the line where the threads wait, and its end mark."""
    for scope in code.scopes_mentioning("get"):
        for node in scope.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=item)]) | ast.NamedExpr(target=ast.Name(id=item)) as taken if (
                    scope.segment(taken).strip() in text
                ):
                    return Reader(item, _mark(scope, item), scope, taken)
    return None


def leave_at_none(reader: Reader) -> Changes:
    """Return the edit that leaves the reader's loop at an end mark."""
    taken = reader.statement
    if not isinstance(taken, ast.Assign) or not isinstance(next(reader.scope.around(taken), None), ast.While):
        return ()
    unit = indent_unit(reader.scope, taken)
    return insert_after(reader.scope, taken, f"if {reader.item} is None:", f"{unit}break")


def _mark(scope: Scope, item: str) -> str | None:
    for node in scope.nodes:
        match node:
            case ast.Compare(
                left=ast.Name(id=name) | ast.NamedExpr(target=ast.Name(id=name)),
                ops=[ast.Is() | ast.Eq() | ast.IsNot() | ast.NotEq()],
                comparators=[mark],
            ) if name == item:
                return unparse(mark)
    return None


def marks_put(code: Notebook, mark: str) -> list[tuple[Scope, ast.Expr]]:
    """Return the statements that put an end mark into a queue."""
    return [
        (scope, node)
        for scope in code.scopes_mentioning(*_PUTS)
        for node in scope.nodes
        if isinstance(node, ast.Expr) and _puts(node.value) == mark
    ]


def _puts(node: ast.expr) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[given]) if attr in _PUTS:
            return unparse(given)
    return None


def mark_for_each(code: Notebook, marks: list[tuple[Scope, ast.Expr]], mark: str) -> Changes:
    """Return the edit that puts in as many marks as threads are joined."""
    for scope in code.scopes_mentioning("join"):
        for node in scope.nodes:
            match node:
                case ast.For(target=ast.Name(id=one), iter=ast.Name(id=threads), body=body) if any(
                    unparse(step).startswith(f"{one}.join(") for step in body
                ):
                    own = [put for where, put in marks if where is scope]
                    puts = [call.func for call in scope.calls if _puts(call) is not None]
                    into = {unparse(put.value) for put in puts if isinstance(put, ast.Attribute)}
                    if len(marks) == 1 and own:
                        text = scope.segment(own[0])
                        header = f"for _ in {threads}:"
                        return replace_by_lines(scope, own[0], header, f"{indent_unit(scope, own[0])}{text}")
                    if not marks and len(into) == 1:
                        put = f"{into.pop()}.put({mark})"
                        unit = indent_unit(scope, node)
                        return insert_before(scope, node, f"for _ in {threads}:", f"{unit}{put}")
    return ()
