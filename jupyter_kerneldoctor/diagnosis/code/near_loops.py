"""Loops that go on until two values are near, or until a pass over the data is without an error."""

import ast
import re

from .loop_changes import called_name
from .trees import unparse, walk

_NORMS = frozenset({"norm", "abs", "fabs", "max", "sqrt", "hypot", "sum", "mean"})
_DISTANCE = re.compile(
    r"(?:^|_)(?:loss|err|error|delta|diff|change|grad|residual|resid|cost|gap|mse|rmse)(?:_|$)", re.IGNORECASE
)
_BOUND = re.compile(r"(?:^|_)(?:tol|tolerance|eps|epsilon|threshold|precision|accuracy|delta)(?:_|$)", re.IGNORECASE)
_SMALL = 0.5


def never_near(loop: ast.While, asked: ast.expr, *, until: bool) -> str | None:
    """Return why a loop may never come to its end that waits for a distance to get small; None for others.

    `until` is whether the condition ends it: `if delta < 1e-9: break`.
    """
    match asked:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as op], comparators=[right]):
            falls = isinstance(op, ast.Gt | ast.GtE) != until
            distance, bound = (left, right) if falls else (right, left)
        case _:
            return None
    named = unparse(distance).rpartition(".")[2]
    is_distance = called_name(distance) in _NORMS or (
        isinstance(distance, ast.Name | ast.Attribute) and _DISTANCE.search(named) is not None
    )
    is_small = isinstance(bound, ast.Constant) and isinstance(bound.value, float) and 0 < bound.value < _SMALL
    is_named = isinstance(bound, ast.Name | ast.Attribute) and _BOUND.search(unparse(bound).rpartition(".")[2])
    stored = {unparse(one) for one in walk(loop) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    changes = {one.id for one in walk(distance) if isinstance(one, ast.Name)} & stored
    if not is_distance or not (is_small or is_named) or unparse(bound) in stored or not changes:
        return None
    why = f"after so many rounds `{unparse(distance)}` has not come below `{unparse(bound)}`: it jumps to and fro, as "
    return why + "after a step that is too long, or stands still above that, or gets there too slowly"


def passes_with_errors(loop: ast.While) -> str | None:
    """Return why a loop may never end that goes over its data until it counts no error, `while errors > 0`."""
    tests = [
        loop.test,
        *(one.test for one in loop.body if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Break)),
    ]
    begun = [name for one in loop.body if (name := _begun(one)) is not None]
    for name in begun:
        counted = [
            one
            for part in loop.body
            if isinstance(part, ast.For)
            for step in walk(part)
            if isinstance(step, ast.If)
            for one in step.body
            if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add) and unparse(one.target) == name
        ]
        is_asked = [one for one in tests if {part.id for part in walk(one) if isinstance(part, ast.Name)} == {name}]
        leaves = sum(isinstance(one, ast.Break | ast.Return | ast.Raise) for one in walk(loop))
        if counted and is_asked and leaves == len(tests) - 1:
            return f"none of so many passes was without an addition to `{name}`, and only such a pass ends the loop"
    return None


def _begun(one: ast.stmt) -> str | None:
    """Return the name that a statement sets to 0."""
    match one:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=0)):
            return name
    return None
