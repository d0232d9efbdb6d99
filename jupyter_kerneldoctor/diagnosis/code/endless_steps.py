"""Steps of a loop that do not bring it to its end: a bisection that keeps its bounds, a sum that misses a number."""

import ast
import itertools
import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from .notebook import Notebook
from .origins import all_origins
from .scopes import Scope
from .trees import unparse, walk

_OF_TEXTS = frozenset(
    {"replace", "strip", "lstrip", "rstrip", "lower", "upper", "removeprefix", "removesuffix", "drop", "union"}
)
"""Methods whose result is lost where no name keeps it."""
_MOST_NUMBERS = 4
_MOST_STEPS = 10_000
_EXACT = 1024
"""Sums of quarters and other such fractions are exact."""
_LEAST_GAP = 1e-15
"""Two floats next to each other may be further apart: those above 8 are."""
_MOST_START = 1 << 53
"""Nothing is counted up from a larger number: it may have more digits than a float."""


class Step(NamedTuple):
    """What keeps a loop from its end, and what is to be written in its place."""

    kind: Literal["halved", "narrowed", "missed", "reset"]
    why: str
    at: ast.stmt | ast.expr
    text: str


def halved(loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find a bisection whose bound may stay where it is."""
    bounds = _bounds(loop.test)
    if bounds is None:
        return
    low, high, may_be_equal = bounds
    middles = {f"({low} + {high}) // 2", f"({high} + {low}) // 2", f"{low} + ({high} - {low}) // 2"}
    middles |= {f"int(({low} + {high}) / 2)", f"{low} + {high} >> 1"}
    of_fractions = {f"({low} + {high}) / 2", f"({high} + {low}) / 2", f"{low} + ({high} - {low}) / 2"}
    of_fractions |= {f"0.5 * ({low} + {high})", f"({low} + {high}) * 0.5"}
    assigned = [one for one in inner if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
    middle = next((one for one in assigned if unparse(one.value) in middles | of_fractions), None)
    if middle is None or len([one for one in assigned if getattr(one.targets[0], "id", "") in (low, high)]) != 2:
        return
    mid = unparse(middle.targets[0])
    counted = {one.target.id for one in inner if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)}
    if any(_asks_for_progress(one.test, {low, high, mid}, counted) for one in inner if isinstance(one, ast.If)):
        return  # it may leave where the bounds are next to each other, or after so many rounds
    texts = {unparse(one): one for one in assigned}
    lows, highs = texts.get(f"{low} = {mid}"), texts.get(f"{high} = {mid}")
    if unparse(middle.value) in of_fractions:
        if lows is not None and highs is not None:
            why = f"with no number between `{low}` and `{high}` left, `{mid}` is one of them, and both may stay"
            near = f"{high} - {low} > 1e-9 * max(1, abs({low}), abs({high}))"
            yield Step("narrowed", why, loop.test, near)
    elif not may_be_equal and lows is not None:
        why = f"with two values left `{mid}` is `{low}`, and `{low} = {mid}` changes nothing"
        if highs is not None:
            yield Step("halved", why, lows, f"{low} = {mid} + 1")
        elif f"{high} = {mid} - 1" in texts:
            yield Step("halved", why, middle.value, f"({low} + {high} + 1) // 2")
    elif may_be_equal and (stays := highs or lows) is not None:
        why = f"with one value left `{mid}` is `{low}`, and `{unparse(stays)}` changes nothing"
        text = f"{high} = {mid} - 1" if stays is highs else f"{low} = {mid} + 1"
        yield Step("halved", why, stays, text)


def missed(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find a sum of fractions that is asked to be equal to something."""
    match loop.test:
        case ast.Compare(left=ast.Name(id=name) as left, ops=[ast.NotEq()], comparators=[stop]):
            pass
        case _:
            return
    stores = [
        one for one in inner if isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load)
    ]
    if len(stores) != 1 or any(isinstance(one, ast.Break | ast.Return | ast.Raise | ast.Assert) for one in inner):
        return  # it is rounded, too, or there is another way out
    yield from _passed(code, scope, loop, inner)
    for one in inner:
        match one:
            case ast.AugAssign(target=ast.Name(id=target), op=ast.Add() | ast.Sub() as op, value=step) if (
                target == name
            ):
                sign = 1 if isinstance(op, ast.Add) else -1
                starts, ends = (_numbers(code, scope, one) or [math.nan] for one in (left, stop))
                inexact = [by for by in _numbers(code, scope, step) if _is_inexact(by)]
                sums = itertools.product(starts, ends, inexact)
                missing = [by for start, end, by in sums if not _is_met(start, end, sign * by)]
                if missing:
                    less, half = ("<", "-") if isinstance(op, ast.Add) else (">", "+")
                    why = (
                        f"`{name}` goes on in steps of {missing[0]}: "
                        "a sum of fractions is hardly ever exactly the other value"
                    )
                    text = f"{scope.segment(left)} {less} {scope.segment(stop)} {half} {scope.operand(step)} / 2"
                    yield Step("missed", why, loop.test, text)


def _passed(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find whole steps from one number to another that pass it: from 0 by 3, until it is 10."""
    assert isinstance(loop.test, ast.Compare)
    left, stop = loop.test.left, loop.test.comparators[0]
    for one in inner:
        match one:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, value=ast.Constant(int(by))):
                starts, ends = (_numbers(code, scope, side) for side in (left, stop))
                origins = (*all_origins(left, scope, code), *all_origins(stop, scope, code))
                written = sum(isinstance(side.node, ast.Constant) for side in origins)
                others = sum(not isinstance(side.node, ast.Constant | ast.Name) for side in origins)
                if name != unparse(left) or len(starts) != 1 or len(ends) != 1 or by <= 0 or others or written > 1 + 1:
                    continue
                way = ends[0] - starts[0] if isinstance(op, ast.Add) else starts[0] - ends[0]
                if way > 0 and way % by:
                    less = "<" if isinstance(op, ast.Add) else ">"
                    why = f"`{name}` goes from {starts[0]} in steps of {by}, and never is equal to {ends[0]}"
                    yield Step("missed", why, loop.test, f"{scope.segment(left)} {less} {scope.segment(stop)}")


def reset(loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find `i =+ 1`, which sets a number in place of counting on, where the loop asks for that number."""
    asked = {one.id for one in walk(loop.test) if isinstance(one, ast.Name)}
    if any(isinstance(one, ast.Break | ast.Return | ast.Raise | ast.Assert) for one in inner):
        return
    stored = [one.id for one in inner if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
    for one in inner:
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant() as by)
            ):
                if name in asked and stored.count(name) == 1:
                    text = f"{name} += {unparse(by)}"
                    yield Step("reset", f"`{name} =+ {unparse(by)}` sets `{name}` to the same in each round", one, text)


def _bounds(test: ast.expr) -> tuple[str, str, bool] | None:
    """Return the bounds of a bisection, and whether it goes on where they are equal: of `lo < hi`, `hi - lo > 0`."""
    match test:
        case ast.Compare(
            left=ast.Name(id=low), ops=[ast.Lt() | ast.LtE() | ast.NotEq() as op], comparators=[ast.Name(id=high)]
        ):
            return low, high, isinstance(op, ast.LtE)
        case ast.Compare(left=ast.Name(id=high), ops=[ast.Gt() | ast.GtE() as op], comparators=[ast.Name(id=low)]):
            return low, high, isinstance(op, ast.GtE)
        case ast.Compare(
            left=ast.BinOp(left=ast.Name(id=high), op=ast.Sub(), right=ast.Name(id=low)),
            ops=[ast.Gt()],
            comparators=[ast.Constant(value=int() | float() as least)],
        ) if least < _LEAST_GAP:
            return low, high, False
    return None


def _asks_for_progress(test: ast.expr, bounds: set[str], counted: set[str]) -> bool:
    """Whether a condition compares two of the bounds, or asks for a number that each round counts."""
    names = {one.id for one in walk(test) if isinstance(one, ast.Name)}
    return len(names & bounds) > 1 or bool(names & counted)


def _numbers(code: Notebook, scope: Scope, node: ast.expr) -> list[float]:
    """Return the numbers that an expression may be, also as an argument or as one of those that a loop goes through."""
    found: list[float] = []
    for one in all_origins(node, scope, code):
        match one.node:
            case ast.Constant(value=int() | float() as value):
                found.append(value)
            case ast.Name(id=name):
                for loop in one.scope.loops_around(one.node):
                    match loop:
                        case ast.For(target=ast.Name(id=target), iter=ast.Tuple(elts=items) | ast.List(elts=items)):
                            values = [getattr(item, "value", None) for item in items if target == name]
                            found += [value for value in values if isinstance(value, int | float)]
    return list(dict.fromkeys(found))[:_MOST_NUMBERS]


def _is_inexact(step: float) -> bool:
    """Whether sums of a number are rounded: 0.1, and not 0.25."""
    return isinstance(step, float) and math.isfinite(step) and step.as_integer_ratio()[1] > _EXACT


def _is_met(at: float, end: float, by: float) -> bool:
    """Whether a sum is known to be equal to the other value after some steps: 0.1 five times is 0.5. NaN: not known."""
    return abs(at) < _MOST_START and end in itertools.islice(itertools.count(at, by), _MOST_STEPS)


def thrown_away(scope: Scope, inner: list[ast.AST], names: frozenset[str]) -> tuple[ast.stmt, str] | None:
    """Return what is worked out of a name and not kept, `n // 10` or `s.strip()`, and the same with a name for it."""
    for one in (node for node in inner if isinstance(node, ast.Expr)):
        match one.value:
            case ast.BinOp(left=ast.Name(id=name), op=op, right=right) if name in names:
                sign = unparse(ast.AugAssign(ast.Name("a", ast.Store()), op, ast.Name("b", ast.Load())))[2:-2]
                return one, f"{name} {sign} {scope.segment(right)}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                name in names and attr in _OF_TEXTS
            ):
                return one, f"{name} = {scope.segment(one.value)}"
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[right]) if name in names:
                return one, f"{name} = {scope.segment(right)}"
    return None
