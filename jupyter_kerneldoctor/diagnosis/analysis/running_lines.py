"""The lines of cells that were running at the end: in the calls that led there, and to where memory grew."""

from collections.abc import Iterable, Sequence

from jupyter_kerneldoctor.recording.model import Recording

from ..code.notebook import Notebook
from ..postmortem import Caller, Statement
from .growth import Growth
from .user_frames import UserFrame

_A_PART = 0.25  # of the growth: a statement with less is not to blame


def running_lines(
    recording: Recording, code: Notebook, frames: Iterable[UserFrame], growth: Growth
) -> Sequence[tuple[int, int]] | None:
    """Return the index of the cell and the line of each; None where they are not known, or an edit moved them."""
    cells = recording.cells
    at = [(cells.index(one.cell), one.line) for one in frames if one.cell is not None]
    for one in growth.charged:
        if one.bytes >= _A_PART * growth.known_bytes:
            places = ((_cell_of(one.statement, recording), one.statement.line),)
            callers = ((_cell_run_as(call, recording), call.line) for call in one.statement.via)
            at += [(cell, line) for cell, line in (*places, *callers) if cell is not None]
    return None if not at or any(_has_other_lines(cell, recording, code) for cell, _ in at) else at


def _cell_of(statement: Statement, recording: Recording) -> int | None:
    """Return the index of the last cell that a statement stands in; None for one in a file."""
    cells = recording.cells
    return next((at for at in reversed(range(len(cells))) if cells[at].source == statement.cell_source), None)


def _cell_run_as(call: Caller, recording: Recording) -> int | None:
    """Return the index of the cell that a call stands in; None for one in a file."""
    place, cells = (call.execution_count, call.cell_id), enumerate(recording.cells)
    found = (at for at, one in cells if (one.execution_count, one.cell_id) == place)
    return None if call.file is not None else next(found, None)


def _has_other_lines(cell: int, recording: Recording, code: Notebook) -> bool:
    """Whether an edit gives a cell more or fewer lines than it had."""
    return code.source(cell).count("\n") != recording.cells[cell].source.count("\n")
