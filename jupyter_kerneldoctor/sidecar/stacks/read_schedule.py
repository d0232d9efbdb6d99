"""Decides when to read the stack: while a cell runs and memory is near a limit, or will be within seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...recording.token_bucket import TokenBucket

if TYPE_CHECKING:
    from ...recording.samples import Sample
    from ..observer import Watched

Reason = Literal["near_limit", "climbing"]

_NEAR = 0.75
_VERY_NEAR = 0.97
_SOON_S = 5.0
_SMALLEST_CLIMB = 0.01  # of the headroom

FASTEST_FILL_BYTES_PER_S = 3e9
"""About as fast as one process fills fresh memory: no limit is reached between two checks."""

_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.03, 0.25
_SHORTEST_WHILE_CLIMBING_S = 0.01

_PER_SECOND = 4.0
_BURST = 6
"""Several readings in quick succession at first: a jump may reach the limit within a tenth of a second."""

_LEAST_APART_S = 0.04
_GLANCES_APART_S = 0.1
"""Near the limit, but not climbing."""

_LONGEST_PAUSE_S = 5.0
_LONGEST_PAUSE_VERY_NEAR_S = 0.5


class NearestLimit(NamedTuple):
    """The memory limit that will be reached first."""

    bytes: int
    headroom_bytes: int

    @property
    def share(self) -> float:
        """The share of it that is in use, from 0 to 1."""
        return 1 - self.headroom_bytes / self.bytes


class ReadSchedule:
    """Follows one cell. `check` is called often and costs next to nothing."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._bucket = TokenBucket(_BURST, 1 / _PER_SECOND)
        self._before: tuple[float, int, int] | None = None
        self._read_mono_s = 0.0
        self._read_headroom = 0
        self._pause_s = 0.0
        self.wait_s = _SHORTEST_WAIT_S
        """The time until the next check."""
        self._glanced_mono_s = 0.0
        self.needs_glance = False
        """Whether the limit may be reached before the next full reading is due."""

    def begin(self) -> None:
        """Start anew, as a cell has started."""
        self._before = None
        self._pause_s = 0.0
        self.wait_s = _SHORTEST_WAIT_S

    def check(self, now_mono_s: float, rss_bytes: int | None) -> Reason | None:
        """Return why to read the stack now, or None. `rss_bytes` is of this moment; the rest is the last sample's."""
        sample = self._watched.sample
        if sample is None or rss_bytes is None or sample.rss_bytes is None:
            return None
        limit = nearest_limit(sample, self._watched.limits)
        if limit is None:
            self.wait_s = _LONGEST_WAIT_S
            return None
        headroom = max(0, limit.headroom_bytes - max(0, rss_bytes - sample.rss_bytes))
        climbs = self._climbs(now_mono_s, rss_bytes, headroom)
        shortest = _SHORTEST_WHILE_CLIMBING_S if climbs else _SHORTEST_WAIT_S
        self.wait_s = min(_LONGEST_WAIT_S, max(shortest, headroom / FASTEST_FILL_BYTES_PER_S / 2))
        near = headroom < (1 - _NEAR) * limit.bytes
        self.needs_glance = climbs or (near and now_mono_s - self._glanced_mono_s >= _GLANCES_APART_S)
        if self.needs_glance:
            self._glanced_mono_s = now_mono_s
        if climbs:
            due = now_mono_s - self._read_mono_s >= _LEAST_APART_S
        else:
            due = near and self._is_due(now_mono_s, headroom, limit)
        if not due or not self._bucket.take(now_mono_s):
            return None
        self._read_mono_s, self._read_headroom = now_mono_s, headroom
        return "near_limit" if near else "climbing"

    def _climbs(self, now: float, rss: int, headroom: int) -> bool:
        """Return whether the headroom is used up soon at this pace; it also shrinks when a child grows."""
        before, self._before = self._before, (now, rss, headroom)
        if before is None or now <= before[0]:
            return False
        used = max(rss - before[1], before[2] - headroom)
        return used > _SMALLEST_CLIMB * before[2] and headroom < used / (now - before[0]) * _SOON_S

    def _is_due(self, now: float, headroom: int, limit: NearestLimit) -> bool:
        """Return whether a reading is due near the limit without a climb: less and less often while nothing moves."""
        if abs(headroom - self._read_headroom) > _SMALLEST_CLIMB * limit.bytes:
            self._pause_s = 0.0
            return now - self._read_mono_s >= 1 / _PER_SECOND
        if now - self._read_mono_s < self._pause_s:
            return False
        very_near = headroom < (1 - _VERY_NEAR) * limit.bytes
        longest = _LONGEST_PAUSE_VERY_NEAR_S if very_near else _LONGEST_PAUSE_S
        self._pause_s = min(longest, max(1 / _PER_SECOND, 2 * self._pause_s))
        return True


def nearest_limit(sample: Sample, limits: list[dict[str, Any]]) -> NearestLimit | None:
    """Return the limit with the least headroom; None when no limit is known.

    The same growth counts against all of them. `cgroup_bytes` is that of the control group with the least headroom; its
    limit is the lowest not exceeded by it.
    """
    found = []
    used = sample.cgroup_bytes
    groups = [limit["bytes"] for limit in limits if limit["kind"] == "cgroup"]
    above = [limit for limit in groups if used is not None and limit >= used] or groups[-1:]
    if used is not None and above:
        found.append(NearestLimit(min(above), max(0, min(above) - used)))
    ram = [limit["bytes"] for limit in limits if limit["kind"] == "ram"]
    if ram and sample.available_bytes is not None:
        found.append(NearestLimit(ram[0], sample.available_bytes))
    return min(found, key=lambda limit: limit.headroom_bytes, default=None)
