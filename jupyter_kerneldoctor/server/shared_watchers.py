"""Starts the processes that watch the kernels of this server which loaded nothing: one, and another when it is full."""

import errno
import json
import socket
import sys
import threading
from pathlib import Path

from jupyter_kerneldoctor.recording.sidecar_launch import SHARED, spawn_sidecar

_MOST_KERNELS = 100
_FILES_PER_KERNEL = 200
"""At most: some fifty, and as many again for children and their ends as one kernel may take (`observers.children`)."""


class WatcherProcess:
    """One process, and how many kernels it watches."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.kernels = 0

    def watch(self, directory: Path, link_fd: int, kernel_fd: int | None) -> None:
        """Have it watch one more. Raises OSError when it is gone."""
        message = json.dumps({"event": "watch", "directory": str(directory)}).encode()
        descriptors = [link_fd] if kernel_fd is None else [link_fd, kernel_fd]
        socket.send_fds(self._link, [message], descriptors, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def close(self) -> None:
        """Let it end with its last kernel."""
        self._link.close()


class SharedWatchers:
    """All of them."""

    def __init__(self) -> None:
        self._processes: list[WatcherProcess] = []
        self._lock = threading.Lock()
        """Held for a moment only: the event loop takes it, too."""
        self._start_lock = threading.Lock()
        self._capacity = _capacity()

    def watch(self, directory: Path, link_fd: int, kernel_fd: int | None) -> WatcherProcess:
        """Have a process watch a kernel; return it, for `release`. Raises OSError. Waits while a process starts."""
        with self._start_lock:
            for process in (self._with_room(), None):
                taken = process or self._started()
                try:
                    taken.watch(directory, link_fd, kernel_fd)
                except OSError as error:
                    self.release(taken, is_gone=error.errno not in (errno.EAGAIN, errno.ETOOMANYREFS))
                    if process is None:
                        raise
                else:
                    return taken
        raise AssertionError("the second is new")

    def release(self, process: WatcherProcess, *, is_gone: bool = False) -> None:
        """Note that a process watches one kernel less. With the last it ends."""
        with self._lock:
            process.kernels -= 1
            if (is_gone or not process.kernels) and process in self._processes:
                self._processes.remove(process)
                process.close()

    def _with_room(self) -> WatcherProcess | None:
        with self._lock:
            process = next((one for one in self._processes if one.kernels < self._capacity), None)
            if process is not None:
                process.kernels += 1
            return process

    def _started(self) -> WatcherProcess:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                spawn_sidecar(SHARED, theirs.fileno(), None)
            except BaseException:
                ours.close()
                raise
        process = WatcherProcess(ours)
        process.kernels = 1
        with self._lock:
            self._processes.append(process)
        return process


def _capacity() -> int:
    """Return how many kernels one process may watch: it may open only so many files."""
    if sys.platform != "linux":
        return 0
    import resource  # noqa: PLC0415 - there is none on Windows

    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_KERNELS if files < 0 else max(1, min(_MOST_KERNELS, files // _FILES_PER_KERNEL))
