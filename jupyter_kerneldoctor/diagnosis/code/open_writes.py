"""Writes to SQLite that no cell commits: their connection keeps the database locked for all others."""

import ast
import re

from .notebook import Call, Notebook, once
from .trees import unparse

_WRITES = re.compile(r"\s*(?:insert|update|delete|replace|begin\s+(?:immediate|exclusive))\b", re.IGNORECASE)
"""Statements before which the sqlite3 module begins a transaction (docs, "Transaction control"), or that begin one."""
_ENDS = ("commit", "rollback", "autocommit", "isolation_level", "executescript")


@once
def open_write(code: Notebook) -> Call | None:
    """Return the first write of a connection, if no cell commits anything, and there is a second connection."""
    made = list(code.calls("sqlite3.connect"))
    is_one = len(made) == 1 and made[0].scope.is_cell
    if not made or is_one or code.has_text(*_ENDS):
        return None
    for scope in code.scopes_mentioning("execute", "executemany"):
        for call in scope.calls:
            match call:
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="execute" | "executemany"),
                    args=[ast.Constant(value=str() as asked), *_],
                ) if _WRITES.match(asked):
                    blocks = (one for one in scope.around(call) if isinstance(one, ast.With))
                    held = {unparse(name) for one in blocks for name in _names(one)}
                    if unparse(owner) not in held:
                        return Call(call, scope, "execute")
    return None


def _names(block: ast.With) -> list[ast.expr]:
    """Return what a with block commits at its end: the connection, or the name that it is given."""
    return [one for item in block.items for one in (item.context_expr, item.optional_vars) if one is not None]
