"""The function whose calls a running cell has been in for long, and that asks itself for the same again and again."""

from collections.abc import Sequence
from functools import partial

from ..code.repeated_calls import RepeatedCalls, repeated_calls
from .busy_cell import BusyCell
from .user_frames import Find, UserFrame

_DEEP, _LONG_S = 3, 7.5


def observed_calls(frames: Sequence[UserFrame], busy: BusyCell | None, find: Find) -> RepeatedCalls | None:
    """Return the function around the innermost frame of the last look, if the cell has been in it, and deep, for long.

    `busy` is None for a cell that does nothing, and `find` searches the code.
    """
    inner = frames[0] if frames else None
    if busy is None or inner is None or inner.cell is None:
        return None
    found: RepeatedCalls | None = find(partial(repeated_calls, cell=inner.cell, line=inner.line))
    if found is None or sum(one.frame.function == inner.frame.function for one in frames) < _DEEP:
        return None
    node = found.node
    return found if busy.within_s(inner.cell, node.lineno, node.end_lineno or node.lineno) >= _LONG_S else None
