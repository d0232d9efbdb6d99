"""Functions that call themselves."""

import ast
from collections.abc import Iterator, Mapping

from .calls import last_name
from .notebook import Notebook
from .scopes import Scope

_SPECIAL = {
    "__bool__": "bool", "__len__": "len", "__str__": "str", "__repr__": "repr", "__hash__": "hash", "__iter__": "iter",
    "__next__": "next", "__abs__": "abs", "__int__": "int", "__float__": "float", "__format__": "format",
}  # fmt: skip
_DECIDES = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.While, ast.For, ast.Try, ast.comprehension, ast.Raise)
_RELATIVES = ("parent", "next", "child", "left", "right", "previous", "prev", "tail")
"""Attributes that hold another object of the same class."""


def calls_itself(scope: Scope, others: Mapping[str, Scope], code: Notebook) -> bool:
    """Whether a function calls itself, directly or through another; or a special method what calls that method."""
    if scope.owner is not None and (builtin := _SPECIAL.get(scope.function)):
        return _calls(scope, builtin)
    waiting, seen = [scope], {scope}
    while waiting:
        names = waiting.pop().names
        code.spend(1 + len(names) / 2)
        for node in names:
            called = last_name(node)
            if called == scope.function:
                return True
            if called in others and others[called] not in seen:
                seen.add(others[called])
                waiting.append(others[called])
    return False


def names_itself(scope: Scope) -> bool:
    """Whether a function calls itself by its own name, a method by that of its object."""
    for call in scope.calls:
        match call.func:
            case ast.Name(id=name) if name == scope.function and not scope.owner:
                return True
            case ast.Attribute(attr=name, value=ast.Name(id=owner)) if name == scope.function and scope.owner:
                if owner in scope.parameters[:1]:
                    return True
    return False


def always_calls_itself(scope: Scope, name: str) -> bool:
    """Whether a function calls itself and decides nothing; a method that of another object of its class."""
    if any(isinstance(node, _DECIDES) for node in scope.nodes):
        return False
    if not scope.owner:
        return _calls(scope, name)
    calls = [call.func for call in scope.calls if isinstance(call.func, ast.Attribute) and call.func.attr == name]
    return any(_is_alike(call.value, scope) for call in calls) and not name.startswith("__init")


def named_functions(code: Notebook) -> Iterator[tuple[Scope, str]]:
    """Yield the functions that may have run, and the names that they are called by; also of lambdas."""
    for scope in code.running.functions:
        if scope.function:
            yield scope, scope.function
    for scope in code.mentioning("lambda"):
        for name, bound in scope.bindings.items():
            if isinstance(bound[-1].value, ast.Lambda):
                yield code.function_scope(bound[-1].value, scope.cell), name


def _is_alike(owner: ast.expr, scope: Scope) -> bool:
    """Whether a method is called on the object itself, or an attribute that is no tool of another kind."""
    match owner:
        case ast.Name(id=name):
            return name in scope.parameters[:1]
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return name in scope.parameters[:1] and attribute in _RELATIVES
    return False


def _calls(scope: Scope, name: str) -> bool:
    return any(isinstance(call.func, ast.Name) and call.func.id == name for call in scope.calls)
