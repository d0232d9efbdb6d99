"""Which tables a join or a calculation matches by their labels, and whether it made far more than these."""

import ast
from collections.abc import Iterable, Iterator

from .code.calls import Call, last_name
from .code.literals import number
from .code.origins import all_origins
from .code.scopes import Scope
from .code.trees import unparse, walk
from .death import Death

_OUTGROWN = 3
"""A result this much larger than both tables is no plain join."""
_KERNEL_BYTES = 64 << 20
"""A kernel that has imported pandas takes more, before there is any table."""
_METHODS = {"add": "+", "radd": "+", "sub": "-", "subtract": "-", "mul": "*", "rmul": "*", "multiply": "*", "div": "/"}
_METHODS |= {"divide": "/", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
_METHODS |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""Methods of tables, and functions of NumPy, that calculate with two of them."""


def has_outgrown(tables: Iterable[ast.expr], scope: Scope, death: Death) -> bool:
    """Return whether what was wanted is several times as large as these tables."""
    return death.wanted_bytes >= _OUTGROWN * _bytes(tables, scope, death)


def joined_by_labels(call: Call) -> tuple[ast.expr, ast.expr] | None:
    """Return the two tables that a call joins by the labels of their rows; None where it joins by columns."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    if call.name == "pandas.DataFrame.join":
        by_column, right = call.argument("on", 1) is not None, call.argument("other", 0)
    else:
        by_column = call.argument("left_index") is None or call.argument("right_index") is None
        right = call.argument("right", 1 if call.name == "pandas.merge" else 0)
    left = call.argument("left", 0) if call.name == "pandas.merge" else owner
    if by_column or left is None or right is None or isinstance(right, ast.List):
        return None
    return left, right


def kept_labels(tables: tuple[ast.expr, ast.expr], scope: Scope, death: Death) -> Iterator[Call]:
    """Yield the calls that put tables together of parts, and keep the labels of these."""
    for table in tables:
        for one, where in all_origins(table, scope, death.code):
            if isinstance(one, ast.Call) and last_name(one.func) == "concat":
                found = Call(one, where, "pandas.concat")
                if death.code.qualified(one.func, where) == found.name and found.argument("ignore_index", 3) is None:
                    yield found


def calculated_by_labels(statement: ast.stmt) -> tuple[ast.expr, ast.expr, str] | None:
    """Return the two tables or columns that a statement calculates with, and how; the innermost of several."""
    found: list[tuple[ast.expr, ast.expr, str]] = []
    for one in walk(statement):
        match one:
            case ast.BinOp(left=left, op=op, right=right) | ast.AugAssign(target=left, op=op, value=right):
                found.append((left, right, unparse(ast.BinOp(ast.Name(""), op, ast.Name(""))).strip()))
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name("np" | "numpy")), args=[left, right, *_]):
                found += [(left, right, _METHODS[name])] if name in _METHODS else []
            case ast.Call(func=ast.Attribute(attr=name, value=left), args=[right]) if name in _METHODS:
                if not any(word.arg == "axis" for word in one.keywords):
                    found.append((left, right, _METHODS[name]))
    tables = [one for one in found if not any(isinstance(side, ast.Constant | ast.JoinedStr) for side in one[:2])]
    tables = [one for one in tables if number(one[0]) is None and number(one[1]) is None]
    return tables[-1] if tables else None


def is_of_rows(left: ast.expr, right: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a number for each row meets a table: `df / df.sum(axis=1)`, `df[["a", "b"]] * df["price"]`."""
    for one, _ in all_origins(right, scope, death.code)[:3]:
        match one:
            case ast.Call(func=ast.Attribute(), keywords=words):
                axes = (getattr(word.value, "value", None) for word in words if word.arg == "axis")
                if any(axis in (1, "columns") for axis in axes):
                    return True
    is_table = isinstance(left, ast.Subscript) and isinstance(left.slice, ast.List)
    is_table |= death.recorded_types.get(last_name(left), "").endswith("DataFrame")
    return is_table and isinstance(right, ast.Subscript) and isinstance(right.slice, ast.Constant)


def _bytes(tables: Iterable[ast.expr], scope: Scope, death: Death) -> int:
    """Return what the tables take; where that is not known, no more than the variables took, or all that was in use."""
    known = [None if (value := death.values.of(one, scope)) is None else value.bytes for one in tables]
    if None not in known:
        return sum(one or 0 for one in known)
    before = max(0, (death.memory.before_bytes or 0) - _KERNEL_BYTES)
    look = next(iter(death.recording.namespaces[-1:]), None)
    return before if look is None or not look.complete else min(before, sum(one.bytes or 0 for one in look.objects))
