"""Identifies processes, and finds out whether the process of a recording still lives.

A process id alone is not enough: ids are used again, and a recording may outlive a reboot. Two processes are the same
only if id, start time and the boot of the machine agree.
"""

import functools
import os
import sys
from pathlib import Path
from typing import NamedTuple

from .layout import O_CLOEXEC

_STAT_BYTES = 4096


class ProcessIdentity(NamedTuple):
    """A process, as distinct from all others that had or will have its id."""

    pid: int
    start: float
    """Linux: clock ticks after boot (proc_pid_stat(5), field 22); elsewhere psutil's `create_time`, in seconds."""
    boot_id: str | None
    """Linux: /proc/sys/kernel/random/boot_id; elsewhere None."""


@functools.cache
def boot_id() -> str | None:
    """Return the id of this boot of the machine; None where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def stat_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (state) on; None when there is no such process.

    The second field is the name in parentheses and may hold anything, so the split starts after the last one.
    """
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, _STAT_BYTES)
    except OSError:  # it ended just now
        return None
    finally:
        os.close(descriptor)
    return data[data.rfind(b")") + 1 :].decode("ascii", "replace").split()


def sees_all_processes() -> bool:
    """Return whether this process is in the machine's own pid namespace, not in a container's."""
    try:
        return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"  # PROC_PID_INIT_INO in include/linux/proc_ns.h
    except OSError:
        return False


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process that exists now, zombies included; None when there is none."""
    if sys.platform == "linux":
        fields = stat_fields(pid)
        return None if fields is None else ProcessIdentity(pid, int(fields[19]), boot_id())
    try:
        import psutil  # noqa: PLC0415 - the sidecar does without it where /proc tells all
    except ImportError:
        return None
    try:
        return ProcessIdentity(pid, psutil.Process(pid).create_time(), None)
    except psutil.Error:
        return None


def identity_of(value: object) -> ProcessIdentity | None:
    """Return the process that `[pid, start, boot id]` of a recording names; None for what names none."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        return None
    pid, start, boot = value
    if type(pid) is not int or not 0 <= pid < 1 << 31 or type(start) not in (int, float) or not abs(start) < 1 << 63:
        return None
    return ProcessIdentity(pid, start, boot if isinstance(boot, str) else None)


def is_alive(process: ProcessIdentity) -> bool:
    """Return whether this very process runs. A zombie has ended: only its exit status is still there."""
    if sys.platform != "linux":
        return identify(process.pid) == process
    fields = stat_fields(process.pid)
    if fields is None or fields[0] in ("Z", "X"):
        return False
    return (int(fields[19]), boot_id()) == (process.start, process.boot_id)


def namespaces() -> list[int]:
    """Return what this process sees process ids and start times by: its pid and time namespaces (namespaces(7)).

    Without those that this system does not have.
    """
    paths = [f"/proc/self/ns/{kind}" for kind in ("pid", "time")]
    return [os.stat(path).st_ino for path in paths if os.path.exists(path)]


def uid_of(pid: int) -> int | None:
    """Return the user that a process acts as (the effective user id); None where that is not known."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            return next((int(line.split()[2]) for line in status if line.startswith(b"Uid:")), None)
    except (OSError, ValueError):
        return None


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor of a process that exists now, so that no later process is mistaken for it.

    pidfd_open(2), Linux 5.3; None where there is no such call or no such process.
    """
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
