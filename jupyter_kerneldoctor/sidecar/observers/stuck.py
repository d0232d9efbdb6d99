"""Observes a cell that runs and does nothing: what each thread and each child process waits for."""

from __future__ import annotations

import itertools
import math
import os
import time
from typing import TYPE_CHECKING, Any

from ...recording.processes import stat_fields
from ...recording.token_bucket import TokenBucket
from ...recording.user_files import is_cell_file
from ..observer import Observer
from ..stacks.memory import UnreadableError
from ..stacks.snapshot import child_states, descendants, thread_facts
from ..stacks.system_calls import open_lock_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..observer import Watched
    from ..stacks.snapshot import Stacks
    from .stacks import StacksObserver

_LOOK_S = 1.0
_FIRST_LOOK_S = 0.1
"""Most cells are over by then."""
_STUCK_S = 10.0
_REPEAT_S = 60.0
_SLOWER = 2.0
_MOST_EVENTS = 60

_IDLE_SHARE = 0.04
_IDLE_S = 0.05
"""A kernel that waits still uses some CPU time: this share, and a few clock ticks.

IPython looks 20 times a second at the program of a `!` line, which takes 2 % of a core on a busy machine.
"""

_THRASHING_FAULTS_PER_S = 200.0
"""Major page faults, each of which waits for a disk. Starting a program, or reading a mapped file, causes fewer."""

_BUSY_AFTER_S, _BUSY_AGAIN_S, _BUSY_SLOWER = 10.0, (4.0, 4.0, 8.0), 1.5
_BUSY_EVENTS, _BUSY_REFILL_S = 20, 300.0
"""What a cell at work does is recorded after 10, 14 and 18 s, which tells a loop from a long step, and then less and
less often; so a day of long cells stays small."""

_GLANCES, _GLANCES_APART_S, _MOST_LINES = 40, 0.0003, 12
"""The rounds of a loop that lie between so many glances are counted: of 20 ms, in which nothing else is done."""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class StuckObserver(Observer):
    """Checks every second while a cell runs; records a stuck one again after a minute, then less and less often."""

    def __init__(self, watched: Watched, stacks: StacksObserver) -> None:
        self._watched = watched
        self._stacks = stacks
        self._has_begun = False
        self._since = 0.0
        self._cpu_s = 0.0
        self._faults = 0
        self._recorded_mono_s: float | None = None
        self._repeat_s = _REPEAT_S
        self._events = 0
        self._busy_due_mono_s = math.inf
        self._busy_apart_s = _busy_apart_s()
        self._busy_events = TokenBucket(_BUSY_EVENTS, _BUSY_REFILL_S)

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Begin anew when a cell starts or ends: only a running cell can be stuck."""
        if event["event"] == "cell_start":
            self._busy_due_mono_s, self._busy_apart_s = now_mono_s + _BUSY_AFTER_S, _busy_apart_s()
        elif event["event"] == "cell_end":
            self._record_end(now_mono_s)
        else:
            return
        self._has_begun = False
        self.due_mono_s = now_mono_s + _FIRST_LOOK_S if self._watched.is_busy else math.inf

    def turn(self, now_mono_s: float) -> None:
        """Compare the CPU time with what it was when the cell last did something."""
        if not self._watched.is_busy:
            self.due_mono_s = math.inf
            return
        self.due_mono_s = now_mono_s + _LOOK_S
        if not self._has_begun:
            self._begin(now_mono_s)
            return
        fields = stat_fields(self._watched.kernel.pid)
        if fields is None:
            return
        lasted_s = now_mono_s - self._since
        faults_per_s = (int(fields[9]) - self._faults) / lasted_s if lasted_s > 0 else 0.0
        thrashes = faults_per_s >= _THRASHING_FAULTS_PER_S
        if not thrashes and not self._watched.under_oom and self._works(fields, lasted_s):
            self._record_end(now_mono_s)
            self._begin(now_mono_s)
            if now_mono_s >= self._busy_due_mono_s:
                self._record_busy(now_mono_s)
        elif lasted_s >= _STUCK_S and self._is_due(now_mono_s):
            self._record(now_mono_s, round(faults_per_s, 1))

    def _works(self, fields: list[str], lasted_s: float) -> bool:
        allowed = _IDLE_S + _IDLE_SHARE * lasted_s
        if fields[0] == "R" or _cpu_s(fields) - self._cpu_s > allowed:
            return True
        return _cpu_s(fields) + self._cpu_of_children() - self._cpu_s > allowed

    def _begin(self, now: float) -> None:
        fields = stat_fields(self._watched.kernel.pid)
        self._has_begun, self._since = True, now
        self._cpu_s = 0.0 if fields is None else _cpu_s(fields) + self._cpu_of_children()
        self._faults = 0 if fields is None else int(fields[9])
        self._recorded_mono_s = None
        self._repeat_s = _REPEAT_S

    def _cpu_of_children(self) -> float:
        found = (stat_fields(child) for child, _ in descendants(self._watched.kernel.pid))
        return sum(_cpu_s(fields) for fields in found if fields is not None)

    def _is_due(self, now: float) -> bool:
        if self._events >= _MOST_EVENTS:
            return False
        return self._recorded_mono_s is None or now - self._recorded_mono_s >= self._repeat_s

    def _record(self, now: float, faults_per_s: float) -> None:
        if self._recorded_mono_s is not None:
            self._repeat_s *= _SLOWER
        self._recorded_mono_s = now
        self._events += 1
        threads = self._stacks.threads()
        sleeps = bool(threads) and "nanosleep" in (threads[0]["waits_in"] or "")
        self._watched.note(
            "stuck",
            mono_s=time.monotonic(),
            since_mono_s=self._since,
            threads=threads,
            lock_files=open_lock_files(self._watched.kernel.pid) if sleeps else None,
            children=child_states(self._watched.kernel.pid, self._stacks.stacks),
            faults_per_s=faults_per_s,
        )
        self._watched.record_system_state("stuck")

    def _record_busy(self, now: float) -> None:
        """Record what the thread that runs the cells is at, though the cell does something."""
        stacks = self._stacks.stacks
        try:
            frames = None if stacks is None else stacks.main()
        except UnreadableError:
            return  # it was changing: at the next turn
        self._busy_due_mono_s = now + next(self._busy_apart_s)
        if frames is None or not self._busy_events.take(now):
            return
        pid = self._watched.kernel.pid
        thread = {**thread_facts(pid, pid), "main": True, "frames": frames}
        below = child_states(pid, None)
        facts = {"threads": [thread], "children": below, **(glances(stacks) if stacks is not None else {})}
        self._watched.note("stack", mono_s=now, reason="busy", **facts)

    def _record_end(self, now: float) -> None:
        if self._recorded_mono_s is not None:
            self._watched.note("stuck", mono_s=now, since_mono_s=self._since, over=True)
            self._recorded_mono_s = None


def _busy_apart_s() -> Iterator[float]:
    """Yield the times between the records of what a cell at work does."""
    yield from _BUSY_AGAIN_S
    yield from (_BUSY_AGAIN_S[-1] * _BUSY_SLOWER**number for number in itertools.count(1))


def glances(stacks: Stacks) -> dict[str, Any]:
    """Return at which lines the functions of the cells are, again and again within a few hundredths of a second."""
    begun, found = time.monotonic(), list[list[int | None]]()
    for _ in range(_GLANCES):
        time.sleep(_GLANCES_APART_S)
        frames = reversed(stacks.glance() or ())
        found.append([one["line"] for one in frames if is_cell_file(one["file"])])
    lines = [one for one in found if 0 < len(one) <= _MOST_LINES and None not in one]
    return {"glances": lines, "glances_s": round(time.monotonic() - begun, 4)}


def _cpu_s(fields: list[str]) -> float:
    """CPU time of a process and of its children that have ended (proc_pid_stat(5), fields 14 to 17)."""
    return sum(int(ticks) for ticks in fields[11:15]) * _TICK_S
