"""Loops whose rounds come to a standstill: a step that only one branch takes, a search that finds the same again.

step = next(stuck_steps(code, scope, loop, inner), None)     # kind, why, and what is to be written where
"""

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from .calls import plain_names
from .loop_changes import asked_names, may_change, running_nodes
from .notebook import Notebook
from .scopes import Scope
from .trees import unparse, walk

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert, ast.Continue)
_FINDS = frozenset({"find", "index"})
_STRICT = {ast.GtE: ">", ast.LtE: "<"}


class StuckStep(NamedTuple):
    """What brings no round nearer to the end."""

    kind: Literal["found", "kept", "swapped", "stalled"]
    why: str
    at: ast.expr | ast.If
    """What an edit changes; of `stalled` the `if` that no round enters any more."""
    text: str | None = None


def stuck_steps(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[StuckStep]:
    """Find what leaves each round as it was, or begins all anew."""
    yield from _found(loop, inner)
    yield from _kept(code, loop, inner)
    yield from _swapped(loop, inner)
    yield from _stalled(code, scope, loop, inner)


def _stored(nodes: Iterator[ast.AST] | list[ast.AST]) -> list[str]:
    return [one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]


def _found(loop: ast.While, inner: list[ast.AST]) -> Iterator[StuckStep]:
    """Find `at = text.find(word, at)`, which finds the same place again."""
    stored = _stored(inner)
    ways = [one for one in inner if isinstance(one, ast.If) and any(isinstance(part, _LEAVES) for part in walk(one))]
    leaves = sum(isinstance(one, _LEAVES) for one in inner)
    if leaves != sum(isinstance(part, _LEAVES) for one in ways for part in walk(one)):
        return
    for one in inner:
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(attr=attr, value=text), args=[word, ast.Name(id=start) as begins, *_]
                ),
            ) if attr in _FINDS and start == name and stored.count(name) == 1:
                asked = {at for test in (loop.test, *(way.test for way in ways)) for at in plain_names(test)}
                if asked == {name} and not (plain_names(text) | plain_names(word)) & {*stored}:
                    why = (
                        f"`{name}` is where something was found, and `{unparse(one)}` begins there and finds that again"
                    )
                    is_last = one is loop.body[-1]  # what is asked next is the place that was found
                    yield StuckStep("found", why, begins, f"{name} + 1" if is_last else None)


def _swapped(loop: ast.While, inner: list[ast.AST]) -> Iterator[StuckStep]:
    """Find a sort that goes on as long as it swaps, and swaps what is equal: `if a[i] >= a[i + 1]`."""
    for one in inner:
        match one:
            case ast.If(
                test=ast.Compare(left=ast.Subscript() as left, ops=[op], comparators=[ast.Subscript() as right])
            ):
                sides = {unparse(left), unparse(right)}
                swaps = [
                    {*map(unparse, part.targets[0].elts)} == sides
                    for part in one.body
                    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Tuple)
                ]
                marks = [
                    part.targets[0].id
                    for part in one.body
                    if isinstance(part, ast.Assign)
                    and isinstance(part.targets[0], ast.Name)
                    and isinstance(part.value, ast.Constant)
                ]
                ways = [part.test for part in inner if isinstance(part, ast.If) and part is not one]
                marks = [mark for mark in marks if any(mark in plain_names(asked) for asked in (loop.test, *ways))]
                if type(op) in _STRICT and swaps == [True] and marks:
                    why = f"two equal items next to each other are swapped in each round, which sets `{marks[0]}` again"
                    yield StuckStep("swapped", why, one.test, f"{unparse(left)} {_STRICT[type(op)]} {unparse(right)}")


def _kept(code: Notebook, loop: ast.While, inner: list[ast.AST]) -> Iterator[StuckStep]:
    """Find a flag that the loop sets, but never to what ends it."""
    match loop.test:
        case ast.Name(id=name):
            goes_on = True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            goes_on = False
        case _:
            return
    if any(isinstance(one, _LEAVES) and not isinstance(one, ast.Continue) for one in inner):
        return
    values = [
        one.value
        for one in inner
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and unparse(one.targets[0]) == name
    ]
    is_same = all(isinstance(one, ast.Constant) and bool(one.value) == goes_on for one in values)
    if values and is_same and _stored(inner).count(name) == len(values) and not code.has_text(f"global {name}"):
        why = f"the loop ends when `{name}` is {not goes_on}, and only ever sets it to {values[0].value!r}"  # type: ignore[attr-defined]
        yield StuckStep("kept", why, loop.test)


def _stalled(code: Notebook, scope: Scope, loop: ast.While, inner: list[ast.AST]) -> Iterator[StuckStep]:
    """Find a step that only an `if` takes, which asks for nothing that the rest of the loop changes."""
    asked = asked_names(loop.test)
    if not asked or any(isinstance(one, _LEAVES) for one in inner):
        return
    steps = [one for one in loop.body if isinstance(one, ast.If) and {*_stored([*running_nodes(one)])} & asked]
    if len(steps) != 1 or steps[0].orelse:
        return
    (step,) = steps
    outside = [node for one in (step.test, *loop.body) if one is not step for node in running_nodes(one)]
    depends = plain_names(step.test) | asked
    if any(isinstance(one, ast.Call | ast.For | ast.While) for one in outside) or {*_stored(outside)} & depends:
        return
    rest = [node for one in loop.body if one is not step for node in running_nodes(one)]
    numbers = frozenset(one for one in asked if "." not in one)
    if numbers == asked and not may_change(code, scope, loop, numbers, rest):
        name = next(iter(sorted({*_stored([*running_nodes(step)])} & asked)))
        why = f"`{name}` is changed only in `if {unparse(step.test)}`, and once that is not so, each round is the same"
        yield StuckStep("stalled", why, step)
