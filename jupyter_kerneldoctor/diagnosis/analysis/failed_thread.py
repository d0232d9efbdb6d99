"""A thread that ended with an error, and would have ended the wait of the running cell."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from jupyter_kerneldoctor.recording.model import Recording

from ..code.awaited_names import awaited_names, changed_names
from ..code.notebook import Notebook
from ..units import quote
from .frame_names import FrameNames
from .stuck_cell import StuckCell
from .user_frames import UserFrame, user_frames

Find = Callable[[Callable[[Notebook], frozenset[str]]], frozenset[str] | None]


class FailedThread(NamedTuple):
    """A thread of the user's that is gone."""

    error: str
    """The exception's type: "ValueError"."""
    started_with: UserFrame
    """The function that the thread ran."""
    place: UserFrame
    """Where the error was raised."""
    awaited: str | None = None
    """What it works with and the running cell waits for."""

    def told(self, names: FrameNames) -> str:
        """Return "`read` ended with ValueError (cell [2], line 8)", with the function that failed if it is another."""
        place, is_its_own = self.place.frame, self.place.frame.function == self.started_with.frame.function
        where = f"({names.place(place)})" if is_its_own else f"in {names.name(place)}"
        return f"{quote(self.started_with.frame.function)} ended with {self.error} {where}"


def failed_threads(recording: Recording, names: FrameNames) -> Iterator[FailedThread]:
    """Yield the threads of which the cells have the code, newest first."""
    for one in reversed(recording.thread_errors):
        frames = [user for user in user_frames(one.frames, names, None) if user.cell is not None]
        if frames:
            yield FailedThread(one.error, frames[-1], frames[0])


def failed_thread(still: StuckCell, find: Find) -> FailedThread | None:
    """Return the newest that may change what the cell waits for; None where there is no such thread."""
    at = next(iter(user_frames(still.main.frames, still.frames, None)), None)
    if at is None or at.cell is None or not still.recording.thread_errors:
        return None
    again = still.main.kind == "sleep" or still.main.has_a_timeout
    awaited = find(partial(awaited_names, cell=at.cell, line=at.line, again=again)) or frozenset()
    for one in failed_threads(still.recording, still.frames) if awaited else ():
        changed = find(partial(changed_names, cell=one.started_with.cell, line=one.started_with.line))
        if both := awaited & (changed or frozenset()):
            return one._replace(awaited=min(both))
    return None
