"""Reads of pandas that hold a file whole, and what a merge joins."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..code.calls import last_name
from ..code.notebook import Call, Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk
from .kept import names_in

READERS = ("pandas.read_csv", "pandas.read_table")
"""What reads a file of text into one frame."""

CHUNKED = (
    *READERS,
    *(f"pandas.read_{name}" for name in ("fwf", "json", "sql", "sql_query", "sql_table", "sas", "stata")),
)
"""What takes a `chunksize`; of JSON only with `lines=True`."""

_BY_USECOLS = ("read_csv", "read_table", "read_excel", "concat")
_BY_COLUMNS = ("read_parquet", "read_feather")
TABLE_READERS = (*_BY_USECOLS, *_BY_COLUMNS, "read_json", "read_sql")
"""Functions of pandas that are at work while tables are read and joined, by their own names."""

PARTIAL = ("chunksize", "iterator", "nrows", "skipfooter")
"""Arguments with which they do not read it whole, or cannot read a part."""

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


def rows_gone_through(loop: ast.AST) -> ast.expr | None:
    """Return the table that a loop takes row by row: `df` of `for i, row in df.iterrows()`."""
    for node in walk(loop.iter) if isinstance(loop, ast.For) else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="iterrows" | "itertuples", value=table)):
                return table
    return None


def cells_of(statement: ast.stmt) -> ast.expr | None:
    """Return the table of which a statement fills single cells: `df` of `df.loc[i, "new"] = x`."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr=attr, value=table))]) if attr in _CELLS:
            return table
    return None


def put_below(statement: ast.stmt, is_empty: Callable[[ast.expr], bool]) -> tuple[ast.expr, ast.expr] | None:
    """Return the table that a statement makes longer by one row, and the row: `df.loc[len(df)] = row`.

    So does `df.loc[i] = row` where the table began empty.
    """
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="loc", value=table), slice=key)], value=row):
            asked = {getattr(one, "attr", getattr(one, "id", "")) for one in walk(key)}
            is_next = bool(asked & {"len", "shape"}) or (isinstance(key, ast.Name) and is_empty(table))
            return (table, row) if is_next and not isinstance(key, ast.Tuple | ast.Slice | ast.Compare) else None
    return None


_CELLS = ("loc", "iloc", "at", "iat")
MERGES = ("pandas.merge", "pandas.DataFrame.merge")
_SUMS = ("sum", "count", "size", "mean", "agg", "nunique", "value_counts")
_MAKES_NULLS = ("nan", "NaN", "NA", "NaT", "reindex", "shift", "to_numeric")


class Merge(NamedTuple):
    """A merge of two tables by columns that are named."""

    left: ast.expr
    right: ast.expr
    key: str
    """The right table's key or keys as code: `"id"`, `["year", "city"]`, `KEYS`."""
    is_list: bool
    keeps_left: bool
    """Whether rows of the left table that match nothing stay in the result."""
    keeps_right: bool


def merge_of(call: Call, code: Notebook) -> Merge | None:
    """Return what a call merges; None where that is not written out, or it does not join by equal columns."""
    if call.name == "pandas.merge":
        left, right = call.argument("left", 0), call.argument("right", 1)
        how, key = call.argument("how", 2), call.argument("right_on", 5, "on", 3)
    else:
        assert isinstance(call.node.func, ast.Attribute)
        left, right = call.node.func.value, call.argument("right", 0)
        how, key = call.argument("how", 1), call.argument("right_on", 4, "on", 2)
    kind = how.value if isinstance(how, ast.Constant) else "inner" if how is None else None
    if left is None or right is None or key is None or kind not in ("inner", "left", "right", "outer"):
        return None
    stands_for = all_origins(key, call.scope, code)[-1].node
    is_list = isinstance(stands_for, ast.List | ast.Tuple)
    if not is_list and not isinstance(stands_for, ast.Constant):
        return None
    return Merge(left, right, call.scope.segment(key), is_list, kind in ("left", "outer"), kind in ("right", "outer"))


def may_hold_nulls(table: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether the code that makes a table shows missing values."""
    for one in all_origins(table, scope, code):
        for node in walk(one.node) if isinstance(one.node, ast.Call) else ():
            match node:
                case ast.Attribute(attr=name) | ast.Constant(value=name) if name in _MAKES_NULLS:
                    return True
                case ast.IfExp(orelse=ast.Constant(value=None)) | ast.List(elts=[ast.Constant(value=None), *_]):
                    return True
                case ast.keyword(arg="errors", value=ast.Constant(value="coerce")):
                    return True
    return False


def has_parts_of_texts(merge: Merge, scope: Scope, code: Notebook) -> bool:
    """Whether the keys of both tables come out of `explode`: the words of a text, the items of a list."""
    sides = (all_origins(one, scope, code, parts=True) for one in (merge.left, merge.right))
    return not merge.is_list and all(
        any(isinstance(one.node, ast.Call) and last_name(one.node.func) == "explode" for one in made) for made in sides
    )


def compared_later(call: Call) -> str | None:
    """Return the column by which the pairs are sorted out afterwards: `m[m["symbol"] == m["symbol_q"]]`."""
    name = frame_name(call)
    for node in call.scope.nodes if name is not None else ():
        for one in _asked_of_rows(node, name):
            match one.left, one.comparators[0]:
                case _ if not isinstance(one.ops[0], ast.Eq):
                    continue
                case (
                    ast.Subscript(value=ast.Name(id=left), slice=ast.Constant(value=str(first)))
                    | ast.Attribute(value=ast.Name(id=left), attr=first),
                    ast.Subscript(value=ast.Name(id=right), slice=ast.Constant(value=str(second)))
                    | ast.Attribute(value=ast.Name(id=right), attr=second),
                ) if left == right == name and first != second:
                    shorter, longer = sorted((first, second), key=len)
                    if longer.startswith(f"{shorter}_"):
                        return shorter
                    if longer[:-2] == shorter[:-2]:  # both have their suffix: `_x`, `_y`
                        return shorter[:-2]
    return None


def is_limited_later(call: Call) -> bool:
    """Whether only pairs are kept of which one column lies before another: `m[(m.time >= m.start) & ...]`."""
    name = frame_name(call)
    for node in call.scope.nodes if name is not None else ():
        for one in _asked_of_rows(node, name):
            sides = (one.left, one.comparators[0])
            of_it = [any(getattr(part, "id", None) == name for part in walk(side)) for side in sides]
            if all(of_it) and isinstance(one.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                return True
    return False


def _asked_of_rows(node: ast.AST, name: str | None) -> Iterator[ast.Compare]:
    """Yield what is asked of the rows that are kept: `m[(m.a == m.a_q) & (m.n > 1)]`, `m.loc[m.a == m.a_q]`."""
    match node:
        case ast.Subscript(value=ast.Name(id=table) | ast.Attribute(value=ast.Name(id=table), attr="loc"), slice=asked):
            waiting = [asked] if table == name and isinstance(node.ctx, ast.Load) else []
            for one in waiting:  # it grows meanwhile
                match one:
                    case ast.BinOp(op=ast.BitAnd(), left=left, right=right):
                        waiting += [left, right]
                    case ast.Tuple(elts=[rows, *_]):
                        waiting.append(rows)
                    case ast.Compare(comparators=[_]):
                        yield one


def has_one_value(merge: Merge, scope: Scope, code: Notebook) -> bool:
    """Whether the code gives the key one value in all rows of a table: `a["key"] = 1`, `a.assign(key=1)`."""
    key = merge.key.strip("'\"")
    stores = [one for place in code.running for one in place.nodes if isinstance(one, ast.Assign)]
    for side in (merge.left, merge.right):
        made = [side, *(one.node for one in all_origins(side, scope, code))]
        tables = {one.id for one in made if isinstance(one, ast.Name)}
        for node in (*stores, *(inner for one in made for inner in walk(one))):
            match node:
                case ast.Call(func=ast.Attribute(attr="assign"), keywords=words):
                    if any(isinstance(one.value, ast.Constant) and one.arg == key for one in words):
                        return True
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=table), slice=ast.Constant(value=column))],
                    value=ast.Constant(),
                ) if table in tables and column == key:
                    return True
    return False


def is_added_up(call: Call) -> bool:
    """Whether what follows counts or sums the rows of the result, of which then none may be left out."""
    name = frame_name(call)
    for node in call.scope.calls:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _SUMS:
                if name in names_in(owner) or any(one is call.node for one in walk(owner)):
                    return True
            case ast.Call(func=ast.Name(id="len"), args=[counted]):
                if counted is call.node or (isinstance(counted, ast.Name) and counted.id == name):
                    return True
    return False


def read_of_columns(function: str, columns: str) -> str:
    """Return, as code, how one of `TABLE_READERS` reads some columns only."""
    if function in _BY_COLUMNS:
        return f"pd.{function}(path, columns=[{columns}])"
    if function in _BY_USECOLS:
        return f"pd.{'read_csv' if function == 'concat' else function}(path, usecols=[{columns}])"
    return f"pd.{function}(path)[[{columns}]]"
