"""The sidecar's loop: it waits for messages, for the next sample, and for the death.

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
from typing import Any

from ..recording.journal import JsonLines
from ..recording.layout import JOURNAL
from ..recording.processes import ProcessIdentity, identify, is_alive
from ..recording.retention import Policy, tidy
from ..recording.samples import SampleWriter
from .exit_status import exit_status
from .inbox import Inbox
from .meters.cgroup import deltas
from .sampler import Sampler

_LOOK_S = 0.5
_DEAF_S = 0.05
_REFRESH_S = 5.0
_CLOCK_JUMP_S = 1.0


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
        journal.write(_stamped({"event": "fault", "traceback": traceback.format_exc()}))
        raise


class Watcher:
    """One kernel, one recording."""

    def __init__(
        self, directory: Path, journal: JsonLines, inbox: Inbox, pidfd: int | None, start: dict[str, Any]
    ) -> None:
        pid, started, boot = start["process"]
        self._kernel = ProcessIdentity(pid, started, boot)
        self._journal = journal
        self._inbox = inbox
        self._pidfd = pidfd
        self._poll = select.poll()
        self._listens = False
        if pidfd is not None:
            self._poll.register(pidfd, select.POLLIN)
        self._samples = SampleWriter(directory)
        self._sampler = Sampler(pid)
        self._off = False
        self._cell_runs = False
        self._due = 0.0
        self._refresh_at = 0.0
        self._deaf_until = 0.0
        self._limits: list[dict[str, Any]] = []
        self._clock_offset_s: float = start["wall_s"] - start["mono_s"]
        journal.write({**start, "sidecar": identify(os.getpid()), "ram_bytes": self._sampler.ram_bytes()})
        tidy(directory.parent, Policy())
        gc.collect()
        gc.freeze()

    def run(self) -> None:
        """Record until the kernel ends or the user switches the recording off."""
        while not self._off:
            now = time.monotonic()
            if now >= self._refresh_at:
                self._refresh(now)
            if now >= self._due:
                self._sample(now)
            self._drain(now)
            if self._wait(now):
                self._end()
                return

    def _wait(self, now: float) -> bool:
        """Wait for something to do or for the kernel's end; return whether it has ended.

        Waking us costs the kernel more than the message itself (some 15 us). So after a message we do not listen for
        a while but look again ourselves; the messages wait in the socket, and a death wakes us in any case.
        """
        until = min(self._due, self._refresh_at)
        deaf = now < self._deaf_until
        if deaf:
            until = min(until, self._deaf_until)
        self._listen(not deaf and self._inbox.is_open)
        seconds = max(0.0, until - now)
        if self._pidfd is None:
            seconds = min(seconds, _LOOK_S)
        ready = dict(self._poll.poll(math.ceil(seconds * 1000)))
        return self._pidfd in ready if self._pidfd is not None else not is_alive(self._kernel)

    def _listen(self, listens: bool) -> None:
        if listens and not self._listens:
            self._poll.register(self._inbox.fileno(), select.POLLIN)
        elif self._listens and not listens:
            self._poll.unregister(self._inbox.fileno())
        self._listens = listens

    def _drain(self, now: float) -> None:
        for event in self._inbox.messages():
            self._deaf_until = now + _DEAF_S
            self._journal.write({**event, "wall_s": event.get("mono_s", now) + self._clock_offset_s})
            kind = event["event"]
            if kind == "off":
                self._off = True
            elif kind in ("cell_start", "cell_end"):
                self._cell_runs = kind == "cell_start"
                if self._cell_runs:
                    self._due = min(self._due, now + self._sampler.hurry())

    def _sample(self, now: float) -> None:
        sample = self._sampler.sample(now)
        if sample is not None:
            self._samples.write(sample)
        self._due = now + self._sampler.wait_s(sample, busy=self._cell_runs)

    def _refresh(self, now: float) -> None:
        """What changes seldom: the limits, and the wall clock's distance from the monotonic one."""
        self._refresh_at = now + _REFRESH_S
        limits = self._sampler.limits()
        if limits != self._limits:
            self._limits = limits
            self._journal.write(_stamped({"event": "limits", "limits": limits}))
        offset = time.time() - now
        if abs(offset - self._clock_offset_s) > _CLOCK_JUMP_S:  # the clock was set, or the machine slept
            self._clock_offset_s = offset
            self._journal.write(_stamped({"event": "clock"}))

    def _end(self) -> None:
        status = exit_status(self._kernel.pid, self._pidfd)
        groups = deltas(self._sampler.groups, self._sampler.cgroup.snapshot())
        self._drain(time.monotonic())  # what the kernel said last is older than its end
        lost = self._journal.lost + self._samples.lost
        self._journal.write(_stamped({"event": "end", **status._asdict(), "cgroups": groups, "lost": lost}))
        self._journal.sync()


def _stamped(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "mono_s": time.monotonic(), "wall_s": time.time()}
