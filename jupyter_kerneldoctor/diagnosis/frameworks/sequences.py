"""Values that are made of the newest ones only, and all of which are kept: `seq.append(seq[-1] + seq[-2])`."""

import ast

from ..code.stores import Store, container_name
from ..code.trees import walk
from .kept_rows import Less

_TITLE = "Keep only the values that the next one is made of, and hand on each with yield"
_TOLD = "Each value is made of the newest ones only. The earlier ones are kept for what goes through all of them later."
_CODE = (
    "from collections import deque\n\nyield from {plain}  # the first ones\n"
    "begun, {plain} = len({plain}), deque({plain}, maxlen={newest})  # the next one needs no more\n"
    "for _ in range(begun, {many}):\n    {plain}.append({value})\n"
    "    yield {plain}[-1]  # or do here what is done with each"
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
