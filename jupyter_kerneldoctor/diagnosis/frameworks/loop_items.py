"""Items that the loop around them tells: parts of a text, rows of a table, all combinations."""

import ast
import re

from ..code.calls import last_name, plain_names
from ..code.origins import all_origins
from ..code.trees import walk
from .item_forms import COLUMNS, PAIRS, Form, Item, Smaller, parts_of
from .kept_items import KeptItem
from .pandas import rows_gone_through

_COPIES = ("tuple", "list", "join", "array", "str", "tensor", "frozenset")
_PLAIN_TESTS = (ast.Gt, ast.Lt, ast.GtE, ast.LtE, ast.Eq, ast.NotEq)


def begins_at(item: Item) -> Smaller | None:
    """Tell of slices of a text or a list that is there anyway: where one begins is enough."""
    kept, scope = item.kept, item.kept.scope
    loops = scope.loops_around(kept.statement)
    inside = {id(one) for loop in loops for one in scope.inside(loop)}
    for part in map(_unwrapped, parts_of(kept.value)):
        match part:
            case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Slice(lower=low, upper=high)):
                counters = _counters(kept)
                of_the_loop = sorted(plain_names(*(one for one in (low, high) if one is not None)) & counters)
                is_made = any(id(one) in inside for one, _ in all_origins(whole, scope, item.code)[1:])
                if not of_the_loop or is_made or plain_names(whole) & counters:
                    continue
                text, at = " ".join(scope.segment(part).split()), of_the_loop[0]
                return Smaller(
                    "Keep where each part begins, not a copy of each",
                    f"{scope.segment(whole)} is there anyway: {at} alone says which part it is.",
                    (
                        Form(item.put(at), f"a number; {text} when it is looked at, also in __getitem__"),
                        Form(
                            f"{kept.name}.sort(key=lambda {at}: {text})",
                            "sorted or searched by the parts",
                        ),
                        Form(f"seen.add(hash({text}))", "or a number for each, to count different ones"),
                        Form(f"yield {text}", "or no list: one after the other, from a generator"),
                    ),
                )
    return None


def _unwrapped(part: ast.expr) -> ast.expr:
    """Return what is copied into another form: `words[i:j]` of `tuple(words[i:j])`."""
    match part:
        case ast.Call(func=function, args=[inner], keywords=[]) if last_name(function) in _COPIES:
            return inner
    return part


def _counters(kept: KeptItem) -> set[str]:
    """Return the names of the loops around: `i` of `for i in range(n)`."""
    targets = [one.target for one in kept.scope.loops_around(kept.statement) if isinstance(one, ast.For)]
    if kept.form == "made" and isinstance(kept.statement, ast.Assign):
        targets += [one.target for one in getattr(kept.statement.value, "generators", [])]
    return plain_names(*targets)


def row_of_table(item: Item) -> Smaller | None:
    """Tell of rows of a table that are put into a list: their numbers, or a mask, say which they are."""
    kept, scope = item.kept, item.kept.scope
    for loop in scope.loops_around(kept.statement):
        table = rows_gone_through(loop)
        match loop:
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=number), ast.Name(id=row)])) if table is not None:
                if row not in plain_names(kept.value):
                    continue
                df, mask = scope.operand(table), _mask(kept, loop, row, scope.operand(table))
                return Smaller(
                    "Select the rows with a mask, or keep their numbers: no Series for each",
                    f"Each row that {scope.segment(loop.iter)} gives is an object of a kilobyte or more.",
                    (
                        Form(f"{kept.name} = {df}[{mask}]", "a mask of all rows at once, no loop"),
                        Form(item.put(number), f"or the number of the row only; {df}.loc[{kept.name}] behind the loop"),
                        Form(f"for row in {df}.itertuples(): ...", "a tuple of plain values, not a Series"),
                    ),
                )
    return None


def combination(item: Item) -> Smaller | None:
    """Tell of tuples that hold one item of each of several loops: all combinations."""
    kept, loops = item.kept, item.kept.scope.loops_around(item.kept.statement)
    plain = [one for one in reversed(loops) if isinstance(one, ast.For) and isinstance(one.target, ast.Name)]
    names = [one.id for one in parts_of(kept.value) if isinstance(one, ast.Name)]
    if len(plain) != len(loops) or len(loops) < 2 or names != [getattr(one.target, "id", "") for one in plain]:
        return None
    given = [kept.text(one.iter) for one in plain]
    return item.as_told(PAIRS, of=", ".join(given), first=given[0], rest=", ".join(given[1:]))


def column_of_table(item: Item) -> Smaller | None:
    """Tell of columns that are worked out of a table, and put into it in a loop: lags, means, words."""
    kept = item.kept
    is_text = isinstance(kept.key, ast.JoinedStr) or (
        isinstance(kept.key, ast.BinOp) and any(isinstance(getattr(one, "value", None), str) for one in walk(kept.key))
    )
    if not is_text or kept.name not in plain_names(kept.value):
        return None
    found = item.as_told(COLUMNS, name=kept.name)
    lagged = [one for one in walk(kept.value) if isinstance(one, ast.Call) and last_name(one.func) == "shift"]
    if not lagged or not isinstance(lagged[0].func, ast.Attribute):
        return found
    series = kept.text(lagged[0].func.value)
    view = Form(
        f"np.lib.stride_tricks.sliding_window_view({series}, n)", "all lags as a view: no copies of the numbers"
    )
    return found._replace(forms=(*found.forms, view))


def _mask(kept: KeptItem, loop: ast.For, row: str, table: str) -> str:
    """Return the test that a row passes, of whole columns; an example where that is not plain."""
    inside = set(kept.scope.inside(loop))
    tests = [one.test for one in kept.scope.around(kept.statement) if isinstance(one, ast.If) and one in inside]
    if len(tests) != 1:
        return f"{table}['column'] > limit"
    parts = tests[0].values if isinstance(tests[0], ast.BoolOp) and isinstance(tests[0].op, ast.And) else tests
    texts = [" ".join(kept.scope.segment(one).split()) for one in parts]
    if not all(
        isinstance(one, ast.Compare)
        and isinstance(one.ops[0], ast.Gt | ast.Lt | ast.GtE | ast.LtE | ast.Eq | ast.NotEq)
        for one in parts
    ):
        return f"{table}['column'] > limit"
    return " & ".join(re.sub(rf"(?<![\w.]){row}(?=\[|\.)", table, f"({one})") for one in texts)
