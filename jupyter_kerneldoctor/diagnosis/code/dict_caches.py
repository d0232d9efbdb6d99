"""Dicts that a function keeps its results in, and reads itself."""

import ast
from collections.abc import Iterator

from .calls import last_name
from .notebook import Notebook
from .scopes import Scope
from .trees import dump


def dict_caches(code: Notebook) -> Iterator[tuple[ast.Assign, str, Scope]]:
    """Yield the statements that fill a dict which only their function reads, after it has looked for the key there."""
    of_items = code.scopes_mentioning("__getitem__")
    for scope in dict.fromkeys((*code.running, *of_items)):
        fills = [] if scope.is_cell else list(_fills(scope))
        asked = _asked_for(scope) if fills else set()
        is_used: dict[str, bool] = {}
        for store, owner, key in fills:
            text = scope.segment(owner)
            if asked & {(text, dump(key)), (text, "")}:
                if text not in is_used:
                    is_used[text] = _used_elsewhere(owner, scope, code)
                if not is_used[text]:
                    yield store, text, scope


def _fills(scope: Scope) -> Iterator[tuple[ast.Assign, ast.Name | ast.Attribute, ast.expr]]:
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() | ast.Attribute() as owner, slice=key)]):
                yield node, owner, key


def _asked_for(scope: Scope) -> set[tuple[str, str]]:
    """Return what a function looks for: a dict, and the key; "" stands for any. Dicts that it bounds are left out."""
    found, bounded = set(), set()
    for node in scope.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name.startswith("pop"):
                bounded.add(scope.segment(owner))
            case ast.Call(func=ast.Name(id="len"), args=[owner, *_]):
                bounded.add(scope.segment(owner))
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[container]):
                found.add((scope.segment(container), dump(left)))
            case ast.Try(body=[first, *_], handlers=[ast.ExceptHandler(type=ast.Name(id="KeyError"))]):
                read = (one.value for one in scope.inside(first) if isinstance(one, ast.Subscript))
                found |= {(scope.segment(one), "") for one in read}
    return {one for one in found if one[0] not in bounded}


def _used_elsewhere(owner: ast.Name | ast.Attribute, scope: Scope, code: Notebook) -> bool:
    """Whether other code has to do with the dict than what makes, counts or empties it."""
    name = owner.id if isinstance(owner, ast.Name) else owner.attr
    if isinstance(owner, ast.Name) and name in scope.bindings and name not in scope.parameters:
        return True  # it is made anew in each call
    for other in code.scopes_mentioning(name):
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
