"""The functions that PyTorch calls by itself each time a network is called."""

import ast
from collections.abc import Iterator

from ..code.notebook import Notebook
from ..code.scopes import Scope

_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")


def code_of_hooks(code: Notebook) -> Iterator[Scope]:
    """Yield the functions that are registered as hooks of a network."""
    for module in code.mentioning(*_HOOKS):
        for scope in code.scopes(module.cell):
            for call in scope.calls:
                if getattr(call.func, "attr", "") in _HOOKS and call.args:
                    yield from _called_as_hook(call.args[0], scope, code)
                    names = {one.id for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)}
                    names |= {one.attr for one in ast.walk(call.args[0]) if isinstance(one, ast.Attribute)}
                    inner = (one for one in code.scopes(module.cell) if not one.is_cell)
                    yield from (one for one in inner if one.function in names or one.node in ast.walk(call.args[0]))
                    yield from (one for name in names for made in code.functions_named(name) for one in _inside(made))


def _called_as_hook(hook: ast.expr, scope: Scope, code: Notebook) -> Iterator[Scope]:
    """Yield the `__call__` of the object that is the hook."""
    made = code.definition(hook.func if isinstance(hook, ast.Call) else hook, scope, made=True)
    if made is not None and isinstance(made.definition, ast.ClassDef):
        name = made.definition.name
        yield from (one for one in code.scopes(made.cell) if one.owner == name and one.function == "__call__")


def _inside(function: Scope) -> Iterator[Scope]:
    """Yield the function, and the functions in it: `def save(name): def hook(m, i, o): ...; return hook`."""
    yield from (one for one in function.tree.scopes if one is function or one.parent is function)
