"""Reads of pandas that hold a file whole, and how their result is used."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..code.notebook import Call

READERS = ("pandas.read_csv", "pandas.read_table")
"""What reads a file of text into one frame."""

PARTIAL = ("chunksize", "iterator", "nrows")
"""Arguments with which they do not read it whole."""

COMBINED_BY = {"sum": "sum", "min": "min", "max": "max", "count": "sum", "size": "sum"}
"""Reductions of a groupby that can be worked out piece by piece, each with what puts the pieces' results together."""


@dataclass(frozen=True)
class Grouped:
    """A frame that is grouped and reduced as soon as it is there: `read(…).groupby(keys)[columns].sum()`."""

    node: ast.Call
    """All of it."""
    reduction: str
    levels: str
    """Which levels of the index the keys become, as code."""


def grouped(call: Call) -> Grouped | None:
    """Return what is made of a read at once, if that is a groupby by plain column names."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Attribute(attr=reduction, value=chosen), args=[], keywords=[]) if (
                reduction in COMBINED_BY
            ):
                inner = chosen.value if isinstance(chosen, ast.Subscript | ast.Attribute) else chosen
                match inner:
                    case ast.Call(func=ast.Attribute(attr="groupby", value=read), args=[keys], keywords=[]) if (
                        read is call.node
                    ):
                        levels = _levels(keys)
                        return None if levels is None else Grouped(node, reduction, levels)
    return None


def _levels(keys: ast.expr) -> str | None:
    match keys:
        case ast.Constant(value=str()):
            return "0"
        case ast.List(elts=[_, _, *_] as names) if all(
            isinstance(n, ast.Constant) and isinstance(n.value, str) for n in names
        ):
            return str(list(range(len(names))))
    return None


def frame_name(call: Call) -> str | None:
    """Return the name that a call's result is given; None for none, or more than one."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            return name
    return None


def columns_read(call: Call) -> list[str]:
    """Return the columns of the file that the code takes by name from the frame that a read gives.

    What it created before, `df["total"] = …`, is no column of the file.
    """
    name, scope = frame_name(call), call.scope
    read: dict[str, tuple[int, int]] = {}
    made: dict[str, tuple[int, int]] = {}
    for node in scope.nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=frame), slice=key, ctx=use) if frame == name:
                parts = key.elts if isinstance(key, ast.List) else [key]
                texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                statement = scope.tree.statements[node]
                first = isinstance(use, ast.Load)
                for text in texts:
                    place = (statement.lineno, 0) if first else (statement.lineno, 1)
                    (read if first else made).setdefault(text, place)
    return [column for column, place in read.items() if place < made.get(column, (place[0], 1))]
