"""Which names a piece of code binds, and to what."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BINDERS = (
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.ExceptHandler),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem),
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Binding:
    """One place where a name is bound."""

    cell: int
    position: tuple[int, int] = (0, 0)
    """Line and column from which on it holds."""
    value: ast.expr | None = None
    """What was assigned; None when that is no plain expression (a loop's target, a parameter)."""
    imported: str | None = None
    """Full dotted name of what was imported."""
    definition: Function | ast.ClassDef | None = None
    local: bool = False
    """Bound in a function."""


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run in a scope, in the order of the text, without the bodies of what it defines."""
    stack = list(reversed(node.body if hasattr(node, "body") else [node]))
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, _SCOPES):
            children: list[ast.AST] = [*getattr(current, "decorator_list", []), *getattr(current, "bases", [])]
            arguments = getattr(current, "args", None)
            if arguments is not None:
                children += [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
        else:
            children = list(ast.iter_child_nodes(current))
        stack.extend(reversed(children))


def bindings_of(nodes: Iterable[ast.AST], cell: int, *, local: bool = False) -> dict[str, list[Binding]]:
    """All names that the nodes of a scope bind, each with its bindings in the order of the text."""
    found: dict[str, list[Binding]] = {}
    for node in nodes:
        if isinstance(node, _BINDERS):
            for name, bound in _bound(node):
                found.setdefault(name, []).append(replace(bound, cell=cell, local=local))
    return found


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, in order."""
    arguments = function.args
    rest = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest)]


def _bound(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    # A binding holds from the end of its statement on: `x = f(x)` reads the old one.
    end = (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)
    begin = (getattr(node, "lineno", 0) or 0, getattr(node, "col_offset", 0) or 0)
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imported(node, end)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value, end)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from _targets(node.target, node.value, end)
    elif isinstance(node, ast.AugAssign):
        yield from _targets(node.target, None, end)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, Binding(-1, position=begin, definition=node)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, Binding(-1, position=begin)
    else:
        bound = getattr(node, "target", None) or getattr(node, "optional_vars", None)  # for, comprehensions, with
        if isinstance(bound, ast.expr):
            yield from _targets(bound, None, (bound.lineno, bound.col_offset))


def _imported(node: ast.Import | ast.ImportFrom, end: tuple[int, int]) -> Iterator[tuple[str, Binding]]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            full = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or full, Binding(-1, position=end, imported=full)
        else:
            origin = f"{node.module}.{alias.name}" if node.level == 0 else None
            yield alias.asname or alias.name, Binding(-1, position=end, imported=origin)


def _targets(target: ast.expr, value: ast.expr | None, position: tuple[int, int]) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Binding(-1, position=position, value=value)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, None, position)
    elif isinstance(target, ast.Tuple | ast.List):
        values: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            values = list(value.elts)
        for part, part_value in zip(target.elts, values, strict=True):
            yield from _targets(part, part_value, position)
