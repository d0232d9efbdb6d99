"""Whole numbers that the cells give a name to."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .notebook import Notebook
from .scopes import Scope


class NamedNumber(NamedTuple):
    """A whole number that is written behind a name, an attribute or a key: `SIZE = 640`, `{"crop": 512}`."""

    name: str
    value: int
    scope: Scope


def named_numbers(code: Notebook) -> Iterator[NamedNumber]:
    """Yield those of all cells, in the order of the cells."""
    for at in range(len(code.cells)):
        for scope in code.scopes(at):
            for node in scope.nodes:
                for name, value in _named(node):
                    if isinstance(value, ast.Constant) and type(value.value) is int:
                        yield NamedNumber(name, value.value, scope)


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            yield from ((str(one.value), value) for one, value in pairs if isinstance(one, ast.Constant))
