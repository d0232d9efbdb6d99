"""What runs whichever way a block of statements goes."""

import ast
from collections.abc import Container

from .scopes import Scope


def always_called(body: list[ast.stmt], owner: str, methods: Container[str], scope: Scope) -> ast.Call | None:
    """Return a call of one of these methods of an object that each way through these statements makes; None without."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=called)) as call):
                if method in methods and scope.segment(called) == owner:
                    return call
            case ast.If(body=one, orelse=other):
                first = always_called(one, owner, methods, scope)
                if first is not None and always_called(other, owner, methods, scope) is not None:
                    return first
            case ast.For(body=inner) | ast.While(body=inner) | ast.With(body=inner):
                if (found := always_called(inner, owner, methods, scope)) is not None:
                    return found
    return None
