"""The endless loop that a running cell was seen in: at work in it for long, or asleep."""

import ast
from collections.abc import Callable, Iterable
from functools import partial

from jupyter_kerneldoctor.recording.model import Cell

from ..code.endless_loops import EndlessLoop, endless_loop
from ..code.notebook import Notebook
from .busy_cell import BusyCell
from .user_frames import UserFrame

_FAILURES = 2
"""So many looks that saw the error being handled are as many errors: seconds lie between them."""

Find = Callable[[Callable[[Notebook], EndlessLoop | None]], EndlessLoop | None]


def observed_loop(frames: Iterable[UserFrame], busy: BusyCell | None, find: Find) -> EndlessLoop | None:
    """Return the innermost endless loop around the frames of the last look, where the looks bear it out.

    `busy` is None for a cell that does nothing, and `find` searches the code.
    """
    for _, cell, line in frames:
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
            taken_s = busy.within_s(cell, found.node.lineno, found.last_line)
            return found if taken_s >= found.least_s else None
    return None


def _failed_again(busy: BusyCell, cell: Cell, tried: ast.Try) -> bool:
    handled = [(one.lineno, one.end_lineno or one.lineno) for one in tried.handlers]
    return sum(busy.times_within(cell, first, last) for first, last in handled) >= _FAILURES
