"""Dicts that a function keeps its results in, and reads itself."""

import ast
from collections.abc import Iterator

from .calls import last_name
from .notebook import Notebook
from .scopes import Scope


def dict_caches(code: Notebook) -> Iterator[tuple[ast.Assign, str, Scope]]:
    """Yield the statements that fill a dict which only their function reads, after it has looked for the key there."""
    of_items = (scope for top in code.mentioning("__getitem__") for scope in code.scopes(top.cell))
    for scope in dict.fromkeys((*code.running, *of_items)):
        for node in scope.nodes if not scope.is_cell else ():
            match node:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name() | ast.Attribute() as owner, slice=key)]):
                    text = scope.segment(owner)
                    if _looks_first(text, ast.dump(key), scope) and not _used_elsewhere(owner, scope, code):
                        yield node, text, scope


def _looks_first(text: str, key: str, scope: Scope) -> bool:
    calls = [scope.segment(call) for call in scope.calls]
    if any(one.startswith((f"{text}.pop", f"len({text}")) for one in calls):
        return False  # it is bounded
    for node in scope.nodes:
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[container]):
                if scope.segment(container) == text and ast.dump(left) == key:
                    return True
            case ast.Try(body=[first, *_], handlers=[ast.ExceptHandler(type=ast.Name(id="KeyError"))]):
                if f"{text}[" in scope.segment(first):
                    return True
    return False


def _used_elsewhere(owner: ast.Name | ast.Attribute, scope: Scope, code: Notebook) -> bool:
    """Whether other code has to do with the dict than what makes, counts or empties it."""
    name = owner.id if isinstance(owner, ast.Name) else owner.attr
    if isinstance(owner, ast.Name) and name in scope.bindings and name not in scope.parameters:
        return True  # it is made anew in each call
    for top in code.mentioning(name):
        for other in code.scopes(top.cell):
            if other is scope:
                continue
            harmless = {id(one) for node in other.nodes for one in _harmless(node)}
            mentions = (one for one in other.names if name == last_name(one))
            if any(id(one) not in harmless for one in mentions):
                return True
    return False


def _harmless(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=[target], value=ast.Dict(keys=[]) | ast.Call(args=[], keywords=[])):
            return [target]
        case ast.AnnAssign(target=target, value=ast.Dict(keys=[])):
            return [target]
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return [inner]
        case ast.Call(func=ast.Attribute(attr="clear", value=inner)):
            return [inner]
    return []
