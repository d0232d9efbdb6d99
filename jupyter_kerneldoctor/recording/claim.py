"""One recording per process: whoever has its name has its recording, and others find it there.

The name is that of a listening socket in Linux's abstract namespace (unix(7)): taking it is atomic, it leaves no file
behind, and it goes with the sidecar that holds it. It is not seen from another network namespace; a kernel there
records for itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from .processes import ProcessIdentity

_CREDENTIALS_BYTES = 12  # struct ucred: pid, uid, gid


def name_of(kernel: ProcessIdentity) -> bytes:
    """The name under which the recording of this process is claimed."""
    return f"\0kerneldoctor-{(kernel.boot_id or '')[:8]}-{kernel.pid}-{int(kernel.start)}".encode()


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process id and user id at the other end (SO_PEERCRED); the pid is 0 when it is not visible from here."""
    from socket import SO_PEERCRED, SOL_SOCKET  # noqa: PLC0415 - Linux only

    data = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, _CREDENTIALS_BYTES)
    pid, uid = (int.from_bytes(data[start : start + 4], sys.byteorder) for start in (0, 4))
    return pid, uid
