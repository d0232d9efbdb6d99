"""Reads the kernel's messages from the sidecar's end of the socket."""

from __future__ import annotations

import json
import mmap
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

_LARGEST_MESSAGE = 2 * 1024 * 1024
_INT_BYTES = 4
_MOST_DESCRIPTORS = 8
_NEVER_WAITS = getattr(socket, "MSG_NOSIGNAL", 0) | getattr(socket, "MSG_DONTWAIT", 0)
_CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Message(dict[str, Any]):
    """An event, and the descriptors that came with it."""

    def __init__(self, event: dict[str, Any], sender: Inbox, descriptors: list[int]) -> None:
        super().__init__(event)
        self.sender = sender
        self.descriptors = descriptors
        """Open files that the kernel shares. An observer takes out those it keeps; the others are closed."""


class Inbox:
    """Yields messages that are JSON objects with an `event` name, and skips anything else."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self._link = link
        self._buffer = mmap.mmap(-1, _LARGEST_MESSAGE)  # made once: at a limit there is no memory for another
        self.is_open = True
        """False once the kernel's end is closed. The kernel may still live: only the pidfd shows its death."""

    def fileno(self) -> int:
        """Return the descriptor for `poll`."""
        return self._link.fileno()

    def detach(self) -> socket.socket:
        """Let another have the socket, with what is still unread in it."""
        self.is_open = False
        return self._link

    def close(self) -> None:
        """Read no more."""
        self.is_open = False
        self._link.close()

    def tell(self, message: bytes) -> None:
        """Send something to whoever started this sidecar, if he still listens."""
        with suppress(OSError):
            self._link.send(message, _NEVER_WAITS)

    def messages(self) -> Iterator[Message]:
        """Yield all messages that are there now."""
        while self.is_open:
            try:
                data, descriptors = self._receive()
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data, descriptors = b"", []
            if not data:
                self.is_open = False
                return
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                event = None
            if _is_event(event):
                yield Message(event, self, descriptors)
            while descriptors:
                os.close(descriptors.pop())

    def _receive(self) -> tuple[bytes, list[int]]:
        """Return one message and the descriptors that came with it (SCM_RIGHTS, unix(7)). Raises OSError."""
        space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * _INT_BYTES)
        size, ancillary, *_ = self._link.recvmsg_into([self._buffer], space, _CLOSED_ON_EXEC)
        data = bytes(memoryview(self._buffer)[:size])
        descriptors: list[int] = []
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors += memoryview(content)[: len(content) // _INT_BYTES * _INT_BYTES].cast("i")
        return data, descriptors


_NEEDED = {"start": ("mono_s", "wall_s")} | dict.fromkeys(
    ("cell_start", "cell_queued", "cell_end", "cell_withdrawn"), ("mono_s", "seq")
)
"""Which numbers an event cannot do without. All others can do without any."""


def _is_event(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a message has what every event of its kind has: user code may have found the socket."""
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return False
    numbers: list[Any] = [value.get(name) for name in _NEEDED.get(value["event"], ())]
    numbers += [value[name] for name in ("mono_s", "wall_s") if name in value]
    beside = value.get("beside", [])
    numbers += beside if isinstance(beside, list) else [None]
    return all(type(number) in (int, float) and abs(number) < 1 << 53 for number in numbers)
