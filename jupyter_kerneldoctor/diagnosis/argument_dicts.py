"""Arguments that a call takes from a dict, `Forest(**params)`: what they are, and one more of them."""

import ast

from .code.attributes import Origin
from .code.cellsource import span
from .code.dict_entries import dict_entries
from .code.notebook import Call, Notebook
from .code.origins import Origins
from .edits import Change, Changes, EditRefusedError, set_argument

_DEEPEST = 5  # dicts in dicts


def hidden_arguments(call: Call, code: Notebook) -> Origin | None:
    """Return the dict that a call takes arguments from, `Forest(**params)`; None where it is not found."""
    hidden = [word.value for word in call.node.keywords if word.arg is None]
    node, scope = (hidden[0], call.scope) if len(hidden) == 1 else (None, call.scope)
    for _ in range(_DEEPEST if node is not None else 0):
        if isinstance(node, ast.Dict):
            plain = all(key is None or isinstance(key, ast.Constant) for key in node.keys)
            return Origin(node, scope) if plain and node.values else None
        found = Origins(code).of(node, scope) if node is not None else []
        if len(found) != 1:
            break
        node, scope = found[0]
    return None


def entries(table: Origin | None, code: Notebook) -> dict[object, ast.expr]:
    """Return what the keys of a dict stand for, also of those that it takes in with `**`; nothing without a dict.

    A key that has another value in one of several calls stands for the name `several`.
    """
    found = () if table is None else dict_entries(table, Origins(code))
    return {one.key: one.at.node if one.is_sure else ast.Name("several") for one in found}


def add_entry(table: Origin, code: Notebook, key: str, value: str) -> Changes:
    """Write one more entry behind the last of a dict. Raises EditRefusedError where it has that key, or no place."""
    if key in entries(table, code) or not isinstance(table.node, ast.Dict) or not table.node.values:
        raise EditRefusedError(f"{key} finds no place in the dict")
    source, (start, end) = table.scope.tree.source, span(table.scope.tree.source, table.node)
    for place in (span(source, table.node.values[-1])[1], end - 1):  # the last value may stand in parentheses
        text = f', "{key}": {value}'
        if _entries(source[start:place] + text + source[place:end]) == len(table.node.values) + 1:
            return (Change(table.scope.cell, place, place, text),)
    raise EditRefusedError(f"{key} finds no place in the dict")


def _entries(text: str) -> int:
    try:
        return len(getattr(ast.parse(text, mode="eval").body, "values", ()))
    except SyntaxError:
        return 0


def give_argument(call: Call, code: Notebook, name: str, value: str) -> Changes:
    """Give a call an argument that it was not given: in the call, or in the dict that it takes others from.

    Raises EditRefusedError where it may have been given already.
    """
    table = hidden_arguments(call, code)
    return set_argument(call, name, value) if table is None else add_entry(table, code, name, value)
