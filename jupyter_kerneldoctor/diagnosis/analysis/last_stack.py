"""The line at which the cell was killed, from the last stack that was read from outside, if that is recent enough."""

import re
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.model import Cell, Recording

from ..code.cellfiles import user_line
from ..code.cellsource import enclosing_loop

_BEFORE_LAST_SAMPLE_S = 0.4
"""Near a limit the stack is looked at as often as memory is measured, or more. One that is older than this at the last
measurement was not followed by others: the cell may have gone on since."""

_SLEEPS = re.compile(r"\bsleep\s*\(")

_BEFORE_END_S = 0.3
_PER_GIB_S = 0.5
"""From being killed to its end a process takes the longer the larger it is; in longer the cell may have gone on."""


@dataclass(frozen=True)
class LastStack:
    """What the thread that ran the cell was doing shortly before the end."""

    line: int
    """Of the cell, as the user sees it."""
    age_s: float
    """How long before the end it was read; before the last measurement where nobody saw the end."""
    frames: tuple[Frame, ...] = ()
    """All frames of the thread, innermost first."""
    loop: int | None = None
    """Where the loop around the line begins, if it has other lines, too: one of those may have come since."""
    sleeps: bool = False
    """The line did nothing but sleep, and no other line of a loop may have come since."""


def last_stack(recording: Recording, cell: Cell) -> LastStack | None:
    """Return the newest stack of this cell, unless the cell may have gone on since it was read."""
    stacks = [stack for stack in recording.stacks if stack.mono_s >= cell.started_mono_s and stack.threads]
    newest = max(stacks, key=lambda stack: stack.mono_s, default=None)
    if newest is None or not recording.samples:
        return None
    last_sample_s = recording.samples[-1].mono_s
    end_s = recording.end.mono_s if recording.end is not None else max(last_sample_s, newest.mono_s)
    patience_s = _BEFORE_END_S + _PER_GIB_S * (recording.samples[-1].rss_bytes or 0) / (1 << 30)
    if last_sample_s - newest.mono_s > _BEFORE_LAST_SAMPLE_S or not 0 <= end_s - newest.mono_s <= patience_s:
        return None
    frames = next((thread for thread in newest.threads if thread.main), newest.threads[0]).frames
    lines = [user_line(cell, frame) for frame in frames]
    at = next((at for at, line in enumerate(lines) if line is not None), None)
    if at is None:
        return None
    line = lines[at]
    assert line is not None
    loop = enclosing_loop(cell.source, line)
    sleeps = at == 0 and loop is None and _SLEEPS.search(cell.source.split("\n")[line - 1]) is not None
    return LastStack(line, end_s - newest.mono_s, frames, loop, sleeps)
