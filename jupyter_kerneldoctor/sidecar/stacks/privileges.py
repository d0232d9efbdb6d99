"""Decides whether the sidecar may run the kernel's interpreter, which the kernel's own code may have chosen.

A process names the program it runs, and user code can exec any. So only the file that was resolved when the server
started the kernel is ever run, and only where that gives nobody a right that the kernel does not have already.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from .layout import UnexpectedLayoutError

if TYPE_CHECKING:
    from typing import TypeGuard

File = tuple[str, int, int]
"""A path, and the device and inode that it led to."""

_CREDENTIALS = (
    *("Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters"),
    *("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
)
"""The lines of proc_pid_status(5) that say what a process may do."""

_STATUS_BYTES = 1 << 20
_SAME_PLACE = ("root", "ns/mnt", "ns/user")


def is_file(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value from JSON has what a `File` has."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and isinstance(value[0], str)
        and all(type(number) is int for number in value[1:])
    )


def open_interpreter(pid: int, resolved: File | None) -> int:
    """Open the interpreter of a process, to run it. Raises UnexpectedLayoutError with the reason not to, OSError."""
    if resolved is None:
        raise UnexpectedLayoutError("the kernel runs another program than the recorder, and which Python is not known")
    path, *identity = resolved
    if (difference := _difference(pid)) is not None:
        raise UnexpectedLayoutError(f"the kernel runs another Python than the recorder, and {difference}")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if [status.st_dev, status.st_ino] != identity or not os.path.samestat(status, os.stat(f"/proc/{pid}/exe")):
            raise UnexpectedLayoutError("the kernel runs another program than the one it was started with")
        if not stat.S_ISREG(status.st_mode) or _others_may_write(status):
            raise UnexpectedLayoutError(f"other users may change the kernel's Python ({path})")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _others_may_write(status: os.stat_result) -> bool:
    """Return whether somebody else than this user and root may change a file; a user's own group counts as the user."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (0, os.getegid())
    return bool(status.st_uid not in (0, os.geteuid()) or by_group or status.st_mode & stat.S_IWOTH)


def _difference(pid: int) -> str | None:
    """Return what the process may do that this one may not, or the other way round; None where all is the same."""
    theirs, ours = _credentials(str(pid)), _credentials("self")
    for name in _CREDENTIALS:
        if theirs.get(name) != ours.get(name):
            return f"has other privileges ({name} in /proc/PID/status)"
    for name in _SAME_PLACE:
        if not os.path.samestat(os.stat(f"/proc/{pid}/{name}"), os.stat(f"/proc/self/{name}")):
            return f"sees other files ({name})"
    if _security_label(str(pid)) != _security_label("self"):
        return "has another security label"
    return None


def _credentials(process: str) -> dict[str, str]:
    """Return the lines of /proc/PID/status by name. Raises OSError."""
    descriptor = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        lines = os.read(descriptor, _STATUS_BYTES).decode("utf-8", "replace").splitlines()
    finally:
        os.close(descriptor)
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _security_label(process: str) -> bytes | None:
    """Return what SELinux or AppArmor call the process; None where there is neither."""
    try:
        descriptor = os.open(f"/proc/{process}/attr/current", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return None
    finally:
        os.close(descriptor)
