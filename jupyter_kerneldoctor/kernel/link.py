"""The kernel's end of the socket to the sidecar.

A send never blocks and never raises. It cannot kill the kernel through SIGPIPE, and it never writes into a file of the
user's that got our descriptor's number after an `os.closerange()`.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from typing import TYPE_CHECKING

from ..recording.kernel_lock import peer_credentials
from ..recording.processes import open_pidfd
from ..recording.sidecar_launch import REPORT_VARIABLE, spawn_sidecar
from .descriptors import inode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SEND_BUFFER_BYTES = 4 * 1024 * 1024  # what we ask for; Linux grants at most net.core.wmem_max

# SEQPACKET keeps messages whole and, unlike DGRAM, has no limit of ten queued ones; macOS has only DGRAM.
_KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0) | getattr(socket, "MSG_DONTWAIT", 0)


class Link:
    """One sidecar and the socket to it."""

    def __init__(
        self, directory: Path, greeting: bytes, on_lost: Callable[[], None], joined: socket.socket | None = None
    ) -> None:
        """Start a sidecar that records into `directory`, or speak to the one that was `joined`.

        The greeting is the first message; a sidecar finds it when it starts. `on_lost` is called once when the sidecar
        is found gone. Raises OSError when no process can be started.
        """
        self._pid = os.getpid()
        self._on_lost = on_lost
        self._dropped = 0
        if joined is None:
            ours, self.sidecar_pid = _with_new_sidecar(directory, greeting)
        else:
            ours, self.sidecar_pid = joined, peer_credentials(joined)[0]
        self._socket: socket.socket | None = ours
        self._fd = ours.fileno()
        status = os.fstat(self._fd)
        self._device, self._inode = status.st_dev, status.st_ino
        if joined is not None:
            self.send(greeting)

    @property
    def is_open(self) -> bool:
        """Whether the sidecar was there at the last send."""
        return self._socket is not None and os.getpid() == self._pid

    def send(self, message: bytes, descriptors: Sequence[int] = (), *, from_thread: bool = False) -> bool:
        """Send a JSON object, and open files along with it; return whether it left the process, never in a fork.

        With `from_thread`, that the sidecar is gone is left to the next message to find out: the user is to be told in
        a thread that runs cells.
        """
        link = self._socket
        if link is None or os.getpid() != self._pid:
            return False
        if self._dropped:
            message = b'%s,"dropped":%d}' % (message[:-1], self._dropped)
        try:
            status = os.fstat(self._fd)
            if status.st_ino != self._inode or status.st_dev != self._device:
                raise OSError(errno.EBADF, "the descriptor is not ours any more")
            if descriptors:
                link.sendmsg([message], _rights(descriptors), _FLAGS)
            else:
                link.send(message, _FLAGS)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE):  # the sidecar is slow, not gone
                self._dropped += 1
            elif not from_thread:
                self._lose()
            return False
        self._dropped = 0
        return True

    def close(self) -> None:
        """Close our end, if it is still ours."""
        link, self._socket = self._socket, None
        if link is None:
            return
        if os.getpid() == self._pid and inode(self._fd) == (self._device, self._inode):
            link.close()
        else:
            link.detach()  # its number may belong to a file of the user's by now

    def _lose(self) -> None:
        self.close()
        self._on_lost()


def _rights(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    """Descriptors as the sidecar gets them (SCM_RIGHTS, unix(7))."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(descriptors)}i", *descriptors))]


def _report_fd() -> int | None:
    """Return a copy of the stderr that this kernel got from its client; None where the user wants no report there."""
    if os.environ.get(REPORT_VARIABLE) != "stderr":
        return None
    kept = getattr(sys.stderr, "_original_stdstream_copy", None)  # ipykernel has put a pipe in its place
    return os.dup(kept if isinstance(kept, int) else 2)


def _with_new_sidecar(directory: Path, greeting: bytes) -> tuple[socket.socket, int | None]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, _KIND)
    kernel_fd, report_fd = open_pidfd(os.getpid()), _report_fd()
    try:
        # Else the user's `socket.setdefaulttimeout` holds: Python waits then, whatever the flags say.
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        ours.send(greeting, _FLAGS)
        sidecar_pid = spawn_sidecar(directory, theirs.fileno(), kernel_fd, report_fd)
    finally:
        theirs.close()
        for descriptor in (kernel_fd, report_fd):
            if descriptor is not None:
                os.close(descriptor)
    return ours, sidecar_pid
