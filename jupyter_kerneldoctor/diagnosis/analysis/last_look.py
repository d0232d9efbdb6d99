"""The last look at a running cell that does nothing, and what was written meanwhile."""

from jupyter_kerneldoctor.recording.events import Stuck
from jupyter_kerneldoctor.recording.model import Recording

_MOST_CHARACTERS = 64 * 1024


def last_look(recording: Recording) -> Stuck | None:
    """Return the newest record of the running cell doing nothing; None if it went on since."""
    cell = recording.running_cell
    last = max(recording.stuck, key=lambda one: one.mono_s, default=None)
    return None if cell is None or last is None or last.over or last.mono_s < cell.started_mono_s else last


def written(recording: Recording) -> str:
    """Return what the kernel and its children wrote since the running cell began, native code included."""
    cell = recording.running_cell
    since = cell.started_mono_s if cell is not None else 0.0
    return "".join(piece.text for piece in recording.output if piece.mono_s >= since)[-_MOST_CHARACTERS:]
