"""Statements that put something into a container: `kept.append(y)`, `self.seen[key] = y`, `x = concat([x, y])`."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .scopes import Scope
from .trees import walk

_ADDERS = frozenset(
    ("append", "appendleft", "add", "extend", "extendleft", "insert", "update", "setdefault", "put", "put_nowait")
)
_ENTRIES = ("setdefault", "get")
"""Methods whose result is an entry of the container: `by_key.setdefault(key, []).append(value)`."""


class Store(NamedTuple):
    """A statement that puts values into a container."""

    statement: ast.stmt
    scope: Scope
    container: str
    """As it is written there: `kept`, `self.seen`."""
    values: tuple[ast.expr, ...]

    @property
    def adds_items(self) -> bool:
        """Whether the values are put in as they are: `kept.append(x)`, `kept += [x]`."""
        match self.statement:
            case ast.Expr() | ast.AugAssign(value=ast.List()):
                return True
        return False


def stores(scopes: Iterable[Scope]) -> Iterator[Store]:
    """Yield the statements of these scopes that put something into a container."""
    for scope in scopes:
        scope.tree.budget.spend(len(scope.nodes) / 5)
        for node in scope.nodes:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=given)):
                    target, values = owner if method in _ADDERS else None, given
                case ast.Assign(
                    targets=[ast.Subscript(value=owner), *_] | [_, ast.Subscript(value=owner)], value=value
                ):
                    target, values = owner, [value]
                case ast.AugAssign(op=ast.Add(), target=owner, value=ast.List(elts=[_, *_] as given)) if not any(
                    isinstance(one, ast.Starred) for one in given
                ):
                    target, values = owner, given  # as `append` of each
                case ast.AugAssign(op=ast.Add() | ast.BitOr(), target=owner, value=value):
                    target, values = owner, [value]
                case ast.Assign(
                    targets=[ast.Name() | ast.Attribute() as owner], value=ast.BinOp() | ast.Call() as value
                ):
                    target, values = owner if _mentions(value, container_name(owner)) else None, [value]
                case _:
                    continue
            if target is not None and (name := container_name(target)):
                yield Store(node, scope, name, tuple(values))


def container_name(node: ast.expr) -> str:
    """Return the name of what an expression reaches into: `seen` for `seen[key]`; "" for what has no name."""
    while True:
        match node:
            case ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _ENTRIES:
                node = inner
            case ast.Name(id=name):
                return name
            case ast.Attribute(attr="loc" | "iloc" | "at" | "iat", value=inner):
                node = inner  # rows of a table
            case ast.Attribute(attr=name, value=inner):
                owner = container_name(inner)
                return f"{owner}.{name}" if owner else ""
            case _:
                return ""


def _mentions(value: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name | ast.Attribute) and container_name(one) == name for one in walk(value))
