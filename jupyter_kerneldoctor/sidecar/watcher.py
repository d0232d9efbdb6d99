"""The sidecar's loop: it waits for messages, for the next turn of an observer, and for the death.

It wakes within a millisecond of the kernel's end through a pidfd; where there is none, it looks twice a second.
"""

from __future__ import annotations

import gc
import math
import os
import select
import socket
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..recording.journal import JsonLines
from ..recording.layout import JOURNAL
from ..recording.processes import ProcessIdentity, identify, is_alive
from ..recording.retention import Policy, tidy
from .exit_status import exit_status
from .inbox import Inbox
from .observer import Watched
from .observers.clock import ClockObserver
from .observers.memory import MemoryObserver

if TYPE_CHECKING:
    from .observer import Observer

_LOOK_S = 0.5
_DEAF_S = 0.05


def main(arguments: list[str]) -> None:
    """Watch one kernel until it ends: DIRECTORY SOCKET_FD [KERNEL_PIDFD]."""
    os.umask(0o077)
    directory = Path(arguments[0])
    inbox = Inbox(socket.socket(fileno=int(arguments[1])))
    pidfd = int(arguments[2]) if len(arguments) > 2 else None
    journal = JsonLines(directory / JOURNAL)
    # The first message says whom to watch; it was in the socket before this process started.
    start = next(inbox.messages(), None)
    if start is None or start["event"] != "start":
        return
    try:
        Watcher(directory, journal, inbox, pidfd, start).run()
    except Exception:
        stamps = {"mono_s": time.monotonic(), "wall_s": time.time()}
        journal.write({"event": "fault", **stamps, "traceback": traceback.format_exc()})
        raise


class Watcher:
    """One kernel, one recording."""

    def __init__(
        self, directory: Path, journal: JsonLines, inbox: Inbox, pidfd: int | None, start: dict[str, Any]
    ) -> None:
        pid, started, boot = start["process"]
        self._watched = Watched(directory, journal, ProcessIdentity(pid, started, boot))
        self._inbox = inbox
        self._pidfd = pidfd
        self._poll = select.poll()
        self._listens = False
        if pidfd is not None:
            self._poll.register(pidfd, select.POLLIN)
        self._off = False
        self._deaf_until = 0.0
        self._clock = ClockObserver(self._watched, start["wall_s"] - start["mono_s"])
        self._memory = MemoryObserver(self._watched)
        self._observers: tuple[Observer, ...] = (self._clock, self._memory)
        journal.write({**start, "sidecar": identify(os.getpid()), "ram_bytes": self._memory.ram_bytes})
        for observer in self._observers:
            observer.heard(start, time.monotonic())
        tidy(directory.parent, Policy())
        gc.collect()
        gc.freeze()

    def run(self) -> None:
        """Record until the kernel ends or the user switches the recording off."""
        while not self._off:
            now = time.monotonic()
            for observer in self._observers:
                if now >= observer.due_mono_s:
                    observer.turn(now)
            self._drain(now)
            if self._wait(now):
                self._end()
                break
        for observer in self._observers:
            observer.stop()

    def _wait(self, now: float) -> bool:
        """Wait for something to do or for the kernel's end; return whether it has ended.

        Waking us costs the kernel more than the message itself (some 15 us). So after a message we do not listen for
        a while but look again ourselves; the messages wait in the socket, and a death wakes us in any case.
        """
        until = min(observer.due_mono_s for observer in self._observers)
        deaf = now < self._deaf_until
        if deaf:
            until = min(until, self._deaf_until)
        self._listen(not deaf and self._inbox.is_open)
        seconds = max(0.0, until - now)
        if self._pidfd is None:
            seconds = min(seconds, _LOOK_S)
        ready = dict(self._poll.poll(math.ceil(seconds * 1000)))
        return self._pidfd in ready if self._pidfd is not None else not is_alive(self._watched.kernel)

    def _listen(self, listens: bool) -> None:
        if listens and not self._listens:
            self._poll.register(self._inbox.fileno(), select.POLLIN)
        elif self._listens and not listens:
            self._poll.unregister(self._inbox.fileno())
        self._listens = listens

    def _drain(self, now: float) -> None:
        for event in self._inbox.messages():
            self._deaf_until = now + _DEAF_S
            self._watched.journal.write({**event, "wall_s": event.get("mono_s", now) + self._clock.offset_s})
            kind = event["event"]
            if kind == "off":
                self._off = True
            elif kind == "cell_start":
                self._watched.cell_seq, self._watched.cell_started_mono_s = event["seq"], event["mono_s"]
            elif kind == "cell_end":
                self._watched.cell_seq = None
            for observer in self._observers:
                observer.heard(event, now)

    def _end(self) -> None:
        status = exit_status(self._watched.kernel.pid, self._pidfd)
        fields = {name: value for observer in self._observers for name, value in observer.at_end().items()}
        self._drain(time.monotonic())  # what the kernel said last is older than its end
        lost = self._watched.journal.lost + self._memory.lost
        self._watched.note("end", **status._asdict(), **fields, lost=lost)
        self._watched.journal.sync()
