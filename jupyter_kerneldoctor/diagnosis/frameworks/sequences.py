"""Values that are made of the newest ones only, and all of which are kept: of a sequence, of a table row by row."""

import ast

from ..code.stores import Store, container_name
from ..code.trees import unparse, walk
from .kept_rows import Less

_TITLE = "Keep only the values that the next one is made of, and hand on each with yield"
_TOLD = "Each value is made of the newest ones only. The earlier ones are kept for what goes through all of them later."
_CODE = (
    "from collections import deque\n\nyield from {plain}  # the first ones\n"
    "begun, {plain} = len({plain}), deque({plain}, maxlen={newest})  # the next one needs no more\n"
    "for _ in range(begun, {many}):\n    {plain}.append({value})\n"
    "    yield {plain}[-1]  # or do here what is done with each"
)

_ROWS = Less(
    "previous = [...]  # in place of {plain}: the row before is all that a new one reads\n"
    "for i in range(1, n):\n    row = [...]  # worked out of `previous`, in place of {plain}[i - 1]\n"
    "    previous = row  # two rows, not the whole table\n\n"
    "# where the steps are wanted, too: a small number in each place, and walk back from the last one\n"
    "lengths = np.zeros((n, m), dtype='int32')  # or bytes that say where each came from: dtype='uint8'",
    "Keep the previous row only, or small numbers in an array and walk back",
    "Each row is worked out of the one before it. What is joined together in each place is copied there.",
)


def of_a_sequence(store: Store) -> Less | None:
    """Tell how to keep the newest values of a sequence that is made until it has so many; None for other stores."""
    around = [one.test for one in store.scope.loops_around(store.statement) if isinstance(one, ast.While)]
    match store.values, around[-1:]:
        case [value], [
            ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[counted]),
                ops=[ast.Lt() | ast.LtE() as op],
                comparators=[many],
            )
        ] if container_name(counted) == store.container:
            read = [one.slice for one in walk(value) if isinstance(one, ast.Subscript)]
            newest = [found for one in read if (found := _from_the_end(one)) is not None]
            if read and len(newest) == len(read):
                segment = store.scope.segment
                until = segment(many) + (" + 1" if isinstance(op, ast.LtE) else "")
                names = {"plain": store.container, "many": until, "value": segment(value), "newest": max(newest)}
                return Less(_CODE.format(**names), _TITLE, _TOLD)
    return None


def _from_the_end(index: ast.expr) -> int | None:
    match index:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return number
    return None


def of_a_table(store: Store) -> Less | None:
    """Tell how only the row before is kept: `table[i][j] = table[i - 1][j] + x`; None for other stores."""
    is_worked_out = any(_is_row_before(value, store) for value in store.values)
    return _ROWS._replace(code=_ROWS.code.format(plain=store.container)) if is_worked_out else None


def _is_row_before(value: ast.expr, store: Store) -> bool:
    """Whether a place of a table is worked out of the row before: `table[i][j] = table[i - 1][j] + x`."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Subscript(slice=row)) as target]) if isinstance(row, ast.Name):
            earlier = f"{row.id} - 1"
            rows = [
                one for one in walk(value) if isinstance(one, ast.Subscript) and container_name(one) == store.container
            ]
            return container_name(target) == store.container and any(unparse(one.slice) == earlier for one in rows)
    return False
