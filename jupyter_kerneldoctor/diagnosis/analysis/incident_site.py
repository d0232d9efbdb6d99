"""Where and how an exception was raised that the kernel survived."""

from jupyter_kerneldoctor.recording.events import Incident
from jupyter_kerneldoctor.recording.model import Recording
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..code.cellfiles import user_line
from ..postmortem import Evidence


def that_it_was_raised(incident: Incident, meaning: str = "") -> Evidence:
    """Say that the exception was raised and did not end the kernel; `meaning` explains it in brackets or a clause.

    An incident without one was seen from outside.
    """
    if not incident.error:
        return Evidence("No error was reported: the code may have caught it.", source="the cells")
    text = f"{incident.error} was raised{meaning}, and the kernel lived on."
    return Evidence(text, incident.error, None, "the exception")


def line_of_incident(recording: Recording, incident: Incident) -> int | None:
    """Return the line of that cell from which the exception came."""
    cell = recording.execution(incident.cell_seq)
    if cell is None:
        return None
    frames = (frame for frame in incident.frames if is_cell_file(frame.file))
    lines = (user_line(cell, frame) for frame in frames)
    return next((line for line in lines if line is not None), None)


def is_about_shm(incident: Incident) -> bool:
    """Whether it was shared memory that had no room."""
    return any(name in (incident.signature or "") for name in ("shm", "shared memory"))
