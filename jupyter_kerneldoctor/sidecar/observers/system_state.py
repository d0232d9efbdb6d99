"""Observes the limits of the process and the state of the machine (event `surroundings`).

It reads everything when a cell has run for a moment, then less and less often, at least every 5 s, and once a minute
while nothing runs. What can change at once (free space, threads, address space, CPU time) it reads after a sample.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..meters.cgroup_membership import Membership
from ..meters.filesystems import is_full
from ..meters.host import HostMeter, PressureMeter, cpu_flags
from ..meters.neighbours import neighbours
from ..meters.pace import Pace
from ..meters.pids import PidsMeter
from ..meters.process_limits import ProcessLimitsMeter
from ..meters.procfs import read_file
from ..meters.storage import StorageMeter
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_FIRST_S = 0.1
_SLOWER = 2.0
_AFTER_CELLS_S = 1.0
"""Between two readings that come after short cells."""
_BUSY_S = 5.0
_IDLE_S = 60.0
_PROCESS_S = 1.0
_BUSY_CPU_S = 0.1
_SHARE = 0.001
_SAVED_S = 0.05  # a dozen readings: the first cells of a notebook import, open and map the most
_TMP = "/tmp"  # noqa: S108 - the default of Python for temporary files; only looked at

_WITH_NEIGHBOURS = ("incident", "stuck")

_ENVIRONMENT_BYTES = 1 << 20
_CHANGES = 100
_CHANGE_GAP_S = 5.0
_OTHERS = 50
"""The most events of each reason: a journal must not grow by what keeps changing."""


class SystemStateObserver(Observer):
    """Writes an event at the start, when something notable has changed, when asked, and at the end."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        pid = watched.kernel.pid
        environment = _environment(pid)
        self._process = ProcessLimitsMeter(pid)
        self._host = HostMeter()
        self._storage = StorageMeter(pid, (environment or {}).get("TMPDIR") or _TMP)
        self._membership = Membership(pid)
        self._membership.has_changed()
        self._pids, self._pressure = self._find_groups()
        self._never_changes = {"display": _display(environment), "cpu_flags": cpu_flags()}
        self._rlimits: dict[str, Any] = {}
        self._amounts: dict[str, Any] = {}
        self._written: Any = None
        self._left = {"changed": _CHANGES}
        self._change_after_mono_s = 0.0
        self._process_after_mono_s = 0.0
        self._busy_cpu_s = 0.0
        self._wait_s = _FIRST_S
        self._next_idle_mono_s = 0.0
        self._pace = Pace(_SHARE, 0.0, saved_s=_SAVED_S)
        self.due_mono_s = 0.0
        watched.after_sample.append(self._after_sample)
        watched.record_system_state = self.write

    def turn(self, now_mono_s: float) -> None:
        """Read everything; write the first time, and when something notable has changed."""
        self._next_idle_mono_s = now_mono_s + _AFTER_CELLS_S
        with self._pace:
            self._look(now_mono_s)
            notable = self._notable()
            if self._written is None:
                self.write("start")
            elif notable != self._written and now_mono_s >= self._change_after_mono_s:
                self._change_after_mono_s = now_mono_s + _CHANGE_GAP_S
                self.write("changed")
        self.due_mono_s = max(now_mono_s + self._next_wait_s(), self._pace.next_mono_s)

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Read soon after a cell starts or ends, and at once for an incident: it may be about what is short."""
        kind = event["event"]
        if kind in ("cell_start", "cell_end"):
            self._wait_s = _FIRST_S
            self.due_mono_s = min(self.due_mono_s, max(now_mono_s + _FIRST_S, self._pace.next_mono_s))
            if not self._watched.is_busy:
                self.due_mono_s = max(self.due_mono_s, self._next_idle_mono_s)
        elif kind == "incident":
            self._look(now_mono_s)
            self.write("incident")

    def write(self, when: str) -> None:
        """Write the present state, a limited number of times for each reason. A failed write does not count."""
        left = self._left.get(when, _OTHERS)
        asked = {"neighbours": self._neighbours()} if when in _WITH_NEIGHBOURS else {}
        if left > 0 and self._note(when, self._storage.filesystems(), **asked):
            self._left[when] = left - 1
            self._written = self._notable()

    def at_end(self) -> dict[str, Any]:
        """Write the state just before the death, and what can still be read."""
        self._amounts.update(self._process.amounts())
        self._note("end", self._storage.filesystems(lowest=True), neighbours=self._neighbours())
        return {}

    def _after_sample(self, now_mono_s: float) -> None:
        """Read what changes quickly while a cell runs, or while the process uses CPU time without one."""
        if not self._watched.is_busy:
            self._read_cpu(now_mono_s)
            return
        self._storage.watch(now_mono_s)
        if now_mono_s >= self._process_after_mono_s:
            self._process_after_mono_s = now_mono_s + _PROCESS_S
            self._read_process()
        if self._stalls()["under_oom"] and self._written is not None and not self._written[-1]:
            self.write("changed")

    def _look(self, now_mono_s: float) -> None:
        if self._membership.has_changed():
            self._pids.close()
            self._pressure.close()
            self._pids, self._pressure = self._find_groups()
        self._rlimits = self._process.rlimits() or self._rlimits
        self._read_process()
        self._storage.look(self._amounts.get("address_space_bytes"))
        self._storage.watch(now_mono_s)

    def _find_groups(self) -> tuple[PidsMeter, PressureMeter]:
        own = [f"{place.directory}/memory.pressure" for place in self._membership.places("memory", 2)[:1]]
        return PidsMeter(self._membership), PressureMeter("/proc/pressure/memory", *own)

    def _read_process(self) -> None:
        for meter in (self._process, self._pids):
            self._amounts.update(meter.amounts())

    def _read_cpu(self, now_mono_s: float) -> None:
        """Read everything soon if the process uses CPU time: some kernels send no cells."""
        cpu_s = self._process.cpu_s() or 0.0
        if cpu_s - self._busy_cpu_s > _BUSY_CPU_S:
            self.due_mono_s = min(self.due_mono_s, now_mono_s + _BUSY_S)
        self._busy_cpu_s = cpu_s

    def _next_wait_s(self) -> float:
        self._wait_s = min(self._wait_s * _SLOWER, _BUSY_S)
        return self._wait_s if self._watched.is_busy else _IDLE_S

    def _stalls(self) -> dict[str, bool | None]:
        """Return whether a limit is reached and nobody is killed, here or in an ancestor; None where unknown."""
        known = [it for group in self._watched.groups if (it := group["oom_killer_disabled"]) is not None]
        return {"under_oom": self._watched.under_oom, "oom_killer_disabled": any(known) if known else None}

    def _notable(self) -> Any:
        """Return what is worth an event when it changes; `under_oom` is the last item."""
        full = [
            it["path"] for it in self._storage.filesystems() if is_full(it.get("free_bytes"), it.get("total_bytes"))
        ]
        scarce = [
            _is_scarce(self._amounts.get("pids_current"), self._amounts.get("pids_limit")),
            _is_scarce(self._storage.open_files, self._soft_limit("NOFILE")),
            _is_used_up(self._amounts.get("address_space_bytes"), self._soft_limit("AS")),
            _is_used_up(self._amounts.get("data_bytes"), self._soft_limit("DATA")),
        ]
        stalls = self._stalls()
        disabled, under_oom = stalls["oom_killer_disabled"], stalls["under_oom"]
        return (self._rlimits, sorted(full), self._storage.libraries, scarce, disabled, bool(under_oom))

    def _soft_limit(self, name: str) -> int | None:
        limit: int | None = self._rlimits.get(name, {}).get("soft")
        return limit

    def _neighbours(self) -> list[dict[str, Any]] | None:
        """Return who else is below the nearest limit, or on the machine where no group has one."""
        limited = [group for group in self._watched.groups if group["limit_bytes"]]
        group = min(limited, key=lambda one: one["limit_bytes"], default=None)
        own = {os.getpid(), self._watched.kernel.pid, *self._watched.children}
        return neighbours(own, None if group is None else group["path"], self._watched.directory.parent) or None

    def _note(self, when: str, filesystems: list[dict[str, Any]], **asked: Any) -> bool:
        fields = {
            "rlimits": self._rlimits,
            **self._amounts,
            "open_files": self._storage.open_files,
            **self._host.promises(),
            **self._pressure.shares(),
            **self._stalls(),
            **self._never_changes,
            "filesystems": filesystems,
            "libraries": self._storage.libraries,
            **asked,
        }
        return self._watched.note(
            "surroundings", when=when, **{name: it for name, it in fields.items() if it is not None}
        )


def _is_scarce(used: int | None, limit: int | None) -> bool:
    """Return whether nine tenths are in use."""
    return used is not None and limit is not None and used * 10 >= limit * 9


def _is_used_up(used_bytes: int | None, limit_bytes: int | None) -> bool:
    """Return whether what is left is less than Python asks for at once."""
    return used_bytes is not None and limit_bytes is not None and used_bytes * 100 >= limit_bytes * 99


def _environment(pid: int) -> dict[str, str] | None:
    """Return the environment the process was started with (proc_pid_environ(5)); None when it may not be read."""
    content = read_file(f"/proc/{pid}/environ", _ENVIRONMENT_BYTES).decode("utf-8", "replace")
    return dict(line.split("=", 1) for line in content.split("\0") if "=" in line) if content else None


def _display(environment: dict[str, str] | None) -> str | None:
    """Return where windows would appear: empty for nowhere, None when not known."""
    if environment is None:
        return None
    return environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY") or ""
