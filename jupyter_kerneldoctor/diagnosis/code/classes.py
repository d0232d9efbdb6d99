"""The classes that the cells define."""

import ast

from .notebook import Notebook
from .trees import walk


def class_named(name: str, code: Notebook) -> ast.ClassDef | None:
    """Return the newest class of this name; None where no cell defines it."""
    scopes = code.scopes_mentioning(name) if name.isidentifier() else ()
    found = (node for scope in scopes for node in scope.nodes if isinstance(node, ast.ClassDef))
    return next((one for one in found if one.name == name), None)


def compared_by_identity(name: str, code: Notebook) -> ast.ClassDef | None:
    """Return the class of this name, where no two objects are equal; None where it, a base or a decorator says so."""
    node = class_named(name, code)
    if node is None or node.bases or node.decorator_list or methods(node).keys() & {"__eq__", "__hash__"}:
        return None
    return node


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """Return the functions that a class defines, by name."""
    return {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}


def fields(node: ast.ClassDef) -> list[str]:
    """Return the attributes that its `__init__` sets, in the order of the text."""
    init = methods(node).get("__init__")
    parts = () if init is None else walk(init)
    return [one.attr for one in parts if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
