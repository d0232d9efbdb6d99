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
    wraps: str | None = None
    """What wraps the iterator again and again: "itertools.chain"; None for a function that calls itself."""


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
    return compiled or next(
        (found for name in names if (found := _wrapped_in_a_loop(code, name, scope)) is not None), None
    )


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


def _wrapped_in_a_loop(code: Notebook, name: ast.Name, scope: Scope) -> DeepCall | None:
    """Return the name if a loop wraps what it stood for: `rows = itertools.chain(rows, part)`, also in its function."""
    why = "wraps what it was in each round of a loop; to take an item from it calls them all, nested"
    for own, value, where in _assigned_in_loops(code, name, scope):
        wrapper = code.described(value.func, where) or ""
        if own in (one.id for one in ast.walk(value) if isinstance(one, ast.Name)) and _WRAPPERS.fullmatch(wrapper):
            return DeepCall(name.id, why, wrapper)
    return None


def _assigned_in_loops(code: Notebook, name: ast.Name, scope: Scope) -> Iterator[tuple[str, ast.Call, Scope]]:
    """Yield name and call of each `x = f(...)` in a loop, if it is that name, or in the function that made it."""
    made = code.definition(name, scope, made=True)
    function = made.definition if made is not None else None
    places = [(module, module.node, name.id) for module in code.mentioning(f"{name.id} =")]
    if made is not None and isinstance(function, ast.FunctionDef):
        places.append((made.scope, function, ""))
    for where, tree, only in places:
        loops = (one for one in ast.walk(tree) if isinstance(one, ast.For | ast.While))
        for one in (inner for loop in loops for inner in ast.walk(loop)):
            match one:
                case ast.Assign(targets=[ast.Name(id=own)], value=ast.Call() as value) if only in ("", own):
                    yield own, value, where
