"""Watches all kernels of a Jupyter server that loaded nothing, each in a thread of its own.

What one kernel's thread waits for, a disk that does not answer for example, holds up no other. A kernel that loads
KernelDoctor later gets a process of its own, which goes on with the recording.
"""

from __future__ import annotations

import _thread
import gc
import json
import os
import select
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..recording.sidecar_launch import sidecar_command
from .inbox import Inbox
from .recorder import Recorder

if TYPE_CHECKING:
    from .inbox import Message
    from .recorder import Continuation

_BEGINS_S = 60.0
"""How long a process may take to begin, on a machine that is very busy."""


class SharedWatcher:
    """The process's main thread: it takes what the server says, passes signals on, and never touches a disk."""

    def __init__(self, server: Inbox) -> None:
        self._server = server
        self._wakes: dict[int, int] = {}
        """The pipe by which each thread is woken: its reading end, by which the thread is known, and the other."""
        self._ended: list[int] = []
        self._children: list[subprocess.Popen[bytes]] = []
        """Sidecars of kernels that joined. They stay children, as a kernel under Yama permits this process's."""
        self._wake_fd, self._signal_fd = _pipe()
        for number in (signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._signal_fd, warn_on_full_buffer=False)

    def run(self) -> None:
        """Watch until the server has closed its end and the last kernel has ended."""
        _raise_descriptor_limit()
        poll = select.poll()
        poll.register(self._wake_fd, select.POLLIN)
        poll.register(self._server.fileno(), select.POLLIN)
        while self._server.is_open or self._wakes:
            poll.poll()
            with suppress(BlockingIOError):
                if signal.SIGUSR1 in os.read(self._wake_fd, 4096):
                    self._wake_all()
            if self._server.is_open:
                for message in self._server.messages():
                    self._begin(message)
                if not self._server.is_open:
                    poll.unregister(self._server.fileno())
            while self._ended:
                reads = self._ended.pop()
                os.close(self._wakes.pop(reads))
                os.close(reads)
            self._children = [child for child in self._children if child.poll() is None]

    def _begin(self, message: Message) -> None:
        """Watch the kernel that a message names: its directory, the server's socket for it, and its pidfd."""
        try:
            reads, writes = _pipe()
        except OSError:  # too many files are open: the server finds its socket closed
            return
        self._wakes[reads] = writes
        try:
            starter = Inbox(socket.socket(fileno=message.descriptors.pop(0)))
        except (IndexError, OSError, MemoryError):  # it did not arrive, for the same reason, or there is no memory
            self._ended.append(reads)
            return
        pidfds = message.descriptors[:]
        message.descriptors.clear()
        try:
            _thread.start_new_thread(self._watch, (Path(message["directory"]), starter, pidfds, reads))
        except RuntimeError:  # no thread can be started: the server finds its socket closed
            self._end(starter, pidfds, reads)

    def _watch(self, directory: Path, starter: Inbox, pidfds: list[int], wakes_fd: int) -> None:
        try:
            with suppress(Exception):  # it is in the journal, and the server finds its socket closed
                recorder = Recorder(directory, pidfds[0] if pidfds else None, wakes_fd)
                continuation = recorder.record(starter)
                if continuation is not None and not self._hand_over(continuation, directory, pidfds):
                    recorder.record(starter, continuation)
            recorder = continuation = None  # type: ignore[assignment]
        finally:
            self._end(starter, pidfds, wakes_fd)

    def _end(self, starter: Inbox, pidfds: list[int], wakes_fd: int) -> None:
        starter.close()
        for pidfd in pidfds:
            os.close(pidfd)
        gc.collect()  # what a watch opened is closed with it
        self._ended.append(wakes_fd)
        with suppress(BlockingIOError):
            os.write(self._signal_fd, b"\0")

    def _hand_over(self, continuation: Continuation, directory: Path, pidfds: list[int]) -> bool:
        """Have a process of its own go on with a recording; return whether there is one.

        Until that has begun this one lives: the journal names it, and a recorder that is gone is not waited for.
        """
        gc.collect()  # the files are closed before another writes them
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            try:
                sent = [one.fileno() for one in continuation.sockets]
                socket.send_fds(ours, [json.dumps(continuation.start).encode()], sent)
                self._children.append(_spawn(sidecar_command(directory, theirs.fileno(), *pidfds), theirs, pidfds))
            except OSError:
                return False
            for one in continuation.sockets:
                one.close()
            theirs.close()
            ours.settimeout(_BEGINS_S)
            with suppress(OSError):
                ours.recv(1)  # it closes its end when it has begun
        return True

    def _wake_all(self) -> None:
        for writes in self._wakes.values():
            with suppress(BlockingIOError):
                os.write(writes, b"?")


def _spawn(command: list[str], theirs: socket.socket, pidfds: list[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=[theirs.fileno(), *pidfds],
    )


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def _raise_descriptor_limit() -> None:
    """Permit as many open files as this process may have: each kernel takes some fifty."""
    import resource  # noqa: PLC0415 - there is none on Windows

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
