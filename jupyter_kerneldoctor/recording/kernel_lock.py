"""The lock on a kernel: one sidecar records one kernel process, and whoever else wants to finds that sidecar there.

The lock is a listening socket in Linux's abstract namespace (unix(7)). Binding its name is atomic, leaves no file
behind, and ends with the process that did it. Another network namespace does not see the name, so a kernel there
records for itself.
"""

from __future__ import annotations

import errno
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from .processes import ProcessIdentity

_CREDENTIALS_BYTES = 12  # struct ucred: pid, uid, gid
_TIMEOUT_S = 0.5
_RETRY_S = 0.01


class AlreadyRecordedError(Exception):
    """Another sidecar records this kernel."""


def lock_name(kernel: ProcessIdentity) -> bytes:
    """Return the socket address that stands for this kernel process."""
    return f"\0kerneldoctor-{(kernel.boot_id or '')[:8]}-{kernel.pid}-{int(kernel.start)}".encode()


def acquire(kernel: ProcessIdentity, *, insists: bool) -> socket.socket | None:
    """Return the listening socket that locks this kernel; None where there can be none, so record without a lock.

    Without `insists`, raise AlreadyRecordedError if another sidecar holds the lock. With it, ask that sidecar for up to
    half a second to leave: it does if the server started it and it has heard of no cell yet, or if its recording was
    switched off just now.
    """
    from socket import AF_UNIX, SOCK_SEQPACKET, socket  # noqa: PLC0415 - Linux only

    deadline = time.monotonic() + _TIMEOUT_S
    listener = socket(AF_UNIX, SOCK_SEQPACKET)
    while True:
        try:
            listener.bind(lock_name(kernel))
            listener.listen(4)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and not insists:
                raise AlreadyRecordedError from None
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                listener.close()
                return None
            _ask_holder_to_leave(kernel)
            time.sleep(_RETRY_S)
        else:
            listener.setblocking(False)
            return listener


def _ask_holder_to_leave(kernel: ProcessIdentity) -> None:
    """Connect to the sidecar that holds the lock: a connection that is not the kernel's own asks it to leave."""
    from socket import AF_UNIX, SOCK_SEQPACKET, socket  # noqa: PLC0415 - Linux only

    with socket(AF_UNIX, SOCK_SEQPACKET) as connection:
        connection.setblocking(False)
        try:
            connection.connect(lock_name(kernel))
        except OSError:
            pass


def peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id at the other end (SO_PEERCRED); the pid is 0 if it is not visible from here."""
    from socket import SO_PEERCRED, SOL_SOCKET  # noqa: PLC0415 - Linux only

    data = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, _CREDENTIALS_BYTES)
    pid, uid = (int.from_bytes(data[start : start + 4], sys.byteorder) for start in (0, 4))
    return pid, uid
