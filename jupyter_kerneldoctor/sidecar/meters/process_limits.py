"""What the kernel process takes of what it is allowed: its resource limits, address space, threads, CPU time."""

import os
from typing import Any

from ...recording.processes import stat_fields
from .procfs import ProcFile, kilobytes, read_file, value

_RLIMITS = {
    b"Max cpu time": "CPU",
    b"Max file size": "FSIZE",
    b"Max data size": "DATA",
    b"Max stack size": "STACK",
    b"Max processes": "NPROC",
    b"Max open files": "NOFILE",
    b"Max address space": "AS",
}
_NAME_COLUMNS = 26  # the names in /proc/PID/limits are as wide


class ProcessLimitsMeter:
    """Reads /proc/PID/limits, status and stat (proc_pid_limits(5), proc_pid_status(5), proc_pid_stat(5))."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status = ProcFile(f"/proc/{pid}/status")
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")

    def rlimits(self) -> dict[str, dict[str, int | None]]:
        """The limits by their short names, as `recording.events.Rlimit`; none once the process is gone."""
        found = {}
        for line in read_file(f"/proc/{self._pid}/limits").splitlines():
            name = _RLIMITS.get(line[:_NAME_COLUMNS].strip())
            amounts = line[_NAME_COLUMNS:].split()[:2]
            if name is not None and len(amounts) == 2:
                found[name] = dict(zip(("soft", "hard"), map(_amount, amounts), strict=True))
        return found

    def amounts(self) -> dict[str, Any]:
        """Return threads, memory and CPU time; what is not known is left out. A zombie tells its CPU time only."""
        cpu_s = self.cpu_s()
        known = {} if cpu_s is None else {"cpu_s": cpu_s}
        status = self._status.read()
        space = kilobytes(status, b"VmSize:")
        if space is None:
            return known
        return {
            **known,
            "threads": value(status, b"Threads:"),
            "address_space_bytes": space,
            "data_bytes": kilobytes(status, b"VmData:"),
        }

    def cpu_s(self) -> float | None:
        """CPU time so far; of a zombie as well, but not once its parent has read its status."""
        fields = stat_fields(self._pid)
        return None if fields is None else round((int(fields[11]) + int(fields[12])) * self._tick_s, 2)


def _amount(word: bytes) -> int | None:
    return int(word) if word.isdigit() else None
