"""What can be gone through again: each time it is asked, it begins anew."""

import ast

from ..code.calls import Call, given_to, last_name
from ..code.notebook import Notebook
from ..code.origins import Origins, all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from ..edits import Changes, import_as, replace
from .loaders import LOADERS

_ONCE = (
    "open",
    "iter",
    "zip",
    "map",
    "filter",
    "enumerate",
    "reader",
    "DictReader",
    "cycle",
    "chain",
    "islice",
    "scan",
)


def _yields(function: ast.expr, call: Call, code: Notebook) -> bool:
    """Whether what is called is a function of a cell that yields, or each method of that name is."""
    one = Origins(code).called(function, call.scope)
    name = function.attr if isinstance(function, ast.Attribute) else ""
    found = [one] if one is not None else [scope for scope in code.running.scopes if scope.function == name]
    return bool(found) and all(
        any(isinstance(node, ast.Yield | ast.YieldFrom) for node in scope.nodes) and not _is_used_up(scope, code)
        for scope in found
    )


def _is_used_up(scope: Scope, code: Notebook) -> bool:
    """Whether what a function goes through may be empty the second time: a file or an iterator made outside of it."""
    for loop in (node for node in scope.nodes if isinstance(node, ast.For)):
        for one, where in all_origins(loop.iter, scope, code):
            if where is scope or not isinstance(one, ast.Call | ast.GeneratorExp):
                continue
            if (
                isinstance(one, ast.GeneratorExp)
                or last_name(one.func) in _ONCE
                or Origins(code).called(one.func, where)
            ):
                return True
    return False


def _is_bound_later(name: str, call: Call) -> bool:
    """Whether a name stands for something else when it is asked for again: `rows = cycle(rows)`; or within the edit."""
    begin = (call.node.lineno, call.node.col_offset)
    return name in ("item", "_") or any(one.position > begin for one in call.scope.bindings.get(name, ()))


def endless_rounds(call: Call, given: str, code: Notebook) -> Changes:
    """Return the edit that asks again in each round; none where that may give nothing the second time."""
    node = call.node.args[0]
    yields = isinstance(node, ast.Call) and _yields(node.func, call, code)
    plain = isinstance(node, ast.Call) and all(
        isinstance(one, ast.Name | ast.Attribute | ast.Constant) for one in given_to(node)
    )
    made = [
        code.qualified(one.func, where)
        for one, where in all_origins(node, call.scope, code)
        if isinstance(one, ast.Call)
    ]
    if not (yields and plain) and not (isinstance(node, ast.Name) and made and made[0] in LOADERS):
        return ()
    if any(_is_bound_later(one.id, call) for one in walk(node) if isinstance(one, ast.Name)):
        return ()
    name, imported = import_as(call.scope, code, "itertools", "itertools")
    return imported + replace(call.scope, call.node, f"(item for _ in {name}.count() for item in {given})")
