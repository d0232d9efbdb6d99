"""Counts, sums and means of the rows of a merge, worked out from how often each key stands in the other table.

`a.merge(b, on="day").groupby("page").size()` counts a row of the table that has `page` once for each row of the other
one with its day. Merged with those numbers it keeps its length, and the result is the same.
"""

import ast
from typing import NamedTuple

from ..code.notebook import Call, Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from .pandas import Merge, frame_name

_HOW = ("size", "count", "sum", "mean")


class Reduction(NamedTuple):
    """What is made of the rows of a merge: `m.groupby("page")["paid"].sum()`."""

    how: str
    by: str | None
    """The one column that they are grouped by; None where all rows are taken together."""
    column: str | None
    """The column that is summed up; None where the rows are counted."""
    to: str
    """The name that the numbers are given."""


def reduction_of(call: Call) -> Reduction | None:
    """Return how the rows of a merge are counted or summed up, at once or by its name; None where that is another."""
    name = frame_name(call)
    for node in call.scope.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=how)) if how in _HOW and not node.args:
                found = _reduction(owner, how)
                if found is not None and _is_of(found[0], call, name):
                    return found[1]._replace(to=_name_of(node, call.scope))
            case ast.Call(func=ast.Name(id="len"), args=[rows]) if _is_of(rows, call, name):
                return Reduction("size", None, None, _name_of(node, call.scope))
    return None


def _name_of(node: ast.Call, scope: Scope) -> str:
    match scope.statement_of(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            return name
    return "result"


def _is_of(rows: ast.expr, call: Call, name: str | None) -> bool:
    return rows is call.node or (isinstance(rows, ast.Name) and rows.id == name)


def _reduction(owner: ast.expr, how: str) -> tuple[ast.expr, Reduction] | None:
    """Return the rows that are taken, and what is made of them."""
    column: str | None = None
    match owner:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
            column = name
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="groupby")) as inner, attr=name):
            column = name
        case _:
            inner = owner
    if (column is None) != (how == "size"):
        return None  # of all columns, or of how many values there are
    match inner:
        case ast.Call(
            func=ast.Attribute(value=rows, attr="groupby"),
            args=[ast.Constant(value=str(by)) | ast.List(elts=[ast.Constant(value=str(by))])],
            keywords=[],
        ):
            return rows, Reduction(how, by, column, "")
        case ast.Name() | ast.Call() if how != "size":
            return inner, Reduction(how, None, column, "")
    return None


def without_the_pairs(call: Call, merge: Merge, reduction: Reduction, code: Notebook) -> str | None:
    """Return, as code, the same result without the merge's rows; None where its keys have different names."""
    if call.argument("on", 3 if call.name == "pandas.merge" else 2) is None:
        return None
    sides, column = (merge.left, merge.right), reduction.column
    is_of_both = reduction.by is None or repr(reduction.by) in merge.key.replace('"', "'")
    if is_of_both and merge.keeps_left and merge.keeps_right:
        return None
    at = int(merge.keeps_right) if is_of_both else _side_with(reduction.by, sides, call, code)
    table, other = call.scope.segment(sides[at]), call.scope.segment(sides[1 - at])
    keeps = (merge.keeps_left, merge.keeps_right)[at]
    how = 'how="left", ' if keeps else ""
    merged = f'{table}.merge(few, on={merge.key}, {how}validate="many_to_one")'
    if column is not None and _side_with(column, sides, call, code) != at:
        lines = [
            f'few = {other}.groupby({merge.key}, dropna=False)[{column!r}].agg(["sum", "count"]).reset_index()',
            f"counted = {merged}",
        ]
    else:
        filled = '.fillna({"rows": 1})' if keeps else ""
        lines = [
            f'few = {other}.groupby({merge.key}, dropna=False).size().reset_index(name="rows")  # of each key',
            f"counted = {merged}{filled}",
        ]
        if reduction.how in ("sum", "mean"):
            lines.append(f'counted["sum"] = counted[{column!r}] * counted["rows"]')
        if reduction.how in ("count", "mean"):
            lines.append(f'counted["count"] = counted[{column!r}].notna() * counted["rows"]')
    rows = "counted" if reduction.by is None else f"counted.groupby({reduction.by!r})"
    taken = {"size": "rows", "count": "count"}.get(reduction.how, "sum")
    by_count = f' / {rows}["count"].sum()' if reduction.how == "mean" else ""
    return "\n".join([*lines, f'{reduction.to} = {rows}["{taken}"].sum(){by_count}'])


def _side_with(column: str | None, sides: tuple[ast.expr, ...], call: Call, code: Notebook) -> int:
    """Return which table has a column: 0 for the left one, 1 for the right one, also where the code does not tell."""
    return 0 if column in _known_columns(sides[0], call, code) else 1


def _known_columns(table: ast.expr, call: Call, code: Notebook) -> set[str]:
    """Return the columns that the code names of a table: of `DataFrame({"a": ...})`, of `table["a"]`."""
    made = [table, *(one.node for one in all_origins(table, call.scope, code))]
    names = {one.id for one in made if isinstance(one, ast.Name)}
    found = set()
    for one in made:
        for node in walk(one) if isinstance(one, ast.Call) else ():
            match node:
                case ast.Dict(keys=keys):
                    found |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                case ast.keyword(arg=str(word)):
                    found.add(word)
    for scope in code.running:
        for node in scope.nodes:
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(column))) if name in names:
                    found.add(column)
    return found
