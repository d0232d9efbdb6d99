"""The connection to the sidecar that the server starts for a kernel, which need not be Python."""

import asyncio
import errno
import json
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.sidecar_launch import spawn_sidecar

from .cells import CellTracker
from .shared_watchers import SharedWatchers, WatcherProcess

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode

_SEND_BUFFER_BYTES = 1024 * 1024
_MOST_BYTES = 4096

_JOINED = b'{"event":"joined"}'
"""What the sidecar says when the kernel itself has joined it."""

_MOST_LOSSES = 3
_LASTS_S = 60.0
"""A process that watched for so long and is lost is the first again."""


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
    """The server's end of the socket, which holds events until the sidecar runs. Sending neither blocks nor raises.

    Where the process is gone that watched the kernel, another goes on with the recording.
    """

    def __init__(self, start: dict[str, Any], watchers: SharedWatchers) -> None:
        """Create the socket and send the first event. Raises OSError."""
        self._start = start
        self._watchers = watchers
        self._watcher: WatcherProcess | None = None
        self._directory: Path | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._losses = 0
        self._began_mono_s = 0.0
        self._ours: socket.socket | None = None
        self._theirs = self._connect(start)

    def _connect(self, start: dict[str, Any]) -> socket.socket:
        """Make the socket and send the first event; return the sidecar's end. Raises OSError."""
        self._began_mono_s = time.monotonic()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        self.send(start)
        return theirs

    def listen(self, over: Callable[[], object], lost: Callable[[], object]) -> None:
        """Call a function of the event loop's once: `over` when the end is recorded, `lost` when nobody records it."""
        if self._ours is not None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._ours, self._on_message, over, lost)

    def _on_message(self, over: Callable[[], object], lost: Callable[[], object]) -> None:
        try:
            said = self._ours.recv(_MOST_BYTES) if self._ours is not None else b""
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said == _JOINED:
            self._losses = _MOST_LOSSES  # the kernel itself sees to it from now on
            self._release()
            return
        self._stop_reading()
        self._release()
        (over if said else lost)()

    def _stop_reading(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._ours is not None:
            loop.remove_reader(self._ours)

    def spawn(self, pid: int, kernel_fd: int | None) -> None:
        """Create the recording and have it written, which may take as long as starting a process. Raises OSError."""
        try:
            self._directory = layout.create(layout.new_id(pid))
            try:
                self._have_watched(kernel_fd)
            except OSError:
                self._directory.rmdir()
                raise
        finally:
            self._theirs.close()
            if kernel_fd is not None:
                os.close(kernel_fd)

    def reconnect(self, cells: CellTracker) -> bool:
        """Prepare to go on with the recording (`respawn`), and repeat what the newest cells were.

        Return False where that has been tried before, or the kernel sees to its recording itself. Raises OSError.
        """
        if time.monotonic() - self._began_mono_s > _LASTS_S and self._losses < _MOST_LOSSES:
            self._losses = 0
        self._losses += 1
        self.close()
        if self._losses >= _MOST_LOSSES or self._directory is None:
            return False
        self._theirs = self._connect({**self._start, "continues": {"cells": cells.newest_cells()}})
        for event in cells.events_to_repeat():
            self.send(event)
        return True

    def respawn(self, kernel_fd: int | None) -> None:
        """Have another process go on, one of its own if that happens again soon. Raises OSError."""
        try:
            self._have_watched(kernel_fd, alone=self._losses > 1)
        finally:
            self._theirs.close()
            if kernel_fd is not None:
                os.close(kernel_fd)

    def _have_watched(self, kernel_fd: int | None, *, alone: bool = False) -> None:
        assert self._directory is not None
        if sys.platform == "linux" and not alone:
            with suppress(OSError):
                self._watcher = self._watchers.watch(self._directory, self._theirs.fileno(), kernel_fd)
                if self._ours is None:  # closed meanwhile
                    self._release()
                return
        spawn_sidecar(self._directory, self._theirs.fileno(), kernel_fd)

    def send(self, event: dict[str, Any]) -> None:
        """Send an event, unless the sidecar is gone: the kernel records itself, or has ended."""
        if self._ours is None:
            return
        try:
            self._ours.send(_encode(event).encode("ascii"), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE, errno.EPIPE, errno.ECONNRESET):
                self.close()

    def close(self) -> None:
        """Close our end; the sidecar stays as long as the kernel."""
        self._stop_reading()
        ours, self._ours = self._ours, None
        if ours is not None:
            with suppress(OSError):
                ours.close()
        self._release()

    def _release(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            self._watchers.release(watcher)
