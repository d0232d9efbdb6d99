"""The cell that was running at the end, and the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .postmortem import Culprit

if TYPE_CHECKING:
    from .death import Death
    from .postmortem import CauseFinding


def culprit(death: Death, cause: CauseFinding) -> Culprit | None:
    """Name the cell, and the line the most likely cause points at; None when there is none, or none is to blame."""
    cell = death.cell
    if cell is None or cause.id == "no-death":
        return None
    return Culprit(cell.source, cell.execution_count, cell.cell_id, cell.truncated, cause.line)
