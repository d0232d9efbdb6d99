"""Finds the statements that a cell is in while memory grows or nears a limit: reads the kernel's stack."""

from __future__ import annotations

import math
import os
import signal
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...recording.layout import ASKED
from ...recording.private_files import is_own
from ...recording.token_bucket import TokenBucket
from ..meters.pace import Pace
from ..meters.process import ProcessMeter
from ..observer import Observer
from ..stacks.growth import STEP_BYTES, Growth, Statement, user_statement
from ..stacks.memory import UnreadableError
from ..stacks.read_schedule import ReadSchedule
from ..stacks.snapshot import Stacks, child_states, threads_without_stacks
from ..stacks.stack_access import StackAccess

if TYPE_CHECKING:
    from ..observer import Watched

_STALLED_S = 1.0
"""Where the memory limit is reached and nobody is killed, reading would wait for memory for ever."""

_MOST_EVENTS = 300
_APART_S = ((8, 0.0), (60, 0.25), (120, 1.0), (_MOST_EVENTS, 10.0))
"""The time between two events, up to a number of events: so a day near a limit stays small."""

_GROWTH_SHARE = 0.002
"""Of a processor, for reading stacks while memory grows far from a limit: some five times a second."""
_GROWTH_SAVED_S = 0.01
_GROWTH_EVENTS, _GROWTH_REFILL_S = 60, 120.0
"""How many events about growth there may be at once, and how soon another, so that a day stays small."""


class StacksObserver(Observer):
    """Reads the main thread's stack when the schedule says so, and charges what grows to the statement that runs."""

    def __init__(self, watched: Watched, interpreter: object = None, wakes_fd: int | None = None) -> None:
        """Watch a kernel; `interpreter` is what the server, if it started the kernel, resolved (`privileges.File`).

        `wakes_fd` is readable when somebody may have asked in a process that watches many kernels.
        """
        self._watched = watched
        self._process = ProcessMeter(watched.kernel.pid)
        self._schedule = ReadSchedule(watched)
        self._access = StackAccess(watched, interpreter, is_shared=wakes_fd is not None)
        self._asked = False
        self._due_mono_s = math.inf
        self._newest: dict[str, Any] | None = None
        self._written: dict[str, Any] | None = None
        self._events = 0
        self._growth: Growth | None = None
        self._other_statement: Statement = ()
        self._growth_pace = Pace(_GROWTH_SHARE, 0.0, saved_s=_GROWTH_SAVED_S)
        self._growth_events = TokenBucket(_GROWTH_EVENTS, _GROWTH_REFILL_S)
        self._is_shared = wakes_fd is not None
        self.wakes_fd = self._listen() if wakes_fd is None else wakes_fd
        """A descriptor that becomes readable when somebody asks; the loop empties it, and calls `woken`."""

    @property
    def stacks(self) -> Stacks | None:
        """None while stacks cannot be read, or not yet."""
        return self._access.stacks

    @property
    def due_mono_s(self) -> float:
        """When it wants its next turn: at once when somebody asks, whatever a turn that was on its way then says.

        As long as stacks are yet to be opened, when that goes on.
        """
        return 0.0 if self._asked else self._due_mono_s if self._access.due_mono_s is None else self._access.due_mono_s

    @due_mono_s.setter
    def due_mono_s(self, mono_s: float) -> None:
        self._due_mono_s = mono_s

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Begin the discovery when the start event asks for stacks; check often once a cell has started."""
        kind = event["event"]
        if kind == "start":
            self._access.on_start(event, now_mono_s)
        elif kind == "cell_start":
            self._newest, self._other_statement = None, ()
            rss = event.get("rss_before_bytes")
            self._growth = Growth(
                event.get("seq"), self._level(rss if type(rss) is int else self._process.rss_bytes() or 0)
            )
            self._access.hurry(now_mono_s)
            if self.stacks is not None:
                self.stacks.forget()
                self._schedule.begin()
                self.due_mono_s = now_mono_s + self._schedule.wait_s
        elif kind == "cell_end":
            self._newest = None
            self._write_growth(now_mono_s, over=True)
            self._growth = None
            if not self._watched.is_busy:
                self.due_mono_s = math.inf

    def turn(self, now_mono_s: float) -> None:
        """Answer who asked; continue the discovery; read the stack if it is time."""
        self.due_mono_s = math.inf
        if self._asked:
            self._answer()
        if (due_mono_s := self._access.due_mono_s) is not None:
            if now_mono_s >= due_mono_s and self._access.advance(now_mono_s):
                self._begin(now_mono_s)
        elif self._watched.under_oom:
            self.due_mono_s = now_mono_s + _STALLED_S
        elif self.stacks is not None and self._watched.is_busy:
            rss = self._process.rss_bytes()
            reason = self._schedule.check(now_mono_s, rss)
            if reason is not None:
                frames = self._read(reason)
            else:
                frames = self._glance() if self._schedule.needs_glance else None
            if rss is not None:
                self._charge(now_mono_s, rss, frames)
            self.due_mono_s = now_mono_s + self._schedule.wait_s

    def at_end(self) -> dict[str, Any]:
        """Write the last stack that was read while the cell was running."""
        if self._newest is not None and self._newest is not self._written:
            self._write({**self._newest, "reason": "end"})
        self._write_growth(time.monotonic(), over=True, at_end=True)
        return {}

    def stop(self) -> None:
        """Close the kernel's memory."""
        self._access.close()

    def woken(self) -> None:
        """See whether this kernel was meant: of many, the one in whose directory the request is."""
        if not self._is_shared:
            return
        path = self._watched.directory / ASKED
        with suppress(OSError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and is_own(status):
                os.unlink(path)
                self._asked = True

    def threads(self) -> list[dict[str, Any]]:
        """Return all threads of the kernel but ours, with their stacks where these can be read."""
        pid = self._watched.kernel.pid
        threads = threads_without_stacks(pid) if self.stacks is None else self.stacks.threads()
        return [thread for thread in threads if thread["thread_id"] != self._watched.look_thread]

    def _begin(self, now: float) -> None:
        """Begin to read: stacks have just been opened."""
        self._schedule.begin()
        if self._growth is not None:
            self._growth.charge(self._level(self._process.rss_bytes() or 0), ())
        self.due_mono_s = now if self._watched.is_busy else math.inf

    def _read(self, reason: str) -> list[dict[str, Any]] | None:
        assert self.stacks is not None
        now = time.monotonic()
        try:
            frames = self.stacks.main()
        except UnreadableError:
            return None
        self._keep(now, reason, frames)
        return frames

    def _glance(self) -> list[dict[str, Any]] | None:
        """Check between two readings whether the cell has gone on to another line."""
        assert self.stacks is not None
        now = time.monotonic()
        frames = self.stacks.glance()
        if frames is not None and self._newest is not None:
            self._keep(now, self._newest["reason"], frames)
        return frames

    def _charge(self, now: float, rss_bytes: int, frames: list[dict[str, Any]] | None) -> None:
        """Charge what has grown to the statement that runs; `frames` if they were read just now."""
        assert self.stacks is not None
        level = self._level(rss_bytes)
        if self._growth is None or (grown := self._growth.waiting(level)) < STEP_BYTES:
            return
        if frames is None and not self._growth_pace.allows(now):
            return
        with self._growth_pace:
            try:
                frames = frames or self.stacks.glance() or self.stacks.main()
            except UnreadableError:
                return
            self._growth.charge(level, self._growing_statement(grown) or user_statement(frames))
        self._write_growth(now, over=False)

    def _growing_statement(self, grown_bytes: int) -> Statement:
        """Return the statement of the thread that grows, if it is not the main one; of one between two tasks the last.

        Threads of a pool wait for the GIL outside of the user's code as often as within.
        """
        assert self.stacks is not None
        is_between = False
        for frames in self.stacks.of_other_threads(grown_bytes):
            if statement := user_statement(frames, main=False):
                self._other_statement = statement
                return statement
            is_between = True
        return self._other_statement if is_between else ()

    def _level(self, rss_bytes: int) -> int:
        return rss_bytes + self._watched.children_bytes

    def _write_growth(self, now: float, *, over: bool, at_end: bool = False) -> None:
        fields = None if self._growth is None else self._growth.event(now, over=over)
        if fields is not None and (at_end or self._growth_events.take(now)):
            self._watched.note("growth", **fields)

    def _keep(self, now: float, reason: str, frames: list[dict[str, Any]]) -> None:
        thread = {"frames": frames, "thread_id": self._watched.kernel.pid, "main": True}
        self._newest = {"mono_s": now, "wall_s": time.time(), "reason": reason, "threads": [thread]}
        if self._may_write(now):
            self._write(self._newest)
            self._written = self._newest

    def _may_write(self, now: float) -> bool:
        """Return whether to write the newest stack: only a new one, and less and less often."""
        assert self._newest is not None
        if self._written is not None and self._written["threads"] == self._newest["threads"]:
            return False
        if self._written is None:
            return True
        apart = next((apart for most, apart in _APART_S if self._events < most), math.inf)
        return bool(now - self._written["mono_s"] >= apart)

    def _write(self, stack: dict[str, Any]) -> None:
        self._events += 1
        self._watched.note("stack", **stack)

    def _listen(self) -> int:
        """Handle SIGUSR1 from now on; return a descriptor that becomes readable with each."""
        reads, writes = os.pipe()
        for end in (reads, writes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGUSR1, self._ask)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        return reads

    def _ask(self, *_: object) -> None:
        self._asked = True

    def _answer(self) -> None:
        self._asked = False
        now = time.monotonic()
        below = child_states(self._watched.kernel.pid, self.stacks)
        self._watched.note("stack", mono_s=now, reason="asked", threads=self.threads(), children=below)
