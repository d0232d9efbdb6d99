"""The connection to the sidecar that the server starts for a kernel, which need not be Python."""

import asyncio
import errno
import json
import os
import platform
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.sidecar_launch import spawn_sidecar

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode

_SEND_BUFFER_BYTES = 1024 * 1024


def start_event(identity: ProcessIdentity | None, **facts: Any) -> dict[str, Any]:
    """Return the first event of a recording started by the server; identity None where there is no process."""
    known = {"format": layout.FORMAT, "loaded_by": "server", "hostname": platform.node(), **facts}
    stamps = {"mono_s": time.monotonic(), "wall_s": time.time()}
    return {"event": "start", **stamps, **({} if identity is None else {"process": identity}), **known}


def resolved(program: str, environment: Mapping[str, str] | None) -> tuple[str, int, int] | None:
    """Return the file that was started as `program`, with its device and inode; None when it is not there.

    Resolved here, when the kernel starts: later its own code could name another.
    """
    found = shutil.which(program, path=(environment or os.environ).get("PATH"))
    if found is None:
        return None
    try:
        path = Path(found).resolve(strict=True)
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_dev, status.st_ino


def record_without_process(start: dict[str, Any]) -> str:
    """Write the journal of a kernel that could not be started; return the id of its recording.

    Raises OSError.
    """
    recording_id = layout.new_id(0)
    journal = JsonLines(layout.create(recording_id) / layout.JOURNAL)
    journal.write(start)
    journal.close()
    return recording_id


class SidecarLink:
    """The server's end of the socket, which holds events until the sidecar runs. Sending neither blocks nor raises."""

    def __init__(self, start: dict[str, Any]) -> None:
        """Create the socket and send the first event. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        self._ours: socket.socket | None = ours
        self._theirs = theirs
        self._loop: asyncio.AbstractEventLoop | None = None
        self.send(start)

    def when_over(self, call: Callable[[], None]) -> None:
        """Call a function of the event loop's once the sidecar has recorded the end, or is gone."""
        if self._ours is not None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._ours, self._on_over, call)

    def _on_over(self, call: Callable[[], None]) -> None:
        self._stop_reading()
        call()

    def _stop_reading(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._ours is not None:
            loop.remove_reader(self._ours)

    def spawn(self, pid: int, kernel_fd: int | None) -> None:
        """Create the recording and start the sidecar, which takes as long as starting a process. Raises OSError."""
        try:
            directory = layout.create(layout.new_id(pid))
            try:
                spawn_sidecar(directory, self._theirs.fileno(), kernel_fd)
            except OSError:
                directory.rmdir()
                raise
        finally:
            self._theirs.close()
            if kernel_fd is not None:
                os.close(kernel_fd)

    def send(self, event: dict[str, Any]) -> None:
        """Send an event, unless the sidecar is gone: the kernel records itself, or has ended."""
        if self._ours is None:
            return
        try:
            self._ours.send(_encode(event).encode("ascii"), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE):
                self.close()

    def close(self) -> None:
        """Close our end; the sidecar stays as long as the kernel."""
        self._stop_reading()
        ours, self._ours = self._ours, None
        if ours is not None:
            with suppress(OSError):
                ours.close()
