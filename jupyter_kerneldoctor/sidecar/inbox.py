"""The sidecar's end of the socket: what the kernel says, message by message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

_LARGEST_MESSAGE = 2 * 1024 * 1024


class Inbox:
    """Messages are JSON objects with an `event` name; anything else is passed over."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self._link = link
        self.is_open = True
        """False once the kernel's end is closed. That is not the kernel's death: only the pidfd tells of that."""

    def fileno(self) -> int:
        """For `poll`."""
        return self._link.fileno()

    def messages(self) -> Iterator[dict[str, Any]]:
        """All messages that are there now."""
        while self.is_open:
            try:
                data = self._link.recv(_LARGEST_MESSAGE)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            if not data:
                self.is_open = False
                return
            try:
                event = json.loads(data)
            except ValueError:
                continue
            if isinstance(event, dict) and isinstance(event.get("event"), str):
                yield event
