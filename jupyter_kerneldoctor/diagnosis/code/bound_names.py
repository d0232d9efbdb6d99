"""The names that a statement binds, from the end of the statement on: `x = f(x)` reads the old one."""

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from .executed_nodes import Definition

Position: TypeAlias = tuple[int, int]

BINDERS = (
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.ExceptHandler),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem),
)
"""The nodes that bind names."""


class BoundName(NamedTuple):
    """One name that a node binds."""

    name: str
    position: Position
    """Line and column from which on it holds."""
    value: ast.expr | None = None
    """What was assigned; None when that is no expression: a loop's target."""
    imported: str | None = None
    """Full dotted name of what was imported."""
    definition: Definition | ast.ClassDef | None = None


def bound_names(node: ast.AST) -> Iterator[BoundName]:
    """Yield the names that one of the `BINDERS` binds, in the order of the text."""
    begin = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from _imported(node, end)
        case ast.Assign():
            for target in node.targets:
                yield from _assigned(target, node.value, end)
        case ast.AnnAssign() | ast.NamedExpr() if node.value is not None:
            yield from _assigned(node.target, node.value, end)
        case ast.AugAssign():
            yield from _assigned(node.target, None, end)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield BoundName(node.name, begin, definition=node)
        case ast.ExceptHandler(name=str(name)):
            yield BoundName(name, begin)
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            yield from _assigned(target, None, (target.lineno, target.col_offset))
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _assigned(target, None, (target.lineno, target.col_offset))


def _imported(node: ast.Import | ast.ImportFrom, position: Position) -> Iterator[BoundName]:
    for alias in node.names:
        first = alias.name.split(".")[0]
        if isinstance(node, ast.Import):
            yield BoundName(alias.asname or first, position, imported=alias.name if alias.asname else first)
        else:
            full = f"{node.module}.{alias.name}" if node.level == 0 else None
            yield BoundName(alias.asname or alias.name, position, imported=full)


def _assigned(target: ast.expr, value: ast.expr | None, position: Position) -> Iterator[BoundName]:
    match target:
        case ast.Name():
            yield BoundName(target.id, position, value)
        case ast.Starred():
            yield from _assigned(target.value, None, position)
        case ast.Tuple() | ast.List():
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            values = value.elts if same and isinstance(value, ast.Tuple | ast.List) else [None] * len(target.elts)
            for part, of_part in zip(target.elts, values, strict=True):
                yield from _assigned(part, of_part, position)
