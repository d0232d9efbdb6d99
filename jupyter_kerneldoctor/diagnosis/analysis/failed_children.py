"""Child processes of the running cell that ended badly."""

from jupyter_kerneldoctor.recording.events import Child
from jupyter_kerneldoctor.recording.model import Recording

from ..units import plural


def failed_children(recording: Recording) -> tuple[Child, ...]:
    """Return the child processes that ended badly since the running cell began."""
    cell = recording.running_cell
    if cell is None:
        return ()
    return tuple(child for child in recording.children if child.mono_s >= cell.started_mono_s)


def how_they_ended(children: tuple[Child, ...]) -> str:
    """Return "3 child processes were ended by SIGTERM"."""
    ends = [
        child.signal or (f"exit code {child.exit_code}" if child.exit_code is not None else "") for child in children
    ]
    most = max(set(ends), key=ends.count, default="")
    count = plural(len(children), "child process")
    were = "was" if len(children) == 1 else "were"
    if most.startswith("SIG"):
        return f"{count} {were} ended by {most}"
    return f"{count} left {f'with {most}' if most else 'early'}"
