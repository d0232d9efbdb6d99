"""The `while` loop that a cell at work was in whenever it was looked at, in sentences: it is no alarm, but a place."""

import ast
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from ..analysis.busy_cell import BusyCell
from ..analysis.user_frames import UserFrame
from ..code.notebook import Notebook
from ..code.trees import holds
from ..death import Death
from ..postmortem import Evidence
from ..units import duration, quote

_LEAST_S = 7.5
_MOST_NAMED = 2
_LEAVES = (ast.Break, ast.Return)


class _While(NamedTuple):
    node: ast.While
    first: int
    last: int
    head: str
    left_if: tuple[str, ...]
    """The conditions that lead out of a `while True`."""


def evidence(death: Death) -> Iterator[Evidence]:
    """Say in which loop it has been, and what brings it to its end; nothing for a loop that it left meanwhile."""
    busy = death.busy_cell
    for frame in death.look_frames if busy is not None else ():
        found = None if frame.cell is None else death.find(partial(_around, frame=frame))
        if busy is None or found is None or frame.cell is None:
            continue
        if (lasted_s := busy.within_s(frame.cell, found.first, found.last)) >= _LEAST_S:
            yield _told(death, busy, frame, found, lasted_s)
            return


def _told(death: Death, busy: BusyCell, frame: UserFrame, loop: _While, lasted_s: float) -> Evidence:
    assert frame.cell is not None
    times = busy.times_within(frame.cell, loop.first, loop.last)
    place = f"{death.code.cell_name(death.code.index(frame.cell))}, line {loop.first}"
    ways = " or ".join(quote(one) for one in loop.left_if[:_MOST_NAMED])
    ends = f" It is left where {ways}." if ways else ""
    text = f"At {times} looks within {duration(lasted_s)} it was in the loop {quote(loop.head)} ({place}).{ends}"
    if rounds := busy.rounds_within(frame.cell, loop.node):
        text += f" It has gone round at least {rounds:,} times meanwhile."
    return Evidence(text, round(lasted_s, 1), "s", "stack")


def _around(code: Notebook, frame: UserFrame) -> _While | None:
    """Return the innermost `while` around a line."""
    if frame.cell is None:
        return None
    around = [one for one in code.scopes(code.index(frame.cell)) if one.is_cell or holds(one.node, frame.line)]
    scope = next(one for one in reversed(around) if not isinstance(one.node, ast.Lambda))
    loops = [one for one in scope.nodes if isinstance(one, ast.While) and holds(one, frame.line)]
    if not loops:
        return None
    loop = loops[-1]
    is_true = isinstance(loop.test, ast.Constant)
    ways = [one for one in scope.nodes if isinstance(one, ast.If) and scope.loops_around(one)[:1] == (loop,)]
    left = [scope.segment(one.test) for one in ways if any(isinstance(part, _LEAVES) for part in one.body)]
    head = f"while {scope.segment(loop.test)}"
    return _While(loop, loop.lineno, loop.end_lineno or loop.lineno, head, tuple(left) if is_true else ())
