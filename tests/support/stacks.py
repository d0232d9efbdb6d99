"""Whether a sidecar can read the stacks of its kernel yet."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Recording


def can_be_read(recording: Recording) -> bool:
    """The sidecar learns how during its first moments: then it has the kernel's memory open."""
    if recording.sidecar is None:
        return False
    memory = f"/{recording.kernel.process.pid}/mem"
    return any(link.endswith(memory) for link in _open_files(recording.sidecar.pid))


def _open_files(pid: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found
