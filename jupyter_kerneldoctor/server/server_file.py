"""The file of a recording that the server writes: what only it knows."""

import time
from typing import Any

from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.layout import SERVER
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

Event = dict[str, Any]


def event(kind: str, **fields: Any) -> Event:
    """Return an event of what happens now. docs/recording.md lists the kinds, with their fields."""
    return {"event": kind, "wall_s": time.time(), "mono_s": time.monotonic(), **fields}


def start_failed(command: list[str], *, error: str | None = None, stderr: str = "") -> Event:
    """Return the event that a kernel ended before it was ready, or could not be started at all."""
    return event("start_failed", never_ready=True, command=command, error=error, stderr=stderr)


class ServerFile:
    """Appends events to the recording of a kernel process."""

    def __init__(self, post_mortems: PostMortems) -> None:
        self._post_mortems = post_mortems

    def append(self, kernel_id: str, pid: int, *events: Event) -> str | None:
        """Append to the recording of a process and return its id; None when it has no recording. Raises OSError."""
        recording_id = self._find(kernel_id, pid)
        if recording_id is not None:
            self.append_to(recording_id, *events)
        return recording_id

    def append_to(self, recording_id: str, *events: Event) -> None:
        """Append to a recording. Raises OSError."""
        file = JsonLines(self._post_mortems.store.path(recording_id) / SERVER)
        try:
            if not file.write(*events):
                raise OSError(f"What the server saw of {recording_id} could not be written.")
        finally:
            file.close()

    def remove(self, recording_id: str) -> None:
        """Remove a recording. Raises OSError."""
        self._post_mortems.store.delete(recording_id)

    def _find(self, kernel_id: str, pid: int) -> str | None:
        """Return the id of a process's recording. A kernel has several processes, one after the other."""
        for recording_id in self._post_mortems.store.ids():
            if f"-{pid}-" in recording_id and self._post_mortems.header(recording_id)[:2] == (pid, kernel_id):
                return recording_id
        return None
