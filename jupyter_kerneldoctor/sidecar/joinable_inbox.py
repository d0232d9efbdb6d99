"""The sidecar's inbox when the Jupyter server may have started it: the kernel can join later by itself.

There is one recording of a process all the same: a kernel that loads KernelDoctor joins the sidecar that is there, and
of two sidecars that start at the same time the kernel's own goes on (`recording.kernel_lock`).
"""

from __future__ import annotations

import math
import os
import select
import time
from typing import TYPE_CHECKING, Any

from ..recording.kernel_lock import asked_to_leave_since, peer_credentials
from .inbox import Inbox

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from ..recording.processes import ProcessIdentity

BY_SERVER = "server"

_REMEMBERED_CELLS = 15
_MOST_CONNECTIONS = 8
"""So many are looked at in a row, among which the kernel's may be."""
_PAUSE_S = 0.25
"""After one that was none of the kernel's."""


class JoinableInbox:
    """Reads the messages of whoever started this sidecar, the server or the kernel, until the kernel itself joins.

    From then on only the kernel's messages count: what it says of its cells is exact.
    """

    is_open = True

    def __init__(self, kernel: ProcessIdentity, starter: Inbox, listener: socket.socket, *, by_server: bool) -> None:
        self._kernel = kernel
        self._starter = starter
        self._listener = listener
        self._by_server = by_server
        self._joined: Inbox | None = None
        self._cells: list[list[float]] = []
        """The last cells of which the server sent the start: sequence number, start, end (infinity: none yet)."""
        self._seq_offset = 0
        self.hands_over = False
        """Whether the kernel's messages are left to another process once it joins."""
        self._superseded_since_mono_s: float | None = None
        """From when on the kernel's own sidecar has what happens; None while this one goes on."""
        self._wakes = True
        self._accepts_from_mono_s = 0.0
        self._epoll = select.epoll()
        for source in (starter, listener):
            self._epoll.register(source.fileno(), select.EPOLLIN)

    @property
    def has_joined(self) -> bool:
        """Whether the kernel has."""
        return self._joined is not None

    @property
    def is_handed_over(self) -> bool:
        """Whether the kernel has joined, and another process is to read what it says."""
        return self.hands_over and self.has_joined

    @property
    def is_repeated(self) -> bool:
        """Whether all cells that this one has heard of are in another's recording, too: this one is to be removed."""
        since_mono_s = self._superseded_since_mono_s
        return since_mono_s is not None and all(cell[2] >= since_mono_s for cell in self._cells)

    def state(self) -> dict[str, Any]:
        """Return what another process needs to go on."""
        return {"cells": [[*cell[:2], None if math.isinf(cell[2]) else cell[2]] for cell in self._cells]}

    def sockets(self) -> list[socket.socket]:
        """Return the sockets of who started this sidecar, of the lock and of the kernel, for another process."""
        assert self._joined is not None
        self._epoll.close()
        return [self._starter.detach(), self._listener, self._joined.detach()]

    def go_on(self, state: dict[str, Any], joined: Inbox | None = None) -> None:
        """Take up where another process stopped, with the kernel's connection if it has joined."""
        cells = state.get("cells")
        self._cells = [[*cell[:2], math.inf if cell[2] is None else cell[2]] for cell in cells or ()]
        if joined is not None:
            self._join(joined)

    def close(self) -> None:
        """Give up the lock, and read no more."""
        for one in (self._listener, self._joined, self._epoll, self._starter):
            if one is not None:
                one.close()

    def _join(self, joined: Inbox) -> None:
        self._joined = joined
        self._epoll.register(joined.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Return a descriptor for `poll`, readable when there is a message or a connection to accept."""
        return self._epoll.fileno()

    def tell(self, message: bytes) -> None:
        """Send something to whoever started this sidecar, if he still listens."""
        self._starter.tell(message)

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield all messages that are there now."""
        for event in self._messages_of(self._starter):
            if self._joined is None:
                if self._by_server:
                    self._note_cell(event)
                yield event
        self._accept()
        if self.is_handed_over:
            return
        for event in self._messages_of(self._joined):
            yield self._renumbered(event)
        if self._superseded_since_mono_s is not None:
            yield {"event": "off", "mono_s": time.monotonic()}

    def _messages_of(self, inbox: Inbox | None) -> Iterator[dict[str, Any]]:
        if inbox is not None and inbox.is_open:
            yield from inbox.messages()
            if not inbox.is_open:
                self._epoll.unregister(inbox.fileno())

    def _note_cell(self, event: dict[str, Any]) -> None:
        if event["event"] == "cell_start" and not any(cell[0] == event["seq"] for cell in self._cells):
            self._cells = [*self._cells[-_REMEMBERED_CELLS:], [event["seq"], event["mono_s"], math.inf]]
        elif event["event"] in ("cell_end", "cell_withdrawn"):
            for cell in self._cells:
                if cell[0] == event["seq"]:
                    cell[2] = event["mono_s"]

    def _renumbered(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event of the kernel with the cell numbers that this recording uses.

        A kernel that joins counts from one, beginning with the cell that runs. The server may have reported the start
        of that cell already, or not yet.
        """
        if event["event"] == "start":
            before = [cell for cell in self._cells if cell[1] <= event["mono_s"]]
            if before:
                seq, _, ended = before[-1]
                self._seq_offset = int(seq) - int(ended >= event["mono_s"])
        for name in ("seq", "cell_seq"):
            if self._seq_offset and isinstance(event.get(name), int):
                event[name] += self._seq_offset
        if "beside" in event:
            event["beside"] = [seq + self._seq_offset for seq in event["beside"]]
        return event

    def _accept(self) -> None:
        now = time.monotonic()
        if now < self._accepts_from_mono_s:
            return
        for _ in range(_MOST_CONNECTIONS):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            pid, uid = peer_credentials(connection)
            may_join = uid == os.geteuid() and self._by_server and self._joined is None
            if may_join and pid == self._kernel.pid:
                self._join(Inbox(connection))
                continue
            if may_join and self._superseded_since_mono_s is None:
                self._superseded_since_mono_s = asked_to_leave_since(connection)
            connection.close()
            self._accepts_from_mono_s = now + _PAUSE_S
        self._wake_for_connections(now >= self._accepts_from_mono_s)

    def _wake_for_connections(self, wakes: bool) -> None:
        """Be woken by whoever connects, or not: anybody may, as often as he likes, and is to cost nothing."""
        if wakes != self._wakes:
            self._wakes = wakes
            self._epoll.modify(self._listener.fileno(), select.EPOLLIN if wakes else 0)
