"""A kernel that was ended, or interrupted, while its cell waited or went round, as by a runner after its timeout."""

import math
from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.model import Cell, Recording, ServerView

from .busy_cell import busy_cell
from .ending import FROM_OUTSIDE, RecordedEnd
from .last_look import last_look

INTERRUPTED = "KeyboardInterrupt"
_MOMENT_S = 0.001
_SLACK_S = 2.0
"""To end takes processor time, which the recorder may take for the cell's, and two processes read two clocks."""


def before_the_request(recording: Recording) -> Recording | None:
    """Return what was known when the kernel was ended by others; None where it was not, or nobody had seen its cell.

    A cell that went on, or was interrupted, before that is no such cell.
    """
    end = RecordedEnd(recording)
    by_others = end.request is not None or (end.is_unasked_end and end.status.signal in FROM_OUTSIDE)
    return _as_of(asked_mono_s(recording), recording) if end.ended and by_others else None


def before_interrupts(recording: Recording) -> Iterator[tuple[Recording, float]]:
    """Yield what was known when somebody interrupted a cell that waited or went round, and when that was."""
    until_s = asked_mono_s(recording) if RecordedEnd(recording).ended else math.inf
    for cell in recording.cells if recording.stuck or recording.stacks else ():
        if cell.error == INTERRUPTED and cell.ended_mono_s is not None and cell.ended_mono_s < until_s:
            before = _as_of(cell.ended_mono_s - _MOMENT_S, recording)
            if before is not None:
                yield before, cell.ended_mono_s


def _as_of(asked_s: float, recording: Recording) -> Recording | None:
    """Return what was known at a moment; None where nobody had seen what the cell was at."""
    if not (recording.stuck or recording.stacks):
        return None
    before = replace(
        recording,
        cells=tuple(_going_on(asked_s, cell) for cell in recording.cells if cell.started_mono_s <= asked_s),
        stuck=tuple(one for one in recording.stuck if one.mono_s <= asked_s - (_SLACK_S if one.over else 0)),
        stacks=tuple(one for one in recording.stacks if one.mono_s <= asked_s),
        samples=tuple(one for one in recording.samples if one.mono_s <= asked_s),
        children=tuple(one for one in recording.children if one.mono_s <= asked_s),
        end=None,
        exit_request=None,
        server=ServerView(),
        alive=True,
    )
    return None if last_look(before) is None and busy_cell(before) is None else before


def _going_on(moment_s: float, cell: Cell) -> Cell:
    """Leave out what followed: ipykernel interrupts the cell when asked to end, which may record the cell's end."""
    going_on = cell.ended_mono_s is not None and cell.ended_mono_s > moment_s
    return replace(cell, ended_mono_s=None, error=None) if going_on else cell


def asked_mono_s(recording: Recording) -> float:
    """Return when the first of those who noted it was asked, or it ended; without a time the last that is known."""
    moments = [recording.end.mono_s] if recording.end is not None else []
    if recording.exit_request is not None:
        moments.append(recording.exit_request.mono_s)
    server = recording.server
    if server.requested is not None and server.requested_wall_s is not None and recording.started_wall_s:
        moments.append(recording.started_mono_s + server.requested_wall_s - recording.started_wall_s)
    looks = [*(one.mono_s for one in recording.stuck), *(one.mono_s for one in recording.stacks)]
    return min(moments, default=max(looks, default=recording.started_mono_s))
