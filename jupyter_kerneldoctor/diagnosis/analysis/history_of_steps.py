"""Optimizers that remember the gradients of earlier steps: `optimizer.step(closure)` of L-BFGS."""

import ast

from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.stores import Store, container_name
from .growth import MOST, Growth
from .statements import is_at, statement_with

_REMEMBER = ("torch.optim.LBFGS", "torch.optim.lbfgs.LBFGS")


def history_of_steps(growth: Growth) -> Store | None:
    """Return the one call of such an optimizer's step in which most of it grew: also in the closure that it calls."""
    code = growth.code
    found = [
        Store(statement, scope, container_name(owner), ())
        for scope in code.running
        for call in scope.calls
        if (owner := _stepping(call)) is not None and _remembers(owner, scope, code)
        if (statement := scope.statement_of(call)) is not None
    ]
    for one in found if len(found) == 1 else ():
        at = statement_with(code, one.statement, one.scope)
        inside = (
            part.bytes
            for part in growth.charged
            if is_at(at, part.statement) or any(is_at(at, caller) for caller in part.statement.via)
        )
        return one if sum(inside) >= MOST * growth.known_bytes > 0 else None
    return None


def _stepping(call: ast.Call) -> ast.expr | None:
    match call:
        case ast.Call(func=ast.Attribute(attr="step", value=owner), args=[_, *_]):
            return owner
    return None


def _remembers(owner: ast.expr, scope: Scope, code: Notebook) -> bool:
    origins = all_origins(owner, scope, code)
    return any(isinstance(one, ast.Call) and code.qualified(one.func, at) in _REMEMBER for one, at in origins)
