"""The flags of threads that the cell joins: each thread goes round until its flag changes, and who waits cannot."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..code.flag_loops import FlagLoop, flag_loop
from ..code.notebook import Notebook
from .stuck_cell import StuckCell
from .user_frames import user_frames


def awaited_flags(still: StuckCell, find: Callable[[Callable[[Notebook], Any]], Any]) -> tuple[FlagLoop, ...]:
    """Return the flags, where every other thread of the user's waits for one; none where something else is at work."""
    joins = still.main.kind == "lock" and still.main.waits_for_threads and not still.main.has_a_timeout
    if not joins or still.children_at_work or still.native_threads_at_work:
        return ()
    frames = [next(iter(user_frames(one.frames, still.frames, None)), None) for one in still.others]
    found: list[FlagLoop | None] = [
        None if one is None or one.cell is None else find(partial(flag_loop, cell=one.cell, line=one.line))
        for one in frames
    ]
    return tuple(one for one in found if one is not None) if all(found) else ()
