"""The lock on a kernel: one sidecar records one kernel process, and whoever else wants to finds that sidecar there.

The lock is a listening socket in Linux's abstract namespace (unix(7)). Binding its name is atomic, leaves no file
behind, and ends with the process that did it. Another network namespace does not see the name, so a kernel there
records for itself.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

    from .processes import ProcessIdentity

_CREDENTIALS_BYTES = 12  # struct ucred: pid, uid, gid
_TIMEOUT_S = 2.0
"""A machine under load may take as long; what the kernel says meanwhile waits in its socket."""
_RETRY_S = 0.01
_QUESTION_S, _QUESTION_BYTES = 0.02, 64
"""Who asks does so right after it has connected."""


class AlreadyRecordedError(Exception):
    """Another sidecar records this kernel."""


def lock_name(kernel: ProcessIdentity) -> bytes:
    """Return the socket address that stands for this kernel process."""
    return f"\0kerneldoctor-{(kernel.boot_id or '')[:8]}-{kernel.pid}-{int(kernel.start)}".encode()


class Lock(NamedTuple):
    """The listening socket that locks a kernel, or why there is none, in which case it is recorded without."""

    listener: socket.socket | None
    problem: str | None = None


def acquire(kernel: ProcessIdentity, *, since_mono_s: float | None) -> Lock:
    """Lock this kernel, or find out why that is not possible; any user may have taken the name.

    `since_mono_s` is when the kernel began to tell of itself: a sidecar of this user that holds the lock is asked for
    up to two seconds to leave. It does if the server started it, or if its recording was switched off just now.
    With None, for what the server knows of a kernel, raise AlreadyRecordedError instead.
    """
    from socket import AF_UNIX, SOCK_SEQPACKET, socket  # noqa: PLC0415 - Linux only

    deadline = time.monotonic() + _TIMEOUT_S
    listener = socket(AF_UNIX, SOCK_SEQPACKET)
    problem = None
    while problem is None:
        try:
            listener.bind(lock_name(kernel))
            listener.listen(4)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                problem = f"the name of its lock cannot be taken: {error.strerror}"
                break
            holder = _meet_holder(kernel, since_mono_s)
            if holder is not None and holder != os.geteuid():
                problem = f"a process of another user (uid {holder}) holds its lock"
            elif holder is not None and since_mono_s is None:
                listener.close()
                raise AlreadyRecordedError from None
            elif time.monotonic() > deadline:
                problem = "another process holds its lock"
            time.sleep(_RETRY_S)
        else:
            listener.setblocking(False)
            return Lock(listener)
    listener.close()
    return Lock(None, problem)


def _meet_holder(kernel: ProcessIdentity, since_mono_s: float | None) -> int | None:
    """Connect to the process that holds the lock, and return its user id; None when it does not answer.

    With a time, ask it to leave to us what the kernel has done since then.
    """
    from socket import AF_UNIX, SOCK_SEQPACKET, socket  # noqa: PLC0415 - Linux only

    with socket(AF_UNIX, SOCK_SEQPACKET) as connection:
        connection.setblocking(False)
        try:
            connection.connect(lock_name(kernel))
            if since_mono_s is not None:
                connection.send(repr(since_mono_s).encode())
            return peer_credentials(connection)[1]
        except OSError:
            return None


def asked_to_leave_since(connection: socket.socket) -> float | None:
    """Return the time that came with the question whether to leave; None for a connection that does not ask."""
    connection.settimeout(_QUESTION_S)
    try:
        return float(connection.recv(_QUESTION_BYTES))
    except (OSError, ValueError):
        return None


def peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id at the other end (SO_PEERCRED); the pid is 0 if it is not visible from here."""
    from socket import SO_PEERCRED, SOL_SOCKET  # noqa: PLC0415 - Linux only

    data = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, _CREDENTIALS_BYTES)
    pid, uid = (int.from_bytes(data[start : start + 4], sys.byteorder) for start in (0, 4))
    return pid, uid
