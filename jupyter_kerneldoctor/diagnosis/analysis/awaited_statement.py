"""JAX works in the background: who reads a result waits for the call that began the work, which is to blame for it."""

import ast
from dataclasses import replace

from ..code.notebook import CodeTooLargeError, Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..code.unpacking import unpacked
from ..postmortem import Statement
from .statements import is_in, statement_at

_READERS = frozenset(
    (
        *("print", "float", "int", "round", "append", "asarray", "array", "item", "block_until_ready", "device_get"),
        *("sum", "mean", "min", "max", "std", "var", "any", "all"),
    )
)


def awaited_statement(code: Notebook, found: Statement) -> Statement:
    """Return the statement whose result another only reads, as `loss = update(...)` for `print(float(loss))`."""
    if found.file is not None or not code.imports("jax"):
        return found
    try:
        for cell in [one for one in reversed(code.cells) if is_in(found, one)][:1]:
            nodes = ((node, scope) for scope in code.scopes(code.index(cell)) for node in scope.nodes)
            for node, scope in nodes:
                if isinstance(node, ast.stmt) and node.lineno == found.line and _only_reads(node):
                    line = _begun(node, scope, code)
                    return found if line is None else replace(statement_at(code, cell, line), via=found.via)
    except (CodeTooLargeError, RecursionError):
        pass
    return found


def _only_reads(statement: ast.stmt) -> bool:
    calls = [one.func for one in walk(statement) if isinstance(one, ast.Call)]
    words = {getattr(one, "attr", getattr(one, "id", "")) for one in calls}
    return isinstance(statement, ast.Expr | ast.Assign) and bool(words) and words <= _READERS


def _begun(statement: ast.stmt, scope: Scope, code: Notebook) -> int | None:
    """Return the line of the one call in the same function or cell that made what a statement reads."""
    names = [one for one in scope.inside(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    lines = set()
    for name in names:
        bound = code.lookup(name.id, scope, name)
        made = None if bound is None or bound.scope is not scope else bound.value or unpacked(code, bound)
        if isinstance(made, ast.Call) and not (code.qualified(made.func, scope) or "").startswith("builtins."):
            lines.add(made.lineno)
    return min(lines) if len(lines) == 1 else None
