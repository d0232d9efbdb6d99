"""What the operating system's log says about one process: an out-of-memory kill, a segfault, a trap.

/dev/kmsg gives one record a read (Documentation/ABI/testing/dev-kmsg): `level,number,time,flags;text`. Most machines
let only root read it, and a container sees other process ids than the log names; then there is nothing.
"""

from __future__ import annotations

import os
import re
import select
import time
from typing import TYPE_CHECKING, Any

from .journal import JsonLines
from .layout import KERNEL
from .processes import namespaces, sees_all_processes

if TYPE_CHECKING:
    from pathlib import Path

    from .model import Recording

_FILE = "/dev/kmsg"
_MOST = 10
_RECORD_BYTES = 8192
_LONGEST_S = 0.05
_WHOLE_LOG_S = 1.0


def note_death(directory: Path, recording: Recording) -> bool:
    """Add what was logged of a kernel's death to a recording without an end; return whether there was something.

    Kernel and sidecar have to be dead, and the machine the same as before.
    """
    if recording.kernel.namespaces not in ((), tuple(namespaces())):
        return False  # a container numbers its processes anew
    log = KernelLog(recording.kernel.process.pid, since_mono_s=recording.started_mono_s)
    log.read(_WHOLE_LOG_S)
    log.close()
    if not log.lines:
        return False
    wall_s = recording.wall_s(log.newest_mono_s)
    event: dict[str, Any] = {"event": "kernel_log", "mono_s": log.newest_mono_s, "wall_s": wall_s, "lines": log.lines}
    file = JsonLines(directory / KERNEL)
    try:
        return file.write(event)
    finally:
        file.close()


class KernelLog:
    """Reads what is logged from now on, or was since a monotonic time."""

    def __init__(self, pid: int, since_mono_s: float | None = None) -> None:
        self._fd: int | None = None
        self._names_it = re.compile(rb"(?:[Pp]rocess |\bpid[=: ]|\[|:)%d\b" % pid)
        self.lines: list[str] = []
        """What named the process so far, at most ten lines."""
        self.newest_mono_s = 0.0
        """When the newest of them was logged, by the log's own clock, which runs like CLOCK_MONOTONIC."""
        self._since_mono_s = since_mono_s or 0.0
        if not sees_all_processes():
            return
        try:
            self._fd = os.open(_FILE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if since_mono_s is None:
                os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def read(self, longest_s: float = _LONGEST_S) -> None:
        """Take what is there now, for at most so long."""
        deadline = time.monotonic() + longest_s
        while self._fd is not None and time.monotonic() < deadline:
            try:
                record = os.read(self._fd, _RECORD_BYTES)
            except BrokenPipeError:  # some records were overwritten before they were read
                continue
            except OSError:
                return
            if not record:
                return
            self._take(record)

    def wait(self, seconds: float) -> bool:
        """Wait for more to be logged; return whether there is."""
        if self._fd is None:
            return False
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def close(self) -> None:
        """Read no more."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _take(self, record: bytes) -> None:
        header, _, rest = record.partition(b";")
        text = rest.partition(b"\n")[0]
        if len(self.lines) < _MOST and _DEATHS.search(text) and self._names_it.search(text):
            logged_mono_s = int(header.split(b",")[2]) / 1e6
            if logged_mono_s < self._since_mono_s:
                return  # of another process, which had the same id
            self.newest_mono_s = logged_mono_s
            self.lines.append(text.decode("utf-8", "replace"))


_DEATHS = re.compile(
    rb"oom|out of memory|killed|segfault|traps?\b|general protection|fatal signal|hardware memory corruption",
    re.IGNORECASE,
)
