"""Where a kernel finds the sidecar that already watches it, and where two sidecars of one kernel meet.

The Jupyter server starts a sidecar for a kernel that may load KernelDoctor by itself later. There is only one
recording of a process all the same: the kernel joins the sidecar that is there, and of two sidecars that start at the
same time the kernel's own goes on.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import time
from typing import TYPE_CHECKING, Any

from ..recording.claim import name_of, peer
from .inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..recording.processes import ProcessIdentity

BY_SERVER = "server"

_PATIENCE_S = 0.5
_STEP_S = 0.01
_REMEMBERED = 15


class TakenError(Exception):
    """Another sidecar records this kernel."""


def open_door(kernel: ProcessIdentity, *, insists: bool) -> socket.socket | None:
    """Claim the recording of a kernel; None where it cannot be claimed, which is no reason not to record.

    Who does not insist gives way to a sidecar that is there: TakenError. Who does asks it to leave, for half a second:
    it does if it was the server's and has heard nothing yet, or if its recording was switched off just now.
    """
    deadline = time.monotonic() + _PATIENCE_S
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while True:
        try:
            door.bind(name_of(kernel))
            door.listen(4)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and not insists:
                raise TakenError from None
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                door.close()
                return None
            _knock(kernel)
            time.sleep(_STEP_S)
        else:
            door.setblocking(False)
            return door


def _knock(kernel: ProcessIdentity) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        visitor.setblocking(False)
        try:
            visitor.connect(name_of(kernel))
        except OSError:
            pass


class Reception:
    """All who speak to this sidecar: the server or the kernel that started it, and the kernel that joined later.

    From then on the kernel alone is listened to: what it says of its cells is exact.
    """

    is_open = True

    def __init__(self, kernel: ProcessIdentity, host: Inbox, door: socket.socket, *, by_server: bool) -> None:
        self._kernel = kernel
        self._host: Inbox | None = host
        self._door = door
        self._by_server = by_server
        self._guest: Inbox | None = None
        self._cells: list[list[float]] = []
        """The last cells that the server told of: sequence number, start, end (infinity: not yet)."""
        self._seq_offset = 0
        self.gives_way = False
        """Another sidecar asked for this kernel while nothing was known here yet: this recording is to be removed."""
        self._epoll = select.epoll()
        for speaker in (host, door):
            self._epoll.register(speaker.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """For `poll`: ready when anybody speaks or stands at the door."""
        return self._epoll.fileno()

    def messages(self) -> Iterator[dict[str, Any]]:
        """All messages that are there now."""
        for event in self._heard(self._host):
            if self._guest is None:
                if self._by_server:
                    self._follow(event)
                yield event
        self._host = self._still_there(self._host)
        self._admit()
        for event in self._heard(self._guest):
            yield self._renumbered(event)
        if self._guest is not None and not self._guest.is_open:
            self._forget(self._guest)
        if self.gives_way:
            yield {"event": "off", "mono_s": time.monotonic()}

    def _heard(self, inbox: Inbox | None) -> Iterator[dict[str, Any]]:
        return inbox.messages() if inbox is not None and inbox.is_open else iter(())

    def _still_there(self, inbox: Inbox | None) -> Inbox | None:
        if inbox is None or inbox.is_open:
            return inbox
        self._forget(inbox)
        return None

    def _forget(self, inbox: Inbox) -> None:
        try:
            self._epoll.unregister(inbox.fileno())
        except OSError:
            pass  # it is done already

    def _follow(self, event: dict[str, Any]) -> None:
        if event["event"] == "cell_start" and not any(cell[0] == event["seq"] for cell in self._cells):
            self._cells = [*self._cells[-_REMEMBERED:], [event["seq"], event["mono_s"], math.inf]]
        elif event["event"] in ("cell_end", "cell_withdrawn"):
            for cell in self._cells:
                if cell[0] == event["seq"]:
                    cell[2] = event["mono_s"]

    def _renumbered(self, event: dict[str, Any]) -> dict[str, Any]:
        """A kernel that joined counts its cells from one, and begins with the one that runs, which it knows better.

        Which one that is: the server's words may have come before the kernel's, or not yet.
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

    def _admit(self) -> None:
        try:
            visitor, _ = self._door.accept()
        except OSError:
            return
        pid, uid = peer(visitor)
        if uid == os.geteuid() and pid == self._kernel.pid and self._by_server and self._guest is None:
            self._guest = Inbox(visitor)
            self._epoll.register(visitor.fileno(), select.EPOLLIN)
            return
        if uid == os.geteuid() and self._by_server and self._guest is None and not self._cells:
            self.gives_way = True
        visitor.close()
