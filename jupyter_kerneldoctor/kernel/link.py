"""The kernel's end of the socket to the sidecar.

A send never blocks and never raises. It cannot kill the kernel through SIGPIPE, and it never writes into a file of the
user's that got our descriptor's number after an `os.closerange()`.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .descriptors import inode

if TYPE_CHECKING:
    from collections.abc import Callable

SEND_BUFFER_BYTES = 4 * 1024 * 1024  # what we ask for; Linux grants at most net.core.wmem_max

# SEQPACKET keeps messages whole and, unlike DGRAM, has no limit of ten queued ones; macOS has only DGRAM.
_KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0) | getattr(socket, "MSG_DONTWAIT", 0)

SIDECAR = Path(__file__).parent.parent / "sidecar" / "__main__.py"


class Link:
    """One sidecar and the socket to it."""

    def __init__(self, directory: Path, on_lost: Callable[[], None]) -> None:
        """Start a sidecar that records into `directory`; `on_lost` is called once when it is found gone.

        Raises OSError when no process can be started.
        """
        self._pid = os.getpid()
        self._on_lost = on_lost
        self._dropped = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, _KIND)
        with theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            _spawn(directory, theirs.fileno())
        self._socket: socket.socket | None = ours
        self._fd = ours.fileno()
        status = os.fstat(self._fd)
        self._device, self._inode = status.st_dev, status.st_ino

    @property
    def is_open(self) -> bool:
        """Whether the sidecar was there at the last send."""
        return self._socket is not None and os.getpid() == self._pid

    def send(self, message: bytes) -> bool:
        """Send a JSON object; return whether it left the process. False as well in a forked child."""
        link = self._socket
        if link is None or os.getpid() != self._pid:
            return False
        if self._dropped:
            message = b'%s,"dropped":%d}' % (message[:-1], self._dropped)
        try:
            status = os.fstat(self._fd)
            if status.st_ino != self._inode or status.st_dev != self._device:
                raise OSError(errno.EBADF, "the descriptor is not ours any more")
            link.send(message, _FLAGS)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE):  # the sidecar is slow, not gone
                self._dropped += 1
            else:
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


def _spawn(directory: Path, socket_fd: int) -> None:
    """Start the sidecar as an orphan in a session of its own.

    Orphan: user code that waits for its children, or lists them, never meets it; the shell between us is reaped at
    once. Own session: a restart kills the kernel's process group. Isolated and without site-packages: nothing of the
    user's (a `json.py` in the working directory, PYTHONPATH, .pth files) reaches it, and it stays small.
    """
    kernel_fd = _own_pidfd()
    descriptors = [socket_fd] + ([] if kernel_fd is None else [kernel_fd])
    isolated = ["-I", "-S"] if sys.platform == "linux" else ["-I"]  # elsewhere the meters need psutil
    sidecar = [sys.executable, *isolated, str(SIDECAR), str(directory), *map(str, descriptors)]
    try:
        between = subprocess.Popen(
            ["/bin/sh", "-c", '"$@" &', "sh", *sidecar],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=descriptors,
        )
        between.wait()
    finally:
        if kernel_fd is not None:
            os.close(kernel_fd)


def _own_pidfd() -> int | None:
    """A descriptor of this very process (pidfd_open(2), Linux 5.3), so that no reused pid can be mistaken for it."""
    try:
        return os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        return None
