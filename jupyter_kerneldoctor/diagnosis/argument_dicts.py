"""Arguments that a call takes from a dict, `Forest(**params)`: what they are, and one more of them."""

import ast

from .code.attributes import Origin
from .code.cellsource import span
from .code.notebook import Call, Notebook
from .code.origins import Origins
from .edits import Change, Changes, EditRefusedError


def hidden_arguments(call: Call, code: Notebook) -> Origin | None:
    """Return the dict that a call takes arguments from, `Forest(**params)`; None where it is not found."""
    hidden = [word.value for word in call.node.keywords if word.arg is None]
    found = Origins(code).of(hidden[0], call.scope) if len(hidden) == 1 else []
    match found:
        case [Origin(node=ast.Dict(keys=keys))] if keys and all(isinstance(one, ast.Constant) for one in keys):
            return found[0]
    return None


def entries(table: Origin | None) -> dict[object, ast.expr]:
    """Return what the keys of a dict stand for; nothing where there is no dict."""
    match table:
        case Origin(node=ast.Dict(keys=keys, values=values)):
            return {key.value: value for key, value in zip(keys, values, strict=True) if isinstance(key, ast.Constant)}
    return {}


def add_entry(table: Origin, key: str, value: str) -> Changes:
    """Write one more entry behind the last of a dict. Raises EditRefusedError where it has that key, or no entries."""
    known = entries(table)
    if not known or key in known:
        raise EditRefusedError(f"{key} finds no place in the dict")
    end = span(table.scope.tree.source, list(known.values())[-1])[1]
    return (Change(table.scope.cell, end, end, f', "{key}": {value}'),)
