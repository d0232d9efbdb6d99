"""Where an exception was raised that the kernel survived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..code.cellfiles import is_cell_file, user_line
from ..postmortem import Evidence
from ..units import cell_name, quote, statement
from .traceback import Frame as CrashFrame

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.evidence import Incident

    from ..death import Death


def that_it_was_raised(incident: Incident, meaning: str = "") -> Evidence:
    """Say that the exception was raised and did not end the kernel; `meaning` explains it in brackets or a clause."""
    text = f"{incident.error} was raised{meaning}, and the kernel lived on."
    return Evidence(text, incident.error, None, "the exception")


def line_of_incident(death: Death, incident: Incident) -> int | None:
    """Return the line of that cell from which the exception came."""
    cell = death.recording.execution(incident.cell_seq)
    if cell is None:
        return None
    frames = (frame for frame in incident.frames if is_cell_file(frame.file))
    lines = (user_line(cell, CrashFrame(frame.file, frame.line, frame.function)) for frame in frames)
    return next((line for line in lines if line is not None), None)


def where_raised(death: Death, incident: Incident) -> str:
    """Return "in cell [2] on `code`", as much of it as is known."""
    cell, line = death.recording.execution(incident.cell_seq), line_of_incident(death, incident)
    if cell is None:
        return "in this kernel"
    place = f"in {cell_name(cell.execution_count)}"
    code = statement(cell.source.split("\n")[line - 1]) if line is not None else ""
    return f"{place} on {quote(code)}" if code else place


def is_about_shm(incident: Incident) -> bool:
    """Whether it was shared memory that had no room."""
    return any(name in (incident.signature or "") for name in ("shm", "shared memory"))
