"""Recursions that no crash report shows: of a function that was compiled, and of iterators that wrap one another."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .notebook import Notebook
from .scopes import Scope

_COMPILERS = re.compile(r"numba\.(?:\w+\.)*(?:n?jit|vectorize|guvectorize|cfunc)")
_WRAPPERS = re.compile(r"(?:itertools\.\w+|map|filter|zip|enumerate|reversed|functools\.partial)(?:\.\w+)?")


class DeepCall(NamedTuple):
    """What calls itself, for a sentence."""

    name: str
    why: str


def deep_call(code: Notebook, cell: int, line: int) -> DeepCall | None:
    """Return the recursion that the line of a cell may start. Raises CodeTooLargeError."""
    names = [
        node
        for scope in code.scopes(cell)
        for node in scope.names
        if isinstance(node, ast.Name) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    scope = code.module(cell)
    if scope is None:
        return None
    compiled = next((found for name in names if (found := _compiled(code, name, scope)) is not None), None)
    return compiled or next((_chain(name.id) for name in names if _is_wrapped_in_a_loop(code, name.id)), None)


def _compiled(code: Notebook, name: ast.Name, scope: Scope) -> DeepCall | None:
    binding = code.definition(name, scope)
    if binding is None or not isinstance(binding.definition, ast.FunctionDef):
        return None
    function = binding.definition
    decorators = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    if not any(_COMPILERS.fullmatch(code.described(one, binding.scope) or "") for one in decorators):
        return None
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    if not any(isinstance(one.func, ast.Name) and one.func.id == function.name for one in calls):
        return None
    return DeepCall(function.name, "is compiled and calls itself; compiled code has no limit on nested calls")


def _chain(name: str) -> DeepCall:
    return DeepCall(name, "wraps what it was in each round of a loop; to take an item from it calls them all, nested")


def _is_wrapped_in_a_loop(code: Notebook, name: str) -> bool:
    """Whether a loop gives a name an iterator over what it stood for: `rows = itertools.chain(rows, part)`."""
    return any(
        name in (one.id for one in ast.walk(value) if isinstance(one, ast.Name))
        and _WRAPPERS.fullmatch(code.described(value.func, scope) or "")
        for scope, value in _assigned_in_loops(code, name)
    )


def _assigned_in_loops(code: Notebook, name: str) -> Iterator[tuple[Scope, ast.Call]]:
    for module in code.mentioning(f"{name} ="):
        for loop in ast.walk(ast.Module([*module.body], [])):
            if not isinstance(loop, ast.For | ast.While):
                continue
            assigned = (one for one in ast.walk(loop) if isinstance(one, ast.Assign))
            for one in assigned:
                is_it = any(isinstance(to, ast.Name) and to.id == name for to in one.targets)
                if is_it and isinstance(one.value, ast.Call):
                    yield module, one.value
