"""Finds out from the stacks that were read whether a call in the cell was reached."""

from collections.abc import Iterator
from typing import Literal

from jupyter_kerneldoctor.recording.events import Stack, Stuck, ThreadStack
from jupyter_kerneldoctor.recording.model import Cell, Recording

from ..code.cellfiles import user_line
from ..code.ending_calls import EndingCall

Reached = Literal["shown", "passed", "elsewhere", "not-known"]


def reached(
    call: EndingCall, recording: Recording, cell: Cell | None, crash_line: int | None, *, is_fresh: bool
) -> Reached:
    """Say whether the running cell had reached a call when the kernel ended.

    "shown": it was at the line of the call; "elsewhere": it was at another line just before the end; "passed": it was
    seen in a later statement, and does not come back to the call. `is_fresh`: the last stack was read just before the
    end.
    """
    if cell is None:
        return "not-known"
    if crash_line is not None:
        return "shown" if call.line == crash_line else "elsewhere"
    newest = max(_looks(recording, cell), key=lambda look: look[0], default=None)
    if newest is None:
        return "not-known"
    lines = newest[1]
    if call.until is not None and lines[-1] > call.until:
        return "passed"
    if not is_fresh:  # what was read is too old to tell
        return "not-known"
    return "shown" if call.line in lines else "elsewhere"


def _looks(recording: Recording, cell: Cell) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield when a stack of the cell was read, and the lines of the cell in it, innermost first."""
    looks: tuple[Stack | Stuck, ...] = (*recording.stacks, *recording.stuck)
    for look in looks:
        if look.mono_s >= cell.started_mono_s and look.threads:
            main = next((thread for thread in look.threads if thread.main), look.threads[0])
            if lines := tuple(_lines(main, cell)):
                yield look.mono_s, lines


def _lines(thread: ThreadStack, cell: Cell) -> Iterator[int]:
    """Yield the lines down to the top level of the cell; none where that is not in the stack, as in an asyncio task."""
    own = [(frame, line) for frame in thread.frames if (line := user_line(cell, frame)) is not None]
    if own and own[-1][0].function.startswith("<"):
        yield from (line for _, line in own)
