"""What the operating system's log says about one process: an out-of-memory kill, a segfault, a trap.

/dev/kmsg gives one record a read (Documentation/ABI/testing/dev-kmsg): `level,number,time,flags;text`. Most machines
let only root read it, and a container sees other process ids than the log names; then there is nothing.
"""

import os
import re
import select
import time

from .procfs import sees_all_processes

_MOST = 10
_RECORD_BYTES = 8192
_LONGEST_S = 0.05


class KernelLog:
    """Reads only what was logged since it was made."""

    def __init__(self, pid: int, path: str = "/dev/kmsg") -> None:
        """Tests give a path of their own."""
        self._fd: int | None = None
        self._names_it = re.compile(rb"(?:[Pp]rocess |\bpid[=: ]|\[|:)%d\b" % pid)
        self.lines: list[str] = []
        """What named the process so far, at most ten lines."""
        if not sees_all_processes():
            return
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def read(self) -> None:
        """Take what is there now, for at most 50 ms."""
        deadline = time.monotonic() + _LONGEST_S
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
        text = record.partition(b";")[2].partition(b"\n")[0]
        if len(self.lines) < _MOST and _DEATHS.search(text) and self._names_it.search(text):
            self.lines.append(text.decode("utf-8", "replace"))


_DEATHS = re.compile(
    rb"oom|out of memory|killed|segfault|traps?\b|general protection|fatal signal|hardware memory corruption",
    re.IGNORECASE,
)
