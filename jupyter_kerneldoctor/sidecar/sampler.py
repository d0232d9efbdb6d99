"""Takes one sample from all meters, and decides when to take the next: soon while memory moves, else later."""

import time
from typing import Any

from ..recording.samples import Sample, has_moved
from .meters.cgroup import CgroupMeter
from .meters.host import HostMeter
from .meters.process import ProcessMeter
from .stacks.read_schedule import FASTEST_FILL_BYTES_PER_S

FASTEST_S = 0.05
BUSY_S = 0.25
IDLE_S = 2.0
LONG_IDLE_S = 5.0

_SAMPLES_TO_LIMIT = 20
"""While memory moves: so many before the nearest limit could be reached, and not more often than they are needed."""

_LOOKS_FOR_THE_SIGNAL = 5
_BETWEEN_LOOKS_S = 0.002

_SLOWER = 1.5
_SLOWER_IDLE = 3.0
_A_LITTLE_SLOWER = 1.05


class Sampler:
    """The meters of one kernel."""

    def __init__(self, pid: int, control_groups: str = "") -> None:
        """`control_groups` is what the process's /proc/PID/cgroup said earlier."""
        self._process = ProcessMeter(pid)
        self._host = HostMeter()
        self.cgroup = CgroupMeter(pid, known=control_groups)
        self.groups: list[dict[str, Any]] = []
        """The control groups at the last sample."""
        self._before: Sample | None = None
        self._wait_s = self._calm_s = FASTEST_S

    def ram_bytes(self) -> int | None:
        """Return the RAM of the machine; None where it cannot be read."""
        return self._host.total_bytes()

    def limits(self) -> list[dict[str, Any]]:
        """Return the limits in force now, as `recording.model.Limit`."""
        total = self._host.total_bytes()
        ram = {"kind": "ram", "name": "memory of this machine", "bytes": total, "source": "/proc/meminfo MemTotal"}
        return self.cgroup.limits() + ([] if total is None else [ram])

    def sample(self, now_mono_s: float) -> Sample | None:
        """Measure; return None and keep `groups` once the process is being killed or has ended.

        The counter rises when Linux chooses the process to kill. A big one may take a while from then to its end.
        """
        groups, rss = self.cgroup.snapshot(), self._process.rss_bytes()
        if rss is None or (_oom_kills(groups) > _oom_kills(self.groups) and self._is_chosen()):
            return None
        self.groups = groups
        return Sample(
            mono_s=round(now_mono_s, 4),
            rss_bytes=rss,
            cgroup_bytes=self.cgroup.nearest_in_use_bytes(groups),
            available_bytes=self._host.available_bytes(),
            oom_kills=groups[0]["oom_kills"] if groups else None,
        )

    def _is_chosen(self) -> bool:
        """Return whether it was the kernel. Linux counts first, and then sends the signal (mm/oom_kill.c)."""
        for _ in range(_LOOKS_FOR_THE_SIGNAL):
            if self._process.is_being_killed():
                return True
            time.sleep(_BETWEEN_LOOKS_S)
        return False

    def wait_s(self, sample: Sample | None, *, busy: bool, headroom_bytes: int | None = None) -> float:
        """Return the time to the next sample.

        `busy` says whether a cell runs; `headroom_bytes` is the room below the nearest limit, None where unknown.
        """
        before, self._before = self._before, sample
        if before is not None and sample is not None and has_moved(before, sample):
            room_s = (headroom_bytes or 0) / FASTEST_FILL_BYTES_PER_S
            self._wait_s = min(BUSY_S, self._wait_s * _SLOWER, max(FASTEST_S, room_s / _SAMPLES_TO_LIMIT))
        else:
            slower = _A_LITTLE_SLOWER if self._wait_s >= IDLE_S else _SLOWER if busy else _SLOWER_IDLE
            self._wait_s = min(BUSY_S if busy else LONG_IDLE_S, self._wait_s * slower)
        return self._wait_s

    def hurry(self) -> float:
        """Return the time to the next sample when a cell has started: memory may move at any moment."""
        self._calm_s, self._wait_s = self._wait_s, FASTEST_S
        return self._wait_s

    def calm(self) -> None:
        """Go on as before the cell."""
        self._wait_s = self._calm_s


def _oom_kills(groups: list[dict[str, Any]]) -> int:
    return (groups[0]["oom_kills"] or 0) if groups else 0
