"""The functions that PyTorch calls by itself each time a network is called."""

import ast
from collections.abc import Iterator

from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.trees import walk

_HOOKS = (
    *("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
    *("register_backward_hook", "register_full_backward_pre_hook"),
)


def code_of_hooks(code: Notebook) -> Iterator[Scope]:
    """Yield the functions that are registered as hooks of a network."""
    for scope in code.scopes_mentioning(*_HOOKS):
        for call in scope.calls:
            if getattr(call.func, "attr", "") in _HOOKS and call.args:
                yield from _called_by(call, scope, code)


def _called_by(call: ast.Call, scope: Scope, code: Notebook) -> Iterator[Scope]:
    """Yield the functions that a registration hands over."""
    yield from _called_as_hook(call.args[0], scope, code)
    names = {one.id for one in walk(call.args[0]) if isinstance(one, ast.Name)}
    names |= {one.attr for one in walk(call.args[0]) if isinstance(one, ast.Attribute)}
    inner = (one for one in code.scopes(scope.cell) if not one.is_cell)
    yield from (one for one in inner if one.function in names or one.node in walk(call.args[0]))
    yield from (one for name in names for made in code.functions_named(name) for one in _inside(made))


def left_hooks(code: Notebook) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the registrations of hooks that are made again and again, while the code takes none of them off."""
    origins = Origins(code)
    if any(getattr(call.func, "attr", "") == "remove" and not call.args for call in _calls(code, "remove")):
        return
    for call, scope in code.running.nodes(ast.Call):
        is_called = scope.is_cell or origins.calls_of(scope)
        if getattr(call.func, "attr", "") in _HOOKS and is_called and origins.is_repeated(call, scope):
            yield call, scope


def lasting_hooks(code: Notebook) -> Iterator[tuple[ast.Call, Scope, list[Scope]]]:
    """Yield the registrations whose handle is thrown away, so that nothing can take them off, and what they call."""
    for scope in code.scopes_mentioning(*_HOOKS):
        for call in scope.calls:
            match scope.statement_of(call):
                case ast.Expr(value=value) if value is call and getattr(call.func, "attr", "") in _HOOKS and call.args:
                    yield call, scope, list(_called_by(call, scope, code))


def _calls(code: Notebook, word: str) -> Iterator[ast.Call]:
    return (call for scope in code.scopes_mentioning(word) for call in scope.calls)


def _called_as_hook(hook: ast.expr, scope: Scope, code: Notebook) -> Iterator[Scope]:
    """Yield the `__call__` of the object that is the hook."""
    made = code.definition(hook.func if isinstance(hook, ast.Call) else hook, scope, made=True)
    if made is not None and isinstance(made.definition, ast.ClassDef):
        name = made.definition.name
        yield from (one for one in code.scopes(made.cell) if one.owner == name and one.function == "__call__")


def _inside(function: Scope) -> Iterator[Scope]:
    """Yield the function, and the functions in it: `def save(name): def hook(m, i, o): ...; return hook`."""
    yield from (one for one in function.tree.scopes if one is function or one.parent is function)
