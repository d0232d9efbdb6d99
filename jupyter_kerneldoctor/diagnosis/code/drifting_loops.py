"""Loops that wait for a number to pass a bound, while each round works it out from itself.

`while debt > 0: debt = debt * 1.02 - payment` ends with some payments; with others `debt` stays as it is, or grows.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .literals import number
from .loop_changes import called_name, running_nodes
from .trees import unparse, walk

_PLACES = (ast.Name, ast.Attribute)
_FALLS, _RISES = (ast.Gt, ast.GtE), (ast.Lt, ast.LtE)
_SCALES = (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert)
_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Pass, ast.Continue, ast.Break, ast.Expr)
_OF_NUMBERS = frozenset({"abs", "float", "int", "len", "max", "min", "round", "sqrt", "exp", "log"})
_TELLS = frozenset({"print", "append", "format", "info", "debug", "write"})
_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.unaryop, ast.expr_context)
_PARTS = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Call, ast.Name, ast.Attribute, *_ARITHMETIC)
_MOST_STEPS = 9


class Drift(NamedTuple):
    """A number that is to pass a bound, and how it is worked out."""

    name: str
    bound: str
    falls: bool
    """Whether it has to get smaller to come there."""
    is_away: bool
    """Whether each round surely moves it away: `while n > 0: n += 1`."""
    is_cheap: bool

    @property
    def why(self) -> str:
        """What is wrong, for a sentence."""
        way = "falls" if self.falls else "rises"
        if self.is_away:
            other = "larger" if self.falls else "smaller"
            return f"the loop ends when `{self.name}` {way} to `{self.bound}`, and each round makes it {other}"
        return (
            f"the loop ends when `{self.name}` {way} to `{self.bound}`; each round works it out from what it was, and "
            "after so many rounds it is not there: it moves away from that, or no longer moves"
        )


def drift(loop: ast.While) -> Drift | None:
    """Return the number that a loop waits for, if only plain arithmetic on itself makes it another; else None."""
    asked, inner = _asked(loop), [node for one in loop.body for node in running_nodes(one)]
    if asked is None or any(isinstance(one, ast.Try | ast.For | ast.AsyncFor | ast.While) for one in inner):
        return None
    place, bound, falls = asked
    name = unparse(place)
    made = [*stored_values(inner)]
    stored = {one for one, _ in made}
    if name not in stored or any(unparse(one) in stored for one in walk(bound) if isinstance(one, _PLACES)):
        return None
    if not all(isinstance(one, _PLAIN) for one in inner if isinstance(one, ast.stmt)):
        return None
    if any(isinstance(part, _STORES) for one in inner if isinstance(one, ast.If) for part in walk(one)):
        return None  # each round may do something else
    calls = {called_name(one) for one in inner if isinstance(one, ast.Call)}
    if not calls <= _OF_NUMBERS | _TELLS:
        return None
    values = [value for one, value in made if one == name]
    if falls and isinstance(loop.test, ast.Compare) and all(_is_part(name, value) for value in values):
        return None  # digit by digit: it comes to 0
    is_cheap = calls <= _OF_NUMBERS
    if all(_counts_away(name, value, falls=falls) for value in values):
        return Drift(name, unparse(bound), falls, is_away=True, is_cheap=is_cheap)
    is_scaled = _depends(name, values, made) and any(_scales(name, one, made) for one in _all(values, made))
    return Drift(name, unparse(bound), falls, is_away=False, is_cheap=is_cheap) if is_scaled else None


def _asked(loop: ast.While) -> tuple[ast.expr, ast.expr, bool] | None:
    """Return what is compared with which bound, and whether it has to fall; None where the loop may end otherwise."""
    leaving = [one for part in loop.body for one in running_nodes(part) if isinstance(one, _LEAVES)]
    test, stays = loop.test, True
    if isinstance(test, ast.Constant):
        ways = [
            one for one in loop.body if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Break | ast.Return)
        ]
        if len(ways) != 1 or len(leaving) != 1 or ways[0].orelse:
            return None
        test, stays = ways[0].test, False
    elif leaving:
        return None
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _FALLS + _RISES):
            falls = isinstance(op, _FALLS) == stays
            if isinstance(left, _PLACES):
                return left, right, falls
            return (right, left, not falls) if isinstance(right, _PLACES) else None
    return None


def stored_values(inner: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield what is stored in the loop, and the value."""
    for one in inner:
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                yield from zip(map(unparse, names), values, strict=False)
            case ast.Assign(targets=targets, value=value):
                yield from ((unparse(target), value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield unparse(target), value
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                yield unparse(target), ast.BinOp(target, op, value)


def _all(values: list[ast.expr], made: list[tuple[str, ast.expr]]) -> list[ast.expr]:
    """Return expressions, and those that the loop has made the names in them of."""
    found = list(values)
    for one in found:
        used = {unparse(part) for part in walk(one) if isinstance(part, _PLACES)}
        found += [value for name, value in made if name in used and value not in found][:_MOST_STEPS]
    return found


def _depends(name: str, values: list[ast.expr], made: list[tuple[str, ast.expr]]) -> bool:
    """Whether each new value is made of numbers alone, and of the last one."""
    is_plain = all(isinstance(part, _PARTS) for value in _all(values, made) for part in walk(value))
    return is_plain and all(
        any(unparse(part) == name for value in _all([one], made) for part in walk(value) if isinstance(part, _PLACES))
        for one in values
    )


def _scales(name: str, value: ast.expr, made: list[tuple[str, ast.expr]]) -> bool:
    """Whether an expression multiplies or divides the number itself: a share of it is what a round changes."""
    return any(
        isinstance(one, ast.BinOp)
        and isinstance(one.op, _SCALES)
        and any(
            unparse(part) == name for side in _all([one.left], made) + _all([one.right], made) for part in walk(side)
        )
        for one in walk(value)
    )


def _is_part(name: str, value: ast.expr) -> bool:
    """Whether a value is the last one, divided by a number that is written and more than 1."""
    match value:
        case ast.BinOp(left=ast.Name() | ast.Attribute() as last, op=ast.Div() | ast.FloorDiv(), right=right):
            return unparse(last) == name and (number(right) or 0) > 1
    return False


def _counts_away(name: str, value: ast.expr, *, falls: bool) -> bool:
    """Whether a value is the last one and a written step in the wrong direction."""
    match value:
        case ast.BinOp(left=ast.Name() | ast.Attribute() as last, op=ast.Add() | ast.Sub() as op, right=right):
            step = number(right)
            is_up = isinstance(op, ast.Add) == (step is not None and step > 0)
            return unparse(last) == name and bool(step) and is_up == falls
    return False
