"""Steps of a loop that do not bring it to its end: a bisection that keeps its bounds, a sum that misses a number."""

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from .notebook import Notebook
from .scopes import Scope

_EXACT = 1024
"""Sums of quarters and other such fractions are exact."""


class Step(NamedTuple):
    """What keeps a loop from its end, and what is to be written in its place."""

    kind: Literal["halved", "missed"]
    why: str
    at: ast.stmt | ast.expr
    text: str


def halved(loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find a bisection whose bound may stay where it is."""
    match loop.test:
        case ast.Compare(left=ast.Name(id=low), ops=[ast.Lt() | ast.LtE() as op], comparators=[ast.Name(id=high)]):
            middles = {f"({low} + {high}) // 2", f"({high} + {low}) // 2", f"{low} + ({high} - {low}) // 2"}
            middles |= {f"int(({low} + {high}) / 2)", f"{low} + {high} >> 1"}
        case _:
            return
    tests = [one.test for one in inner if isinstance(one, ast.If)]
    if any({low, high} <= {part.id for part in ast.walk(one) if isinstance(part, ast.Name)} for one in tests):
        return  # it may leave where the bounds are next to each other
    assigned = [one for one in inner if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
    middle = next((one for one in assigned if ast.unparse(one.value) in middles), None)
    if middle is None or len([one for one in assigned if getattr(one.targets[0], "id", "") in (low, high)]) != 2:
        return
    mid = ast.unparse(middle.targets[0])
    texts = {ast.unparse(one): one for one in assigned}
    lows, highs = texts.get(f"{low} = {mid}"), texts.get(f"{high} = {mid}")
    if isinstance(op, ast.Lt) and lows is not None:
        why = f"with two values left `{mid}` is `{low}`, and `{low} = {mid}` changes nothing"
        if highs is not None:
            yield Step("halved", why, lows, f"{low} = {mid} + 1")
        elif f"{high} = {mid} - 1" in texts:
            yield Step("halved", why, middle.value, f"({low} + {high} + 1) // 2")
    elif isinstance(op, ast.LtE) and (stays := highs or lows) is not None:
        why = f"with one value left `{mid}` is `{low}`, and `{ast.unparse(stays)}` changes nothing"
        text = f"{high} = {mid} - 1" if stays is highs else f"{low} = {mid} + 1"
        yield Step("halved", why, stays, text)


def missed(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[Step]:
    """Find a sum of fractions that is asked to be equal to something."""
    match loop.test:
        case ast.Compare(left=ast.Name(id=name) as left, ops=[ast.NotEq()], comparators=[stop]):
            pass
        case _:
            return
    for one in inner:
        match one:
            case ast.AugAssign(target=ast.Name(id=target), op=ast.Add() | ast.Sub() as op, value=step) if (
                target == name
            ):
                given = step
                if isinstance(step, ast.Name) and (bound := code.lookup(step.id, scope, step)) is not None:
                    given = bound.value or step
                by = given.value if isinstance(given, ast.Constant) else None
                if isinstance(by, float) and by.as_integer_ratio()[1] > _EXACT:
                    sign = "<" if isinstance(op, ast.Add) else ">"
                    why = (
                        f"`{name}` goes on in steps of {by}: a sum of fractions is hardly ever exactly the other value"
                    )
                    text = f"{scope.segment(left)} {sign} {scope.segment(stop)}"
                    yield Step("missed", why, loop.test, text)
