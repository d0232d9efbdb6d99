"""Reads the exit status of a process that is not our child.

While it is a zombie, the last field of /proc/PID/stat has it (proc_pid_stat(5); zero for those who may not trace the
process). Once its parent has read it, a pidfd opened before still has it on Linux 6.15 and newer (PIDFD_GET_INFO with
PIDFD_INFO_EXIT, include/uapi/linux/pidfd.h). Nobody knows when the parent reads, so both are tried.
"""

import os
import signal
import struct
from typing import NamedTuple

from ..recording.processes import stat_fields

_PIDFD_GET_INFO = 0xC040FF0B  # _IOWR(0xFF, 11, struct pidfd_info), its first version of 64 bytes
_PIDFD_INFO_EXIT = 1 << 3
_INFO = struct.Struct("=QQ11Ii")  # mask, cgroup id, eleven ids, exit code


class ExitStatus(NamedTuple):
    """How a process ended; `kind` is "unknown" where neither source has it."""

    kind: str
    signal: str | None = None
    exit_code: int | None = None
    source: str | None = None


UNKNOWN = ExitStatus("unknown")


def exit_status(pid: int, start: float, pidfd: int | None) -> ExitStatus:
    """Return the status of a process that has ended; `start` as in `recording.processes.ProcessIdentity`."""
    return _from_zombie(pid, start) or (None if pidfd is None else _from_pidfd(pidfd)) or UNKNOWN


def _from_zombie(pid: int, start: float) -> ExitStatus | None:
    """Return None if it is no zombie any more; by then its id may be that of another one."""
    fields = stat_fields(pid)
    if fields is None or fields[0] != "Z" or int(fields[19]) != start or not _may_read(pid):
        return None
    return decode(int(fields[49]), f"/proc/{pid}/stat")


def _may_read(pid: int) -> bool:
    """Return whether a zero is the status: for a process of another user it means that it may not be read."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid() or os.geteuid() == 0
    except OSError:
        return False


def _from_pidfd(pidfd: int) -> ExitStatus | None:
    import fcntl  # noqa: PLC0415 - only needed once, at the end

    buffer = bytearray(_INFO.pack(_PIDFD_INFO_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, buffer)
    except OSError:
        return None
    mask, *_, status = _INFO.unpack(buffer)
    return decode(status, "PIDFD_GET_INFO") if mask & _PIDFD_INFO_EXIT else None


def decode(status: int, source: str) -> ExitStatus:
    """Decode a wait status (wait(2))."""
    number = status & 0x7F
    if number == 0:
        return ExitStatus("exit", None, (status >> 8) & 0xFF, source)
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"SIG{number}"  # a real-time signal
    return ExitStatus("signal", name, None, source)
