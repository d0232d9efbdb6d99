"""The endless loop that a running cell was seen in: at work in it for long, or asleep."""

import ast
import re
from collections.abc import Sequence
from functools import partial

from jupyter_kerneldoctor.recording.model import Cell
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..code.cellsource import lines_of
from ..code.endless_loops import EndlessLoop, endless_loop
from ..code.repeats import times_repeated
from .busy_cell import BusyCell
from .user_frames import Find, UserFrame

_GREW_BYTES = 4 << 20
_WALKED_BYTES = 20 << 20
"""What the objects take at least that a loop goes through in a second: half a million, where it has half a core."""
_GLANCES = 30
"""So many into a short loop would have met a step that is still taken."""
_FAILURES = 2
"""So many looks that saw the error being handled are as many errors: seconds lie between them."""


def observed_loop(frames: Sequence[UserFrame], busy: BusyCell | None, find: Find) -> EndlessLoop | None:
    """Return the innermost endless loop around the frames of the last look, where the looks bear it out.

    `busy` is None for a cell that does nothing, and `find` searches the code.
    """
    for at, (_, cell, line) in enumerate(frames):
        found = None if cell is None else find(partial(endless_loop, cell=cell, line=line))
        if found is not None and cell is not None:
            if busy is None or found.only_sleeps:
                return found if busy is None and found.only_sleeps else None
            newest = busy.looks[-1]
            others = newest.threads[0].state != "R" or any(one.state != "Z" for one in newest.children)
            if found.kind == "read" and others:
                return None  # a serial port, a socket with a time limit, a program that still writes
            if isinstance(found.at, ast.Try) and not _failed_again(busy, cell, found.at):
                return None  # what it tries may take long, and succeed
            if found.of_values is not None and not _has_gone_round(busy, found, frames[at:], find):
                continue
            taken_s = busy.within_s(cell, found.node.lineno, found.last_line)
            return found if taken_s >= found.least_s else None
    return None


def _has_gone_round(busy: BusyCell, loop: EndlessLoop, frames: Sequence[UserFrame], find: Find) -> bool:
    """Whether it went round so often that a loop whose end depends on values would long have come to it.

    What repeats the loop has to be known to be short, as each time it may have come to its end.
    """
    cell, callers = frames[0].cell, frames[1:]
    assert cell is not None
    assert isinstance(loop.node, ast.While)
    assert loop.of_values is not None
    rounds, least = busy.rounds_within(cell, loop.node), loop.of_values.least_rounds
    if loop.kind in ("full", "turns", "drifts") and busy.grew_bytes > _GREW_BYTES:
        return False  # it is on its way: something new was drawn again and again
    if loop.kind == "stalled":
        assert isinstance(loop.at, ast.If)
        first, last = loop.at.body[0].lineno, loop.at.end_lineno or loop.at.lineno
        return busy.glances_outside(cell, loop.node, first, last) >= _GLANCES
    if loop.kind == "circle":
        lasted_s = busy.within_s(cell, loop.node.lineno, loop.last_line)
        is_fast = busy.frames[0] == frames[0].frame  # `node.next` may be a property that works it out
        if not is_fast or busy.most_bytes is None or busy.most_bytes > lasted_s * _WALKED_BYTES:
            return False  # a list of so many objects may be
    if rounds < least and not loop.of_values.is_cheap:
        return False
    if rounds >= least and loop.of_values.may_repeat:
        return True
    if not loop.scope.is_cell and callers and not _is_called_there(loop.scope.function, callers[0]):
        return False  # `max(numbers, key=steps)` calls it again and again
    below = busy.frames.index(frames[0].frame)
    if any(one.cell is None for one in callers) or not all(is_cell_file(one.file) for one in busy.frames[below:]):
        return False  # a library may call it again and again
    times = find(
        lambda code: times_repeated(
            code, loop.scope, loop.node, [(code.index(one.cell), one.line) for one in callers if one.cell is not None]
        )
    )
    return times is not None and (loop.of_values.is_cheap or rounds >= least * times)


def _is_called_there(function: str, caller: UserFrame) -> bool:
    lines = [] if caller.cell is None else lines_of(caller.cell.source)
    return (
        0 < caller.line <= len(lines) and re.search(rf"\b{re.escape(function)}\(", lines[caller.line - 1]) is not None
    )


def _failed_again(busy: BusyCell, cell: Cell, tried: ast.Try) -> bool:
    handled = [(one.lineno, one.end_lineno or one.lineno) for one in tried.handlers]
    return sum(busy.times_within(cell, first, last) for first, last in handled) >= _FAILURES
