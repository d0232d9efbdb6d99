"""A queue that is read only after its processes were joined: what reads it can stand before."""

import ast
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..edits import Changes, insert_before, remove
from .kept import names_in


class LateRead(NamedTuple):
    """The statement that joins, and the one that reads the queue later in the same block."""

    scope: Scope
    join: ast.stmt
    read: ast.stmt

    @property
    def edit(self) -> Changes:
        """The change that reads first."""
        lines = self.scope.segment(self.read).splitlines()
        return insert_before(self.scope, self.join, *lines) + remove(self.scope, self.read)


def late_read(code: Notebook) -> LateRead | None:
    """Return the read of a queue that the running `join` keeps from being reached, if nothing stands in its way."""
    for scope in code.running:
        for node in scope.nodes:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="join"), args=[]) as call):
                    if code.is_at_line(call, scope) and (read := _read_after(_joining(node, scope), scope)) is not None:
                        return read
    return None


def _joining(statement: ast.stmt, scope: Scope) -> ast.stmt:
    """Return the loop that does nothing but join, else the statement itself."""
    loop = scope.tree.outer[statement]
    return loop if isinstance(loop, ast.For) and loop.body == [statement] and not loop.orelse else statement


def _read_after(join: ast.stmt, scope: Scope) -> LateRead | None:
    outer, made = scope.tree.outer, set[str]()
    block = (one for one in scope.nodes if isinstance(one, ast.stmt) and outer.get(one) is outer[join])
    for one in sorted(block, key=lambda found: found.lineno):
        if one.lineno <= (join.end_lineno or join.lineno):
            continue
        if isinstance(one, ast.Assign) and any(_takes_an_item(node) for node in walk(one)):
            is_single = one.end_lineno == one.lineno and not any(isinstance(node, ast.Lambda) for node in walk(one))
            return LateRead(scope, join, one) if is_single and not made & names_in(one) else None
        made |= {name.id for name in walk(one) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return None


def _takes_an_item(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and not node.args
    )
