"""Child processes of the running cell that ended badly."""

from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Child
from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Evidence
from ..units import plural


def failed_children(recording: Recording) -> tuple[Child, ...]:
    """Return the child processes that ended badly since the running cell began."""
    cell = recording.running_cell
    if cell is None:
        return ()
    return tuple(child for child in recording.children if child.mono_s >= cell.started_mono_s)


def how_they_ended(children: tuple[Child, ...]) -> Iterator[Evidence]:
    """Say "3 child processes were ended by SIGTERM since the cell began."; nothing where none ended badly."""
    if killed := [child for child in children if child.oom_kills]:
        text = f"Linux killed {plural(len(killed), 'child process')} for memory since the cell began."
        yield Evidence(text, len(killed), "processes", "the control group's count of memory kills")
    children = tuple(child for child in children if not child.oom_kills)
    if not children:
        return
    ends = [
        child.signal or ("early" if child.exit_code is None else f"with exit code {child.exit_code}")
        for child in children
    ]
    most, were = max(set(ends), key=ends.count), "was" if len(children) == 1 else "were"
    how = f"{were} ended by {most}" if most.startswith("SIG") else f"left {most}"
    text = f"{plural(len(children), 'child process')} {how} since the cell began."
    yield Evidence(text, len(children), "processes", "process list")
