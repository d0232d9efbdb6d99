"""Recursions that no crash report shows: of a compiled function, of iterators or tuples that hold one another."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .notebook import Notebook
from .scopes import Scope
from .trees import unparse, walk

_COMPILERS = re.compile(r"numba\.(?:\w+\.)*(?:n?jit|vectorize|guvectorize|cfunc)")
_WRAPPERS = re.compile(r"(?:itertools\.\w+|map|filter|zip|enumerate|reversed|functools\.partial)(?:\.\w+)?")
_HASHES = re.compile(r"\b(?:hash|set|frozenset|Counter|fromkeys|add|setdefault|index|count)\(|\bin\b|==|\[")
_WORD = re.compile(r"[^\W\d]\w*")
_MOST_WORDS = 12
_TUPLE = "tuple"


class DeepCall(NamedTuple):
    """What calls itself, for a sentence."""

    name: str
    why: str
    wraps: str | None = None
    """What wraps it again and again: "itertools.chain", "tuple"; None for a function that calls itself."""

    @property
    def is_data(self) -> bool:
        """Whether it is a tuple in a tuple, and so on."""
        return self.wraps == _TUPLE


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
    wrapped = (found for name in names if (found := _wrapped_in_a_loop(code, name, scope)) is not None)
    return compiled or next(wrapped, None) or _nested_in_a_loop(code, code.source(cell).split("\n")[line - 1])


def _compiled(code: Notebook, name: ast.Name, scope: Scope) -> DeepCall | None:
    binding = code.definition(name, scope)
    if binding is None or not isinstance(binding.definition, ast.FunctionDef):
        return None
    function = binding.definition
    decorators = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    if not any(_COMPILERS.fullmatch(code.described(one, binding.scope) or "") for one in decorators):
        return None
    calls = (node for node in walk(function) if isinstance(node, ast.Call))
    if not any(isinstance(one.func, ast.Name) and one.func.id == function.name for one in calls):
        return None
    return DeepCall(function.name, "is compiled and calls itself; compiled code has no limit on nested calls")


def _wrapped_in_a_loop(code: Notebook, name: ast.Name, scope: Scope) -> DeepCall | None:
    """Return the name if a loop wraps what it stood for: `rows = itertools.chain(rows, part)`, also in its function."""
    why = "wraps what it was in each round of a loop; to take an item from it calls them all, nested"
    for own, value, where in _assigned_in_loops(code, name, scope):
        wrapper = code.described(value.func, where) or ""
        if own in (one.id for one in walk(value) if isinstance(one, ast.Name)) and _WRAPPERS.fullmatch(wrapper):
            return DeepCall(name.id, why, wrapper)
    return None


def _nested_in_a_loop(code: Notebook, text: str) -> DeepCall | None:
    """Return what a loop puts into a tuple together with what it was, if the line hashes or compares it.

    `path = (step, path)`: to hash a tuple C goes through all that it holds, and no limit counts these calls.
    """
    words = [f"{word} =" for word in dict.fromkeys(_WORD.findall(text))] if _HASHES.search(text) else []
    for scope in code.scopes_mentioning(*words[:_MOST_WORDS]):
        for node in scope.nodes:
            match node:
                case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                    name, inner = unparse(target), _elements(value, scope, code)
                    is_nested = name in (unparse(one) for one in inner)
                    loops = (one for one in scope.around(node) if isinstance(one, ast.For | ast.While))
                    if is_nested and name in text and any(loops):
                        why = "is put into a tuple with what it was in each round of a loop; a hash of it goes"
                        return DeepCall(name, f"{why} through all levels, nested", _TUPLE)
    return None


def _elements(value: ast.expr, scope: Scope, code: Notebook) -> list[ast.expr]:
    """Return what a tuple is made of, also one with names."""
    match value:
        case ast.Tuple(elts=elements):
            return elements
        case ast.Call(func=ast.Name() as made, args=given, keywords=words):
            binding = code.definition(made, scope)
            bases = getattr(binding.definition, "bases", []) if binding is not None else []
            is_named = any(unparse(one).endswith("NamedTuple") for one in bases)
            if is_named or "namedtuple" in (code.described(made, scope) or ""):
                return [*given, *(word.value for word in words)]
    return []


def _assigned_in_loops(code: Notebook, name: ast.Name, scope: Scope) -> Iterator[tuple[str, ast.Call, Scope]]:
    """Yield name and call of each `x = f(...)` in a loop, if it is that name, or in the function that made it."""
    made = code.definition(name, scope, made=True)
    function = made.definition if made is not None else None
    places = [(module, module.node, name.id) for module in code.mentioning(f"{name.id} =")]
    if made is not None and isinstance(function, ast.FunctionDef):
        places.append((made.scope, function, ""))
    for where, tree, only in places:
        loops = (one for one in walk(tree) if isinstance(one, ast.For | ast.While))
        for one in (inner for loop in loops for inner in walk(loop)):
            match one:
                case ast.Assign(targets=[ast.Name(id=own)], value=ast.Call() as value) if only in ("", own):
                    yield own, value, where
