"""Exceptions that cannot be pickled: `Exception.__init__` is given fewer arguments than their own `__init__` needs."""

import ast
import re
from typing import NamedTuple

from .notebook import Notebook, once
from .scopes import Scope
from .trees import unparse, walk

_IS_ERROR = re.compile(r"Exception|\w*Error")


class LossyException(NamedTuple):
    """A class of an exception, its `__init__`, and the cell in which they stand."""

    definition: ast.ClassDef
    init: ast.FunctionDef
    module: Scope


@once
def lossy_exception(code: Notebook) -> LossyException | None:
    """Return the newest such exception that a cell defines."""
    for module in code.mentioning("super"):
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and (init := _lossy_init(node)) is not None:
                return LossyException(node, init, module)
    return None


def _lossy_init(node: ast.ClassDef) -> ast.FunctionDef | None:
    """Return the `__init__` of an exception if it hands fewer arguments on than it needs."""
    if not any(_IS_ERROR.fullmatch(unparse(base).rpartition(".")[2]) for base in node.bases):
        return None
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    init = methods.get("__init__")
    if init is None or "__reduce__" in methods or init.args.vararg or init.args.kwarg or init.args.kwonlyargs:
        return None
    needed = len(init.args.args) - 1 - len(init.args.defaults)
    for one in walk(init):
        match one:
            case ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))), args=given):
                return init if len(given) < needed and not any(isinstance(a, ast.Starred) for a in given) else None
    return None
