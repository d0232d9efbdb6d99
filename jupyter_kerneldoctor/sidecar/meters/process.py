"""The kernel process: its resident memory, and whether it is about to die."""

import os
import signal
import sys
from typing import Any

from .procfs import ProcFile, is_exiting


class ProcessMeter:
    """Reads /proc/PID/statm (proc_pid_statm(5)); psutil where there is no /proc."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._statm = ProcFile(f"/proc/{pid}/statm")
        self._stat = ProcFile(f"/proc/{pid}/stat")
        self._status = ProcFile(f"/proc/{pid}/status")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._process: Any = None
        if sys.platform != "linux":
            self._process = _psutil_process(pid)

    def rss_bytes(self) -> int | None:
        """Resident set size; None once the process has ended."""
        if self._process is not None:
            return _psutil_rss(self._process)
        words = self._statm.read().split()
        return int(words[1]) * self._page_bytes or None if len(words) > 1 else None

    def is_being_killed(self) -> bool:
        """Whether a SIGKILL waits to be taken (ShdPnd and SigPnd in proc_pid_status(5), hexadecimal), or was taken."""
        if is_exiting(self._stat.read()):
            return True
        status = self._status.read()
        pending = [line.split()[1] for line in status.splitlines() if line.startswith((b"ShdPnd:", b"SigPnd:"))]
        return any(int(mask, 16) & (1 << (signal.SIGKILL - 1)) for mask in pending)


def _psutil_process(pid: int) -> Any:
    try:
        import psutil  # noqa: PLC0415

        return psutil.Process(pid)
    except Exception:
        return None


def _psutil_rss(process: Any) -> int | None:
    try:
        return int(process.memory_info().rss)
    except Exception:
        return None
