"""Captures what native code writes to file descriptors 1 and 2, even if `abort()` follows at once.

ipykernel puts a pipe behind each of the two, and a thread (`OutStream._watch_pipe_fd`) that shows in the notebook what
comes out of it. Text that this thread has read, but not shown yet, is lost with the process. So a thread of ours
replaces it and does the same, except that it reads into memory shared with the sidecar. The bytes are thus always in
the pipe or in that memory, and the sidecar has both open. Descriptors 1 and 2 stay as they are, so children,
redirections and `exec` work as without us, and the text appears in the same order at the same time.

A thread that waits in `read` has to be woken before it can be replaced: a zero byte is written to the pipe, and removed
from what is read.
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
from .messages import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from .link import Link

_WAKE = b"\0"
_PATIENCE_S = 0.1
_LEAVING_PATIENCE_S = 2.0
"""Only a thread that has taken over can be told to leave. One that was started a moment ago may not have."""


class OutputCapture:
    """The capture of both streams. A terminal, or a kernel that captures nothing, is left alone."""

    def __init__(self, link: Link) -> None:
        """Replace ipykernel's threads, and share the output with the sidecar. If that is impossible, change nothing."""
        self._pid = os.getpid()
        self._readers: dict[int, StreamReader] = {}
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            with suppress(Exception):  # not ipykernel's stream, or another version of ipykernel
                self._readers[number] = _reader_of(stream)
        for reader in self._readers.values():
            reader.taken_over.wait(_PATIENCE_S)
        if self._readers:
            begins = [reader.begin for reader in self._readers.values()]
            shared = message("last_words", time.monotonic(), fds=list(self._readers), begins=begins)
            link.send(shared, [fd for reader in self._readers.values() for fd in (reader.ring.fd, reader.pipe_fd)])

    def restore(self) -> None:
        """Let ipykernel read again; do nothing in a forked child, which has no such threads."""
        if os.getpid() == self._pid:
            for reader in self._readers.values():
                reader.restore()


def _reader_of(stream: Any) -> StreamReader:
    """Start to read a stream. Raises OSError when there is no memory for it, AttributeError, ValueError."""
    ring = RingWriter()
    try:
        return StreamReader(stream, ring)
    except BaseException:
        ring.close()
        raise


class StreamReader(threading.Thread):
    """A thread that reads the pipe of an `OutStream` in place of ipykernel's own."""

    def __init__(self, stream: Any, ring: RingWriter) -> None:
        """Start. Raises AttributeError or ValueError when this stream cannot be taken over."""
        super().__init__(name="KernelDoctor-output", daemon=True)
        self.taken_over = threading.Event()
        self.ring = ring
        self.begin = ring.total
        self._stream = stream
        self._before: threading.Thread = stream.watch_fd_thread
        self.pipe_fd: int = stream._fid  # noqa: SLF001 - there is no other way to it
        self._log_fd: int = stream._original_stdstream_copy  # noqa: SLF001
        if not (stream._should_watch and self._before.is_alive()):  # noqa: SLF001
            raise ValueError("no thread reads this stream")
        if isinstance(self._before, StreamReader) and not self._before.taken_over.is_set():
            raise ValueError("another thread is taking it over")
        self._lock = threading.Lock()
        self._wakes = 0  # how many of our zero bytes are still in the pipe
        self._leaving = False
        self.start()

    def run(self) -> None:
        """Run in an empty context, so that no cell counts as the origin of the text."""
        Context().run(self._read)

    def restore(self) -> None:
        """Let this same thread continue with ipykernel's code, or with ours if the pipe is full."""
        if self.is_alive():
            self.taken_over.wait(_LEAVING_PATIENCE_S)
        if not (self.is_alive() and self._stream.watch_fd_thread is self):
            return
        self._expect(1)
        self._leaving = True
        try:
            self._wake(os.O_NONBLOCK)
        except OSError:
            self._leaving = False
            self._expect(-1)

    def _read(self) -> None:
        stream = self._stream
        try:
            try:
                continues = self._take_over() and self._forward()
            finally:
                self.ring.close()
            if continues:
                stream._watch_pipe_fd()  # noqa: SLF001
        except Exception:
            stream._exc = sys.exc_info()  # noqa: SLF001 - ipykernel shows it when the stream is closed

    def _take_over(self) -> bool:
        """End the thread before us. It tries to show what it has read by then, which we catch and show instead.

        Return False if it ended for a reason of its own, so that there is nothing to take over.
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
        """Show what is read, as `OutStream._watch_pipe_fd` does; return whether ipykernel is to continue."""
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
        """Write a zero byte to the pipe itself: user code may have redirected descriptor 1 or 2. Raises OSError."""
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


class _HandedOver(Exception):  # noqa: N818 - no error: it ends a loop and carries the text that was just read
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def _handing_over(thread: threading.Thread, write: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a `write` that raises _HandedOver in this thread, and works as before in all others."""

    def replacement(text: str) -> Any:
        if threading.current_thread() is thread:
            raise _HandedOver(text)
        return write(text)

    return replacement


class _Replaced:
    """Replaces an attribute of an object, and restores it afterwards, also where it was the class's."""

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
