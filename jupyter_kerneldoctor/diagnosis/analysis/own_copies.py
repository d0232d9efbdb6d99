"""A variable that the running cell and its child process are to share, while each of them has a copy of its own."""

from collections.abc import Callable
from functools import partial

from ..code.own_copies import OwnCopy, asked_in_child, asked_in_notebook
from .stuck_cell import StuckCell
from .user_frames import Find, UserFrame, user_frames


def own_copy(still: StuckCell, find: Find) -> OwnCopy | None:
    """Return the variable: each child that is awaited goes on until it changes, or the cell sleeps until it does."""
    if still.main.kind == "sleep" and not (still.others or still.native_threads_at_work):
        return _first(user_frames(still.main.frames, still.frames, None)[:1], asked_in_notebook, find)
    waits = still.main.kind == "child" or still.main.waits_for_a_pool
    if not waits or still.main.has_a_timeout or still.others:
        return None
    alive = [one for one in still.waiting if one.state.state != "Z" and not still.is_idle(one)]
    found = [
        _first(user_frames(one.state.stack, still.frames, None), asked_in_child, find) if one.state.forked else None
        for one in alive
    ]
    return found[0] if found and all(found) else None


def _first(frames: tuple[UserFrame, ...], question: Callable[..., OwnCopy | None], find: Find) -> OwnCopy | None:
    for one in frames:
        found: OwnCopy | None = None if one.cell is None else find(partial(question, cell=one.cell, line=one.line))
        if found is not None:
            return found
    return None
