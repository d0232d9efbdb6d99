"""How much is left below the limit that would end a running kernel."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ..recording.events import Rlimit
from ..recording.model import Limit, Recording
from ..recording.samples import Sample


@dataclass(frozen=True)
class Headroom:
    """A limit, and how much of it is in use by all that share it."""

    limit: Limit
    used_bytes: int
    reserved_bytes: int | None = None
    """How much of that the kernel has only reserved, and does not use; None for a limit that does not count that."""

    @property
    def left_bytes(self) -> int:
        """What is left; 0 above the limit."""
        return max(0, self.limit.bytes - self.used_bytes)


def headroom(recording: Recording) -> Headroom | None:
    """Return the limit with the least room at the newest sample; None where none is known."""
    last = recording.samples[-1] if recording.samples else None
    if last is None:
        return None
    limits = [limit for limit in recording.limits if limit.bytes > 0]
    rooms = [
        Headroom(limit, limit.bytes - last.available_bytes)
        for limit in limits
        if limit.kind == "ram" and last.available_bytes is not None
    ]
    groups = [limit for limit in limits if limit.kind == "cgroup"]
    if groups and last.cgroup_bytes is not None:
        rooms.append(Headroom(min(groups, key=lambda limit: limit.bytes), last.cgroup_bytes))
    rooms += _rooms_of_the_process(recording, last)
    return min(rooms, key=lambda room: room.left_bytes, default=None)


def _rooms_of_the_process(recording: Recording, last: Sample) -> Iterator[Headroom]:
    """Yield the limits that `ulimit` set: they count what is reserved, used or not.

    That is looked at rarely. Since then it has grown as the memory in use did.
    """
    state = next((one for one in reversed(recording.system_states) if one.rlimits), None)
    if state is None:
        return
    then = rss_at(recording, bisect_right(recording.samples, state.mono_s, key=time_of) - 1)
    grew = 0 if None in (then, last.rss_bytes) else last.rss_bytes - then  # type: ignore[operator]
    for name, used, option in (
        ("AS", state.address_space_bytes, "ulimit -v"),
        ("DATA", state.data_bytes, "ulimit -d"),
    ):
        limit = state.rlimits.get(name, Rlimit()).soft
        if limit and used is not None:
            named = Limit("process", f"limit of the process, {option}", limit, "/proc/PID/limits")
            now = max(0, used + grew)
            yield Headroom(named, now, None if last.rss_bytes is None else max(0, now - last.rss_bytes))


def own_bytes(sample: Sample) -> int | None:
    """Return the memory of the kernel with the processes below it."""
    return sample.rss_bytes if sample.tree_bytes is None else sample.tree_bytes


def time_of(sample: Sample) -> float:
    """Return the time of a sample: samples are in its order."""
    return sample.mono_s


def rss_at(recording: Recording, place: int) -> int | None:
    """Return the kernel's own memory at a sample; None where there is none at this place."""
    return recording.samples[place].rss_bytes if 0 <= place < len(recording.samples) else None
