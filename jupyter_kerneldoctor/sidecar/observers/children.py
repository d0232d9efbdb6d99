"""Observes the processes below the kernel: how much memory they hold together, and which of them end badly."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Any

from ...recording.processes import ProcessIdentity, boot_id, is_alive, stat_fields
from ..exit_status import ExitStatus, exit_status
from ..meters.descendants import Descendants, memory, proportional_bytes
from ..meters.pace import Pace
from ..observer import Observer

if TYPE_CHECKING:
    from ..meters.descendants import Found
    from ..observer import Watched

_SHARE = 0.001
_THOROUGH_SHARE = 0.0003
_LOOK_S = 0.15
_LOOK_AT_LAST_S = 0.5
_THOROUGH_S = 1.0
_IDLE_S = 5.0
_TREE_S = 1.0
_TREE_AGAIN_S = 10.0
_SMALL_STEP = 0.01
_KILLS_LAST_S = 10.0
_MOST_EVENTS = 200
_MOST_PIDFDS = 128

_ASKED_TO_END = frozenset(("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"))


class Process:
    """One process below the kernel. Its pidfd (pidfd_open(2)) tells how it ended even when it is gone."""

    def __init__(self, found: Found, started_ticks: int, pidfd: int | None) -> None:
        self.pid = found.pid
        self.parent = found.parent
        self.started_ticks = started_ticks
        self.pidfd = pidfd
        self.name = ""
        self.rss_bytes = 0
        self.peak_bytes = 0

    def measure(self) -> None:
        """Read its memory, and its name, which changes when it executes another program."""
        found = memory(self.pid)
        if found is not None:
            self.name, self.rss_bytes = found.name, found.rss_bytes
            self.peak_bytes = max(self.peak_bytes, found.peak_bytes)

    def has_ended(self) -> bool:
        """Return whether it has ended, also when it is a zombie or its id is in use again."""
        return not is_alive(ProcessIdentity(self.pid, self.started_ticks, boot_id()))


class ChildrenObserver(Observer):
    """Looks after each sample, if a process was started on the machine or some were known before."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._descendants = Descendants()
        self._known: dict[int, Process] = {}
        self._ended_before: set[tuple[int, int]] = set()
        self._pidfds = select.poll()
        self._events_left = _MOST_EVENTS
        self._oom_kills: int | None = None
        self._kills_pending = 0
        self._kills_until_mono_s = 0.0
        self._look_pace, self._idle_pace = Pace(_SHARE, _LOOK_S, _LOOK_AT_LAST_S), Pace(_SHARE, _IDLE_S)
        self._thorough_pace = Pace(_THOROUGH_SHARE, _THOROUGH_S)
        self._is_incomplete = False
        self._tree_pace = Pace(_SHARE, _TREE_S)
        self._tree = _Tree()
        watched.after_sample.append(self._after_sample)

    def at_end(self) -> dict[str, Any]:
        """Note those that ended before the kernel, but not those that were ended together with it."""
        self._count_kills(time.monotonic())
        for process, status in self._ended():
            if status.signal not in _ASKED_TO_END or self._kills_pending:
                self._note(process, status)
        return {}

    def stop(self) -> None:
        """Let the processes go."""
        while self._known:
            self._forget(self._known.popitem()[1])

    def _after_sample(self, now_mono_s: float) -> None:
        self._count_kills(now_mono_s)
        ended = self._ended()
        for process, status in ended:
            self._note(process, status)
        pace = self._look_pace if self._watched.is_busy else self._idle_pace
        looks = pace.allows(now_mono_s)
        if looks:
            with pace:
                self._find(now_mono_s)
                for process in self._known.values():
                    process.measure()
        if looks or ended:
            self._watched.children = list(self._known)
            self._measure_tree(now_mono_s)

    def _find(self, now_mono_s: float) -> None:
        """Find new ones, if any process was started since the last thorough look.

        One that ended before it was seen alive is a zombie until its parent asks for its exit status.
        """
        if not self._descendants.may_have_changed() and not self._is_incomplete:
            return
        self._is_incomplete = not self._thorough_pace.allows(now_mono_s)
        roots = [self._watched.kernel.pid, *self._known]
        if self._is_incomplete:
            found = self._descendants.walk(roots, thorough=False)
        else:
            with self._thorough_pace:
                found = self._descendants.walk(roots, thorough=True)
        met = set()
        for each in found:
            fields = stat_fields(each.pid)
            if fields is None:
                continue
            identity = (each.pid, int(fields[19]))
            met.add(identity)
            if identity in self._ended_before:
                continue
            process = Process(each, identity[1], self._pidfd(each.pid))
            if fields[0] == "Z":
                self._ended_before.add(identity)
                self._note(process, exit_status(each.pid, process.started_ticks, process.pidfd))
                self._forget(process)
            else:
                self._known[each.pid] = process
        if not self._is_incomplete:  # what a thorough look no longer finds cannot come back
            self._ended_before &= met

    def _pidfd(self, pid: int) -> int | None:
        if sum(process.pidfd is not None for process in self._known.values()) >= _MOST_PIDFDS:
            return None
        try:
            pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):
            return None
        self._pidfds.register(pidfd, select.POLLIN)
        return pidfd

    def _ended(self) -> list[tuple[Process, ExitStatus]]:
        """Return those that have ended, each with its status, and forget them."""
        ready = dict(self._pidfds.poll(0)) if self._known else {}
        ended = []
        for process in list(self._known.values()):
            if process.pidfd in ready if process.pidfd is not None else process.has_ended():
                ended.append((process, exit_status(process.pid, process.started_ticks, process.pidfd)))
                self._ended_before.add((process.pid, process.started_ticks))
                del self._known[process.pid]
                self._forget(process)
        return ended

    def _forget(self, process: Process) -> None:
        if process.pidfd is not None:
            self._pidfds.unregister(process.pidfd)
            os.close(process.pidfd)

    def _count_kills(self, now_mono_s: float) -> None:
        """Count the memory kills in the kernel's control group. The counter rises a little before a process ends."""
        groups = self._watched.groups
        kills = groups[0]["oom_kills"] if groups else None
        if now_mono_s > self._kills_until_mono_s:
            self._kills_pending = 0
        if kills is not None and self._oom_kills is not None and kills > self._oom_kills:
            self._kills_pending += kills - self._oom_kills
            self._kills_until_mono_s = now_mono_s + _KILLS_LAST_S
        self._oom_kills = kills if kills is not None else self._oom_kills

    def _note(self, process: Process, status: ExitStatus) -> None:
        killed = self._kills_pending if status.kind == "unknown" or status.signal == "SIGKILL" else 0
        is_notable = status.kind == "signal" or status.exit_code or killed
        if not is_notable or self._events_left <= 0:
            return
        self._events_left -= 1
        self._kills_pending -= 1 if killed else 0
        self._watched.note(
            "child_end",
            pid=process.pid,
            name=process.name or None,
            parent_pid=process.parent,
            started_mono_s=_mono_s(process.started_ticks),
            **status._asdict(),
            peak_bytes=process.peak_bytes or None,
            oom_kills=killed,
        )

    def _measure_tree(self, now_mono_s: float) -> None:
        sample = self._watched.sample
        if not self._known or sample is None or sample.rss_bytes is None:
            self._watched.tree_bytes, self._watched.children_bytes = None, 0
            return
        resident = {self._watched.kernel.pid: sample.rss_bytes}
        resident.update({process.pid: process.rss_bytes for process in self._known.values()})
        if self._tree_pace.allows(now_mono_s) and self._tree.is_stale(resident, now_mono_s):
            with self._tree_pace:
                self._tree.measure(resident, now_mono_s)
        self._watched.tree_bytes = self._tree.bytes(resident)
        self._watched.children_bytes = max(0, self._watched.tree_bytes - sample.rss_bytes)


class _Tree:
    """The memory of several processes: the sum of their PSS when last read, plus the change of their RSS since."""

    def __init__(self) -> None:
        self._pss_bytes = 0
        self._resident: dict[int, int] = {}
        self._measured_mono_s = 0.0

    def is_stale(self, resident: dict[int, int], now_mono_s: float) -> bool:
        """Return whether processes or memory have changed, or writes may have copied shared pages meanwhile."""
        before, now = sum(self._resident.values()), sum(resident.values())
        return (
            resident.keys() != self._resident.keys()
            or abs(now - before) > _SMALL_STEP * before
            or now_mono_s - self._measured_mono_s > _TREE_AGAIN_S
        )

    def measure(self, resident: dict[int, int], now_mono_s: float) -> None:
        """Read the PSS of each; take its RSS where that cannot be read, as of another user's process."""
        self._pss_bytes = sum(rss if (pss := proportional_bytes(pid)) is None else pss for pid, rss in resident.items())
        self._resident, self._measured_mono_s = resident, now_mono_s

    def bytes(self, resident: dict[int, int]) -> int:
        """Return their memory now. A process that was started since counts only with its growth."""
        growth = sum(rss - self._resident.get(pid, rss) for pid, rss in resident.items())
        gone = sum(rss for pid, rss in self._resident.items() if pid not in resident)
        return max(self._pss_bytes + growth - gone, *resident.values())


def _mono_s(ticks: int) -> float:
    """Convert a start time, which counts from boot and includes suspended time, to the monotonic clock."""
    asleep_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    return round(ticks / os.sysconf("SC_CLK_TCK") - asleep_s, 2)
