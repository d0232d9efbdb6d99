"""The sidecar's loop: it waits for messages, for the next turn of an observer, and for the death.

It wakes within a millisecond of the kernel's end through a pidfd; where there is none, it looks twice a second.
"""

from __future__ import annotations

import gc
import math
import os
import select
import time
from typing import TYPE_CHECKING, Any, TypeVar

from ..recording import newest_cell
from ..recording.disk_reserve import release
from ..recording.layout import CRASH
from ..recording.private_files import open_file
from ..recording.processes import ProcessIdentity, identify, is_alive, namespaces, uid_of
from . import memory_reserve
from .exit_status import exit_status
from .joinable_inbox import JoinableInbox
from .journal import current_traceback
from .observer import Watched
from .observers.children import ChildrenObserver
from .observers.clock import ClockObserver
from .observers.crash import CrashObserver
from .observers.gpu import GpuObserver
from .observers.held import HeldObserver
from .observers.kernel_log import KernelLogObserver
from .observers.memory import MemoryObserver
from .observers.output import OutputObserver
from .observers.parent import ParentObserver
from .observers.retention import RetentionObserver
from .observers.stacks import StacksObserver
from .observers.stuck import StuckObserver
from .observers.system_state import SystemStateObserver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .inbox import Inbox
    from .journal import Journal
    from .observer import Observer

T = TypeVar("T")

_LOOK_S = 0.5
_DEAF_S = 0.02
_SHORT_CELL_S = 0.003
"""So long a message waits between cells: the end of a short cell is read along with its start."""
_READ_AGAIN_S = 0.25
"""Messages are read at least so often, whatever `poll` says."""


class Watcher:
    """One kernel, one recording."""

    def __init__(  # noqa: PLR0917 - they are what one kernel is
        self,
        directory: Path,
        journal: Journal,
        inbox: Inbox | JoinableInbox,
        pidfd: int | None,
        start: dict[str, Any],
        wakes_fd: int | None = None,
    ) -> None:
        """Begin; `wakes_fd` as in `Recorder`."""
        pid, started, boot = start["process"]
        self._watched = Watched(directory, journal, ProcessIdentity(pid, started, boot))
        self._inbox = inbox
        self._pidfd = pidfd
        self._poll = select.poll()
        self._listens = self._has_message = False
        self._read_mono_s = 0.0
        if pidfd is not None:
            self._poll.register(pidfd, select.POLLIN)
        self._off = False
        self.has_ended = False
        """Whether the kernel has; else the recording was switched off, or is handed over."""
        self._deaf_until = 0.0
        self._clock = ClockObserver(self._watched, start["wall_s"] - start["mono_s"])
        self._memory = MemoryObserver(self._watched, start.pop("cgroup", ""))
        stacks = StacksObserver(self._watched, start.pop("interpreter", None), wakes_fd)
        self._wakes_fd, self._woken = stacks.wakes_fd, stacks.woken
        self._poll.register(self._wakes_fd, select.POLLIN)
        self._observers: tuple[Observer, ...] = (
            self._clock,
            self._memory,
            SystemStateObserver(self._watched),
            ChildrenObserver(self._watched),
            KernelLogObserver(self._watched),
            OutputObserver(self._watched),
            ParentObserver(self._watched),
            GpuObserver(self._watched),
            HeldObserver(self._watched),
            stacks,
            StuckObserver(self._watched, stacks),
            CrashObserver(self._watched),
            RetentionObserver(self._watched, start.pop("keep", None)),
        )
        own = {"sidecar": identify(os.getpid()), "namespaces": namespaces(), "ram_bytes": self._memory.ram_bytes}
        own["uid"] = uid_of(pid)
        journal.write({**start, **own})
        for observer in self._observers:
            self._call(observer, observer.heard, start, time.monotonic())
        if wakes_fd is None:
            gc.collect()
            gc.freeze()
        self._reserve = memory_reserve.touch_heap()

    def note(self, event: str, **fields: Any) -> None:
        """Write an event of the sidecar's own."""
        self._watched.note(event, **fields)

    def run(self) -> None:
        """Record until the kernel ends or the user switches the recording off."""
        while not self._off and not self.is_handed_over:
            now = time.monotonic()
            for observer in self._observers:
                if now >= observer.due_mono_s:
                    self._call(observer, observer.turn, now)
            if self._has_message or now - self._read_mono_s >= _READ_AGAIN_S:
                self._drain(now)
            if self._wait(now):
                self._end()
                self.has_ended = True
                break
        if not self.is_handed_over:
            newest_cell.discard(self._watched.directory.name)  # the journal has it

    @property
    def is_handed_over(self) -> bool:
        """Whether the kernel has joined, and another process is to go on."""
        return isinstance(self._inbox, JoinableInbox) and self._inbox.is_handed_over

    def close(self) -> None:
        """Close what was opened to watch; a process that watches many kernels goes on."""
        for observer in self._observers:
            observer.stop()
        self._observers = ()

    def _call(self, observer: Observer, method: Callable[..., T], *arguments: Any) -> T | None:
        """Let an observer work. One that fails is left out from then on: the others record on."""
        try:
            return method(*arguments)
        except Exception:
            self._watched.note("fault", traceback=current_traceback())
            self._observers = tuple(other for other in self._observers if other is not observer)
            return None

    def _wait(self, now: float) -> bool:
        """Wait for something to do or for the kernel's end; return whether it has ended.

        Waking us costs the kernel more than the message itself (some 15 us). So while a cell runs we do not listen for
        a moment after a message but look again ourselves; the messages wait in the socket, and a death wakes us in any
        case. Between cells we listen, so that the next cell is soon on disk, should we be killed along with it; until
        then it is in `recording.newest_cell`.
        """
        until = min((observer.due_mono_s for observer in self._observers), default=now + _LOOK_S)
        deaf = now < self._deaf_until
        if deaf:
            until = min(until, self._deaf_until)
        self._listen(not deaf and self._inbox.is_open)
        seconds = max(0.0, until - now)
        if self._pidfd is None:
            seconds = min(seconds, _LOOK_S)
        ready = dict(self._poll.poll(math.ceil(seconds * 1000)))
        if self._wakes_fd in ready:
            os.read(self._wakes_fd, 64)
            self._woken()
        self._has_message = not self._listens or self._inbox.fileno() in ready
        if self._listens and self._has_message and not self._watched.is_busy:
            self._has_message, self._deaf_until = False, time.monotonic() + _SHORT_CELL_S
        return self._pidfd in ready if self._pidfd is not None else not is_alive(self._watched.kernel)

    def _listen(self, listens: bool) -> None:
        if listens and not self._listens:
            self._poll.register(self._inbox.fileno(), select.POLLIN)
        elif self._listens and not listens:
            self._poll.unregister(self._inbox.fileno())
        self._listens = listens

    def _drain(self, now: float) -> None:
        has_heard, self._read_mono_s = False, now
        for event in self._inbox.messages():
            has_heard = True
            kind = event["event"]
            if kind == "off":
                self._watched.journal.begin_end()
            self._watched.journal.write_received({**event, "wall_s": event.get("mono_s", now) + self._clock.offset_s})
            if kind == "off":
                self._off = True
            elif kind == "cell_start":
                beside = event.get("beside", ())
                self._watched.running = [seq for seq in self._watched.running if seq in beside] + [event["seq"]]
            elif kind in ("cell_end", "cell_withdrawn"):
                self._watched.running = [seq for seq in self._watched.running if seq != event["seq"]]
            for observer in self._observers:
                self._call(observer, observer.heard, event, now)
        if has_heard:
            self._deaf_until = now + _DEAF_S if self._watched.is_busy else now

    def _end(self) -> None:
        kernel, stamps = self._watched.kernel, {"mono_s": time.monotonic(), "wall_s": time.time()}
        status = exit_status(kernel.pid, kernel.start, self._pidfd)
        # What ended the kernel may end us next, some 20 ms later: what matters most is written first.
        self._watched.note(
            "end_begun", **stamps, **status._asdict(), **(self._call(self._memory, self._memory.at_end) or {})
        )
        self._drain(time.monotonic())  # what the kernel said last comes first: an observer may need it for its own
        self._watched.journal.begin_end()
        fields: dict[str, Any] = {}
        for observer in self._observers:
            fields |= self._call(observer, observer.at_end) or {}
        lost = self._watched.journal.lost + self._memory.lost
        self._watched.journal.write_end({"event": "end", **stamps, **status._asdict(), **fields, "lost": lost})
        self._inbox.tell(b'{"event":"end"}')  # the server need not wait until Jupyter looks
        self._watched.journal.sync()
        self._release_crash_file()

    def _release_crash_file(self) -> None:
        """The kernel took room in it, and is gone."""
        try:
            descriptor = open_file(self._watched.directory / CRASH, os.O_WRONLY)
        except OSError:
            return  # it has none, or it was deleted
        release(descriptor)
        os.close(descriptor)
