"""Samples the memory, and records which limits are in force."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...recording.samples import SampleWriter, has_moved
from ..meters.cgroup import deltas
from ..observer import Observer
from ..sampler import Sampler
from ..stacks.read_schedule import nearest_limit

if TYPE_CHECKING:
    from ..observer import Watched

_REFRESH_S = 5.0
_AFTER_CELL_S = 0.5
"""After a cell that moved nothing."""
_RETRY_S = 1.0
"""A process that waits at a limit tries again whenever a page comes free; `under_oom` is 0 for that moment."""


class MemoryObserver(Observer):
    """Samples often while memory moves, seldom while it does not."""

    def __init__(self, watched: Watched, control_groups: str = "") -> None:
        """`control_groups` is what the kernel's /proc/self/cgroup said when the recording began."""
        self._watched = watched
        self._writer = SampleWriter(watched.directory)
        self._sampler = Sampler(watched.kernel.pid, control_groups)
        self._peaks: dict[str, int | None] = {}
        self._refresh_at = 0.0
        self._under_oom_until_mono_s = 0.0
        self.due_mono_s = 0.0
        self._due_before_cell_s: float | None = None
        """When the next sample would have been without the cell; None where one was taken since it began."""

    @property
    def ram_bytes(self) -> int | None:
        """RAM of the machine."""
        return self._sampler.ram_bytes()

    @property
    def lost(self) -> int:
        """How many samples could not be written."""
        return self._writer.lost

    def turn(self, now_mono_s: float) -> None:
        """Take a sample."""
        self._due_before_cell_s = None
        was_moved, before = self._sampler.cgroup.refresh(), self._limits_bytes()
        sample = self._sampler.sample(now_mono_s)
        # Whoever starts it may move it late, or set the limit late, and the kernel may die a moment later.
        if was_moved or now_mono_s >= self._refresh_at or self._limits_bytes() != before:
            self._refresh(now_mono_s)
        if sample is not None:
            children = len(self._watched.children) if sys.platform == "linux" else None
            sample = sample._replace(tree_bytes=self._watched.tree_bytes, children=children)
            self._writer.write(sample)
        self._watched.sample, self._watched.groups = sample, self._sampler.groups
        self._watched.under_oom = self._under_oom(now_mono_s)
        self._watched.run_after_sample(now_mono_s)
        limit = None if sample is None else nearest_limit(sample, self._watched.limits)
        headroom = None if limit is None else limit.headroom_bytes
        wait_s = self._sampler.wait_s(sample, busy=self._watched.is_busy, headroom_bytes=headroom)
        self.due_mono_s = now_mono_s + wait_s

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Sample soon after a cell has started, as it may move memory at any moment, unless it is over and did not."""
        if event["event"] == "cell_start":
            self._due_before_cell_s = self.due_mono_s
            self.due_mono_s = min(self.due_mono_s, now_mono_s + self._sampler.hurry())
        elif event["event"] == "cell_end" and self._due_before_cell_s is not None and self._moved_nothing(event):
            self._sampler.calm()
            self.due_mono_s = min(self._due_before_cell_s, now_mono_s + _AFTER_CELL_S)

    def at_end(self) -> dict[str, Any]:
        """Return the control groups at the last sample and now."""
        after = self._sampler.cgroup.snapshot()
        self._read_peaks()
        return {"cgroups": deltas(self._sampler.groups, after, self._peaks)}

    def _moved_nothing(self, cell_end: dict[str, Any]) -> bool:
        """Return whether the kernel measured that, no sample was taken meanwhile, and nobody else may go on with it."""
        sample = self._watched.sample
        if sample is None or self._watched.is_busy or self._watched.children:
            return False
        measured = [cell_end.get("rss_after_bytes"), cell_end.get("peak_bytes")]
        return all(type(one) is int and not has_moved(sample, sample._replace(rss_bytes=one)) for one in measured)

    def _under_oom(self, now_mono_s: float) -> bool | None:
        known = [group["under_oom"] for group in self._sampler.groups if group["under_oom"] is not None]
        if any(known):
            self._under_oom_until_mono_s = now_mono_s + _RETRY_S
        return now_mono_s < self._under_oom_until_mono_s if known else None

    def _limits_bytes(self) -> list[int | None]:
        return [group["limit_bytes"] for group in self._sampler.groups]

    def _refresh(self, now_mono_s: float) -> None:
        self._refresh_at = now_mono_s + _REFRESH_S
        self._read_peaks()
        limits = self._sampler.limits()
        if limits != self._watched.limits:
            self._watched.limits = limits
            self._watched.note("limits", limits=limits)

    def _read_peaks(self) -> None:
        """Read the peaks; that of a group that is gone stays as it was read last."""
        now = self._sampler.cgroup.peaks()
        self._peaks.update({path: peak for path, peak in now.items() if peak is not None})
