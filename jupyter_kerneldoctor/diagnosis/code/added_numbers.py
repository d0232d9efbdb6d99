"""Statements that add to a number, which gets no longer by it."""

import ast

from .notebook import Notebook
from .origins import all_origins
from .stores import Store


def adds_to_numbers(store: Store, code: Notebook) -> bool:
    """Whether a store is `total += x` for a number, a text or an array or a tensor, which gets no longer by it."""
    if not isinstance(store.statement, ast.AugAssign):
        return False
    for one, where in all_origins(store.statement.target, store.scope, code):
        made = code.qualified(one.func, where) or "" if isinstance(one, ast.Call) else ""
        if isinstance(one, ast.Constant) or made.startswith(("numpy.", "torch.", "tensorflow.")):
            return True
    return False
