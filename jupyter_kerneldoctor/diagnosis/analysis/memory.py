"""The memory of a kernel and the limits on it: what was left, what was missing, which limit counts."""

import math
from bisect import bisect_right
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

from jupyter_kerneldoctor.recording.model import CgroupDelta, Limit

from ..units import size
from .measured_memory import MeasuredMemory
from .memory_refusals import NEAR

_CLIMB = 0.05  # of the limit, within the last second of samples
_LAST_S = 1.5
_SMALLEST_SHARE = 0.10  # of the limit: growth below that is not what filled it
_FEWEST_SAMPLES = 5
_HEADROOM = 0.10  # of the limit is kept free
_LEAST_HEADROOM_BYTES = 256 << 20
_FULL = 0.05  # less than this share of the machine's memory available: it is full
_moment = attrgetter("mono_s")


class Memory(MeasuredMemory):
    """The memory of the kernel while `cell` ran, and the limits on it."""

    @cached_property
    def used_before_bytes(self) -> int | None:
        """What counted towards the limit when the cell began: of all processes that share it, where measured.

        A limit of the process counts what was promised to it, too, such as the stacks of its threads.
        """
        if self.refusal is not None:
            before, used = self.before_bytes or 0, self.refusal.used_bytes or 0
            return max(before, used - (self.growth_bytes or 0))
        began = self.cell.started_mono_s if self.cell is not None else 0.0
        earlier = self.recording.samples[: bisect_right(self.recording.samples, began, key=_moment)]
        return next((s.cgroup_bytes for s in reversed(earlier) if s.cgroup_bytes is not None), self.before_bytes)

    @cached_property
    def headroom_before_bytes(self) -> int | None:
        """How much was left below the limit when the cell began, counting all processes that share the limit."""
        used = self.used_before_bytes
        return None if self.limit_bytes is None or used is None else max(0, self.limit_bytes - used)

    @cached_property
    def missing_bytes(self) -> int | None:
        """What the cell needed at the very least: what it was seen to take or, where memory ran out, all that was left.

        A kill cuts the peak off, and the last samples may be older than the last growth, so this is a lower bound.
        """
        known = (self.growth_bytes, self.headroom_before_bytes if self.ran_out else None, self.refused_bytes)
        return max((one for one in known if one is not None), default=None)

    @property
    def grew_here(self) -> bool:
        """Whether the cell itself took the memory; false where it was nearly full before the cell began."""
        growth = self.missing_bytes
        if growth is None or growth <= 0:
            return False
        return growth >= _SMALLEST_SHARE * (self.limit_bytes or self.peak_bytes or growth)

    @cached_property
    def ramp_bytes(self) -> int:
        """How much the cell grew little by little: its growth without a single jump that made up most of it.

        With too few samples to tell a ramp from a jump, all of the growth.
        """
        growth = (self.growth_bytes if self.refused_bytes else self.missing_bytes) or 0
        ended = None if self.cell is None else self.cell.ended_mono_s
        seen = [one.rss_bytes for one in self.samples if ended is None or one.mono_s <= ended]
        levels = [one for one in (self.before_bytes, *seen) if one is not None]
        if self.cell is None or len(levels) < _FEWEST_SAMPLES:
            return growth
        steps = [max(0, after - before) for before, after in pairwise(levels)]
        rise = max(levels) - levels[0]
        return growth - max(steps) if rise > 0 and max(steps) > rise / 2 else growth

    @cached_property
    def climb_bytes(self) -> int | None:
        """How much what counts towards the limit grew within the last second of samples; None if it was not much."""
        last, limit = self.last, self.limit_bytes
        if last is None or last.cgroup_bytes is None or not limit:
            return None
        samples = self.recording.samples[-64:]
        recent = [s.cgroup_bytes for s in samples if s.cgroup_bytes is not None and last.mono_s - s.mono_s <= _LAST_S]
        grew = last.cgroup_bytes - recent[0]
        return grew if grew >= _CLIMB * limit else None

    @property
    def safe_target_bytes(self) -> int | None:
        """How much the process may use at most to be safe: the limit less a tenth, or less 256 MiB."""
        if self.limit_bytes is None:
            return None
        limit = self.limit_bytes
        if self.refusal is not None:
            limit -= (self.used_before_bytes or 0) - (self.before_bytes or 0)
        return max(limit - max(int(_HEADROOM * limit), _LEAST_HEADROOM_BYTES), limit // 2)  # half, for small limits

    @property
    def kills_were_of_children(self) -> bool:
        """Whether the memory kills at the end were those of children, and the kernel itself was small.

        A kernel that is killed along with its children is the largest process, or one kill more than they are.
        """
        if self.kills is None or not self.kills.oom_kills or self.last is None:
            return False
        since = self.last.mono_s
        killed = [one for one in self.recording.children if one.oom_kills and one.signal == "SIGKILL"]
        enough = sum(one.mono_s >= since for one in killed) >= self.kills.oom_kills
        return enough and (self.peak_bytes or 0) < (self.limit_bytes or 0) / 2

    @cached_property
    def group_peak_bytes(self) -> int | None:
        """The highest memory use of the control group that was measured, children and cached files included."""
        seen = [sample.cgroup_bytes for sample in self.samples]
        seen += [group.usage_before_bytes for group in self.groups[:1]]
        return max((value for value in seen if value is not None), default=None)

    @cached_property
    def groups(self) -> tuple[CgroupDelta, ...]:
        """The control groups at the end, the kernel's own first."""
        return () if self.recording.end is None else self.recording.end.cgroups

    @cached_property
    def kills(self) -> CgroupDelta | None:
        """The control group whose count of memory kills is known: the kernel's own, else the nearest above it."""
        known = (group for group in self.groups if None not in (group.oom_kills_before, group.oom_kills_after))
        return next(known, None)

    @cached_property
    def kills_are_own(self) -> bool:
        """Whether that group is the kernel's own, and not one above it, which counts other processes' kills, too."""
        return bool(self.groups) and self.kills is self.groups[0]

    @cached_property
    def was_killed_unseen(self) -> bool:
        """Whether the own group has reached its limit and counts a kill, but nobody looked before the death.

        The count may be older than the kernel, as that of a container is in which kernels died before.
        """
        own = next(iter(self.groups), None)
        if own is None or self.samples or own.oom_kills_before is not None:
            return False
        return bool(own.oom_kills_after) and (own.peak_bytes or 0) >= NEAR * (own.limit_bytes or math.inf)

    @cached_property
    def pressed(self) -> CgroupDelta | None:
        """The control group that hit its limit, or was at 90 % of it or more; None if none was."""
        limited = [group for group in self.groups if group.limit_bytes]
        return max((group for group in limited if self._presses(group)), key=_pressure, default=None)

    def _presses(self, group: CgroupDelta) -> bool:
        assert group.limit_bytes is not None
        used = max(group.usage_before_bytes or 0, self.peak_bytes or 0)
        return group.limit_hits > 0 or used >= NEAR * group.limit_bytes

    @cached_property
    def limit(self) -> Limit | None:
        """The lowest limit that was in force."""
        limits = [limit for limit in self.recording.limits if limit.bytes > 0]
        return min(limits, key=lambda limit: limit.bytes, default=None)

    @cached_property
    def limit_bytes(self) -> int | None:
        """The limit that counts: the one that was hit, else the lowest; None when none is known."""
        if self.refusal is not None:
            return self.refusal.limit_bytes
        if self.pressed is not None:
            return self.pressed.limit_bytes
        known = [group.limit_bytes for group in self.groups if group.limit_bytes]
        if self.limit is not None:
            known.append(self.limit.bytes)
        return min(known, default=self.recording.kernel.ram_bytes or None)

    @cached_property
    def limit_name(self) -> str:
        """What that limit is called: "container limit", "the machine's memory"."""
        if self.refusal is not None:
            return "limit of the process"
        same = (limit for limit in self.recording.limits if limit.bytes == self.limit_bytes)
        found = next(same, None)
        if found is not None:
            return found.name
        return "memory limit" if self.has_group_limit else "the machine's memory"

    @property
    def group_name(self) -> str | None:
        """What the kernel shares its limit with, for a sentence: "the container"; None: it has no known name."""
        kind, _, noun = self.limit_name.rpartition(" ")
        return f"the {kind}" if noun == "limit" and kind not in ("", "memory") else None

    @property
    def limit_clause(self) -> str:
        """Return "the container allows 500 MiB", "the session limit is 2.0 GiB"; empty when no limit is known."""
        if not self.limit_bytes:
            return ""
        if self.refusal is not None:
            return f"the process may have {size(self.limit_bytes)}"
        if not self.has_group_limit:
            return f"the machine has {size(self.limit_bytes)}"
        if self.limit_name == "container limit":
            return f"the container allows {size(self.limit_bytes)}"
        return f"the {self.limit_name} is {size(self.limit_bytes)}"

    @cached_property
    def share_of_limit(self) -> float | None:
        """How much of the limit was in use at the last measurement, from 0 to 1; None when not known."""
        last = self.last
        if last is None or not self.limit_bytes:
            return None
        used = last.cgroup_bytes if self.has_group_limit and last.cgroup_bytes is not None else last.rss_bytes
        return None if used is None else used / self.limit_bytes

    @property
    def has_group_limit(self) -> bool:
        """Whether the limit that counts is that of a control group, such as a container."""
        is_cgroup = self.pressed is not None or (self.limit is not None and self.limit.kind == "cgroup")
        return is_cgroup and self.refusal is None

    @cached_property
    def machine_is_full(self) -> bool | None:
        """Whether less than 5 % of the machine's memory was available at the last measurement; None when not known."""
        ram, last = self.recording.kernel.ram_bytes, self.last
        if not ram or last is None or last.available_bytes is None:
            return None
        return last.available_bytes < _FULL * ram


def _pressure(group: CgroupDelta) -> tuple[bool, float]:
    return group.limit_hits > 0, (group.usage_before_bytes or 0) / (group.limit_bytes or 1)
