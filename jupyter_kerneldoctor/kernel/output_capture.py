"""Last words: what native code writes to file descriptors 1 and 2 is kept, even if `abort()` follows at once.

ipykernel puts a pipe behind each of the two, and a thread (`OutStream._watch_pipe_fd`) that shows in the notebook what
comes out of it. Text that this thread has taken, but not shown yet, dies with the process. So a thread of ours takes
its place and does the same, except that it reads into memory that the sidecar shares. The bytes are thus always in
the pipe or in that memory, and the sidecar holds both. Descriptors 1 and 2 themselves stay as they are: children,
redirections and `exec` meet what they would meet without us, and the text comes in the same order at the same moment.

A thread that waits in `read` must be woken to make room, so a zero byte is sent through the pipe and taken out again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..recording.ring import RingWriter
from .descriptors import Inode, inode
from .messages import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from .link import Link

_WAKE = b"\0"
_PATIENCE_S = 0.1

_rings: dict[int, list[tuple[RingWriter, Inode | None]]] = {1: [], 2: []}
"""Never freed: `mmap` would close its descriptor, whose number may belong to a file of the user's by then."""


class OutputCapture:
    """Both streams, as far as they are ipykernel's: a terminal, or a kernel that captures nothing, is left alone."""

    def __init__(self, link: Link) -> None:
        """Take the place of ipykernel's threads, and tell the sidecar. Where that is not possible, nothing changes."""
        self._pid = os.getpid()
        self._watches: dict[int, StreamReader] = {}
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            with suppress(Exception):  # not ipykernel's, or an ipykernel that works in another way
                self._watches[number] = StreamReader(stream, _ring(number))
        for watch in self._watches.values():
            watch.taken_over.wait(_PATIENCE_S)
        if self._watches:
            begins = [watch.begin for watch in self._watches.values()]
            told = message("last_words", time.monotonic(), fds=list(self._watches), begins=begins)
            link.send(told, [fd for watch in self._watches.values() for fd in (watch.ring.fd, watch.pipe_fd)])

    def restore(self) -> None:
        """Let ipykernel read again. Nothing to do in a forked child: it has no such threads."""
        if os.getpid() == self._pid:
            for watch in self._watches.values():
                watch.restore()


def _ring(number: int) -> RingWriter:
    """A ring for a descriptor; not the last recording's, as its sidecar may not have read that to the end yet.

    Raises OSError when there is no memory for a new one.
    """
    rings = _rings[number]
    if len(rings) > 1 and inode(rings[0][0].fd) == rings[0][1]:
        rings.append(rings.pop(0))
    else:  # the first two recordings, or the ring was closed behind our back
        ring = RingWriter()
        rings.append((ring, inode(ring.fd)))
    return rings[-1][0]


class StreamReader(threading.Thread):
    """A thread that reads the pipe of an `OutStream`, from ipykernel's own thread to ipykernel's own code again."""

    def __init__(self, stream: Any, ring: RingWriter) -> None:
        """Start. Raises AttributeError or ValueError when this is no stream that can be taken over."""
        super().__init__(name="KernelDoctor-output", daemon=True)
        self.taken_over = threading.Event()
        self.ring = ring
        self.begin = ring.total
        self._stream = stream
        self._before: threading.Thread = stream.watch_fd_thread
        self.pipe_fd: int = stream._fid  # noqa: SLF001 - there is no other way to it
        self._log_fd: int = stream._original_stdstream_copy  # noqa: SLF001
        if not (stream._should_watch and self._before.is_alive()):  # noqa: SLF001
            raise ValueError("nobody watches this stream")
        if isinstance(self._before, StreamReader) and not self._before.taken_over.is_set():
            raise ValueError("it is just being taken over")
        self._lock = threading.Lock()
        self._wakes = 0  # how many of our zero bytes are still to come out of the pipe
        self._leaving = False
        self.start()

    def run(self) -> None:
        """Run outside any context and past any patched `Thread.run`, so that no cell counts as the text's origin."""
        Context().run(self._watch)

    def restore(self) -> None:
        """Let this very thread go on with ipykernel's code. If the pipe is full, it stays with ours."""
        if not (self.is_alive() and self._stream.watch_fd_thread is self):
            return
        self._expect(1)
        self._leaving = True
        try:
            self._wake(os.O_NONBLOCK)
        except OSError:
            self._leaving = False
            self._expect(-1)

    def _watch(self) -> None:
        stream = self._stream
        try:
            if self._take_over() and self._forward():
                stream._watch_pipe_fd()  # noqa: SLF001
        except Exception:
            stream._exc = sys.exc_info()  # noqa: SLF001 - as ipykernel does it, which shows it when the stream is closed

    def _take_over(self) -> bool:
        """Make the thread before us end. What it has read by then is not lost: it tries to show it, and we catch it.

        Return False if it ended for a reason of its own; then nothing is left to be taken over.
        """
        stream, before = self._stream, self._before
        with _Replaced(stream, "write", lambda write: _handing_over(before, write)):
            self._expect(1)
            self._wake()
            before.join()
        error = stream._exc and stream._exc[1]  # noqa: SLF001
        if not isinstance(error, _HandedOver):
            return False
        stream._exc = None  # noqa: SLF001
        stream.watch_fd_thread = self
        if isinstance(before, StreamReader):
            self._expect(before._wakes)  # noqa: SLF001 - of this very class
        self._show(self._without_wakes(error.text.encode("utf-8", "surrogateescape")))
        self.taken_over.set()
        return True

    def _forward(self) -> bool:
        """Show what comes; return whether ipykernel is to go on. The same steps as in `OutStream._watch_pipe_fd`."""
        while not (self._leaving and not self._wakes):
            data = self.ring.read_from(self.pipe_fd)
            if not data or not self._stream._should_watch:  # noqa: SLF001
                return False
            self._show(self._without_wakes(data))
        return True

    def _show(self, data: bytes) -> None:
        if data:
            self._stream.write(data.decode(errors="replace"))
            os.write(self._log_fd, data)

    def _wake(self, flags: int = 0) -> None:
        """Write to the pipe itself: descriptor 1 or 2 may be redirected by the user just now. Raises OSError."""
        fd = os.open(f"/proc/self/fd/{self.pipe_fd}", os.O_WRONLY | os.O_CLOEXEC | flags)
        try:
            os.write(fd, _WAKE)
        finally:
            os.close(fd)

    def _expect(self, wakes: int) -> None:
        with self._lock:
            self._wakes += wakes

    def _without_wakes(self, data: bytes) -> bytes:
        if self._wakes and _WAKE in data:
            with self._lock:
                found = min(self._wakes, data.count(_WAKE))
                self._wakes -= found
            data = data.replace(_WAKE, b"", found)
        return data


class _HandedOver(Exception):  # noqa: N818 - no error: it ends a loop and carries what the loop had in its hand
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def _handing_over(thread: threading.Thread, write: Callable[[str], Any]) -> Callable[[str], Any]:
    """Like `write`, except for this thread."""

    def replacement(text: str) -> Any:
        if threading.current_thread() is thread:
            raise _HandedOver(text)
        return write(text)

    return replacement


class _Replaced:
    """An attribute of an object, replaced for a while; afterwards it is what it was, the class's or the object's."""

    def __init__(self, target: Any, name: str, replacement: Callable[[Any], Any]) -> None:
        self._target, self._name = target, name
        self._own = vars(target).get(name)
        self._value = replacement(getattr(target, name))

    def __enter__(self) -> None:
        setattr(self._target, self._name, self._value)

    def __exit__(self, *_: object) -> None:
        if self._own is None:
            delattr(self._target, self._name)
        else:
            setattr(self._target, self._name, self._own)
