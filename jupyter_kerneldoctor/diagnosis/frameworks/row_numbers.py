"""Numbers that a loop takes of each row of a table: of which column they are, `row.user` of `df.itertuples()`."""

import ast
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..code.calls import last_name
from ..code.scopes import Scope

_CASTS = frozenset({"int", "float", "bool"})
_SAME = ("tolist", "to_numpy", "to_list")
_ROWS = {"itertuples", "iterrows", "to_dict"}

Loop: TypeAlias = ast.For | ast.comprehension


class Numbers(NamedTuple):
    """Where a number of each row is from."""

    name: str
    array: str
    """The column as an array."""
    plain: str = ""
    """The same as a list, where the loop gets numbers of Python: a float of these makes a tensor of float32."""


def column_of(number: ast.expr, loops: Sequence[Loop], scope: Scope) -> Numbers | None:
    """Return the column that a number of a row is from; None for what is no number of a row."""
    return next((found for loop in loops if (found := _of_loop(number, loop, scope))), None)


def without_cast(number: ast.expr) -> ast.expr:
    """Return a number as it was before `int`, `float` or `bool` made it one of Python."""
    while isinstance(number, ast.Call) and isinstance(number.func, ast.Name) and number.func.id in _CASTS:
        number = number.args[0] if number.args else number.func
    return number


def _of_loop(number: ast.expr, loop: Loop, scope: Scope) -> Numbers | None:
    """Return the column that a number of a row is from; None for what is no number."""
    rows = loop.iter
    while isinstance(rows, ast.Call) and last_name(rows.func) in ("tqdm", "list", "trange") and rows.args:
        rows = rows.args[0]
    target = loop.target
    match rows, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, one]):
            rows, target = inner, one
    return _of_zip(number, target, rows, scope) or _of_row(number, target, rows, scope)


def _of_zip(number: ast.expr, target: ast.expr, rows: ast.expr, scope: Scope) -> Numbers | None:
    """Return the column that a name is of: `u` of `for u, r in zip(df.user, df.rating)`, `y` of `for y in df.label`."""
    match number, target, rows:
        case ast.Name(id=name), ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=columns):
            for one, column in zip(targets, columns, strict=False):
                if isinstance(one, ast.Name) and one.id == name and _is_column(column):
                    return Numbers(name, _array(column, scope), _list(column, scope))
        case ast.Name(id=name), ast.Name(id=row), _ if name == row and _is_column(rows):
            return Numbers(name, _array(rows, scope), _list(rows, scope))
        case (
            ast.Subscript(
                value=ast.Attribute(value=column, attr="iloc" | "loc" | "values" | "iat"), slice=ast.Name(id=name)
            )
            | ast.Subscript(value=column, slice=ast.Name(id=name)),
            ast.Name(id=row),
            ast.Call(func=ast.Name(id="range")),
        ) if name == row and _is_column(column):
            return Numbers(_field(column), _array(column, scope))
    return None


def _of_row(number: ast.expr, target: ast.expr, rows: ast.expr, scope: Scope) -> Numbers | None:
    """Return the column that a part of a row is of: `row.user` of `for row in df.itertuples()`."""
    match number, target:
        case ast.Name(id=name), ast.Tuple(elts=targets) if text := _table(rows, scope):
            places = [at for at, one in enumerate(targets) if isinstance(one, ast.Name) and one.id == name]
            if not places:
                return None
            column = f"{text}[:, {places[0]}]"
            is_table = text.endswith(".iloc")  # of which a column is a column
            return Numbers(name, f"{column}.values", f"{column}.tolist()") if is_table else Numbers(name, column)
    match number, rows:
        case (
            ast.Attribute(value=ast.Name(id=name), attr=field),
            ast.Call(func=ast.Attribute(value=table, attr="itertuples")),
        ) if name in _row_names(target):
            column = f"{scope.operand(table)}.{field}"
            return Numbers(field, f"{column}.values", f"{column}.tolist()")
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(field))),
            ast.Call(func=ast.Attribute(value=table, attr=method)),
        ) if method in _ROWS and name in _row_names(target):
            column = f"{scope.operand(table)}[{field!r}]"
            plain = f"{column}.tolist()" if method == "to_dict" else ""
            return Numbers(field if field.isidentifier() else "column", f"{column}.values", plain)
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(at))),
            ast.Attribute(attr="values") | ast.Call(func=ast.Attribute(attr="to_numpy")),
        ) if name in _row_names(target):
            return Numbers(f"column_{at}", f"{scope.segment(rows)}[:, {at}]")
    return None


def _table(rows: ast.expr, scope: Scope) -> str:
    """Return the text of what columns are taken from, where a loop goes through its rows; "" for something else."""
    match rows:
        case ast.Attribute(attr="values") | ast.Call(func=ast.Attribute(attr="to_numpy")):
            return scope.segment(rows)
        case ast.Call(
            func=ast.Attribute(value=table, attr="itertuples"),
            keywords=[ast.keyword(arg="index", value=ast.Constant(value=False))],
        ):
            return f"{scope.operand(table)}.iloc"
    return ""


def _row_names(target: ast.expr) -> set[str]:
    """Return what a row is called: `row` of `for i, row in df.iterrows()`."""
    last = target.elts[-1] if isinstance(target, ast.Tuple) else target
    return {last.id} if isinstance(last, ast.Name) else set()


def _is_column(node: ast.expr) -> bool:
    """Whether an expression is a column of a table: `df.userId`, `df["user"].values`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _SAME:
            return _is_column(inner)
        case ast.Attribute(value=inner, attr="values"):
            return _is_column(inner)
        case ast.Attribute(value=ast.Name(id=name)):
            return name != "self"
        case ast.Attribute(value=ast.Attribute()) | ast.Subscript(slice=ast.Constant(value=str())):
            return True
    return False


def _field(column: ast.expr) -> str:
    match column:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))) if name.isidentifier():
            return name
    return "column"


def _array(column: ast.expr, scope: Scope) -> str:
    """Return the text of a column as an array."""
    match column:
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _SAME:
            return _array(inner, scope)
        case ast.Attribute(attr="values"):
            return scope.segment(column)
    return f"np.asarray({scope.segment(column)})"


def _list(column: ast.expr, scope: Scope) -> str:
    """Return the text of a column as a list, where a loop through it gets numbers of Python; "" for an array's."""
    match column:
        case ast.Call(func=ast.Attribute(attr="tolist" | "to_list")):
            return scope.segment(column)
        case ast.Call() | ast.Attribute(attr="values"):
            return ""
    return f"{scope.operand(column)}.tolist()"
