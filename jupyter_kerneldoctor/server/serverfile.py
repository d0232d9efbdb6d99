"""The one file of a recording that the server writes: what only it can know."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.layout import SERVER

if TYPE_CHECKING:
    from jupyter_kerneldoctor.archive import Archive

Event = dict[str, Any]


def request(action: str) -> Event:
    """Describe that somebody asked for a restart or a shutdown, now."""
    return {"event": "request", "action": action, "wall_s": time.time(), "mono_s": time.monotonic()}


def ended(returncode: int) -> Event:
    """Describe that the process has ended; negative for a signal, as `subprocess` has it."""
    return {"event": "exit", "returncode": returncode, "wall_s": time.time(), "mono_s": time.monotonic()}


class ServerFile:
    """Appends events to the recording of a kernel process."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def append(self, kernel_id: str, pid: int, event: Event) -> str | None:
        """Append to the recording of this process and return its id; None when it has no recording. Raises OSError."""
        recording_id = self._find(kernel_id, pid)
        if recording_id is None:
            return None
        file = JsonLines(self._archive.store.path(recording_id) / SERVER)
        try:
            if not file.write(event):
                raise OSError(f"The disk did not take what the server saw of {recording_id}.")
        finally:
            file.close()
        return recording_id

    def _find(self, kernel_id: str, pid: int) -> str | None:
        """Find a recording by kernel and process: one kernel has several processes, one after the other."""
        for recording_id in self._archive.store.ids():
            if f"-{pid}-" in recording_id and self._archive.head(recording_id)[:2] == (pid, kernel_id):
                return recording_id
        return None
