"""The control groups the kernel lives in: its own and every ancestor, with their limits and counters.

Version 2 (Documentation/admin-guide/cgroup-v2.rst): memory.max, memory.current, memory.peak, memory.events and its
`.local`, memory.stat. Version 1 (Documentation/admin-guide/cgroup-v1/memory.rst): memory.limit_in_bytes,
memory.usage_in_bytes, memory.max_usage_in_bytes, memory.oom_control, memory.failcnt, memory.stat. In both, `oom_kill`
of a group counts the processes of that very group which were killed for memory, whichever limit it was (version 2
adds those of the groups below); so the kernel's own group tells.
"""

from typing import Any, NamedTuple

from .cgroup_membership import Membership, Place
from .procfs import ProcFile, value


class Names(NamedTuple):
    """What the two versions call the same things."""

    limit: str
    usage: str
    peak: str
    counters: str
    limit_hits: str
    group_kills: str
    droppable: bytes


V1 = Names("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control",
           "memory.failcnt", "", b"total_inactive_file ")  # fmt: skip
V2 = Names("memory.max", "memory.current", "memory.peak", "memory.events", "memory.events", "memory.events.local",
           b"inactive_file ")  # fmt: skip

_COUNTERS = ("oom_kills", "limit_hits", "group_kills")

NO_LIMIT_BYTES = 1 << 60
"""Version 1 says "no limit" with a number of about 2**63."""


class Level:
    """One control group."""

    def __init__(self, place: Place, names: Names) -> None:
        self.path = place.path
        self.names = names
        self._limit = _file(place, names.limit)
        self._usage = _file(place, names.usage)
        self._peak = _file(place, names.peak)
        self._counters = _file(place, names.counters)
        self._hits = _file(place, names.limit_hits) if names is V1 else None
        self._group_kills = _file(place, names.group_kills) if names is V2 else None
        self._stat = _file(place, "memory.stat")
        self.source = self._counters.path

    @property
    def limit_source(self) -> str:
        """The file the limit is read from."""
        return self._limit.path

    def limit_bytes(self) -> int | None:
        """The limit; None when there is none."""
        limit = self._limit.number()
        return limit if limit is not None and limit < NO_LIMIT_BYTES else None

    def usage_bytes(self) -> int | None:
        """All memory charged to the group, page cache included."""
        return self._usage.number()

    def droppable_bytes(self) -> int:
        """The page cache in it that Linux drops first when memory is short."""
        return self._stat.value(self.names.droppable) or 0

    def peak_bytes(self) -> int | None:
        """The highest use since the group was made, page cache included; version 2 tells since Linux 5.19."""
        return self._peak.number()

    def reading(self) -> dict[str, Any]:
        """Usage and counters now.

        `oom_kills`: how many of the group's processes were killed for memory so far. `limit_hits`: how often it ran
        into its limit, harmless cases included. `group_kills`: how often all of it was killed at once; told by
        memory.events.local, which leaves out the groups below, so that it never is a sister's.
        """
        before = {"path": self.path, "source": self.source, "usage_bytes": self.usage_bytes(),
                  "limit_bytes": self.limit_bytes()}  # fmt: skip
        group_kills = None if self._group_kills is None else self._group_kills.value(b"oom_group_kill ")
        hits = None if self._hits is None else self._hits.number()
        counters = self._counters.read()  # last, so that no kill falls between it and what stands above
        return {
            **before,
            "limit_hits": hits if self.names is V1 else value(counters, b"max "),
            "group_kills": group_kills,
            "oom_kills": value(counters, b"oom_kill "),
            "under_oom": _flag(value(counters, b"under_oom ")),
            "oom_killer_disabled": _flag(value(counters, b"oom_kill_disable ")),
        }

    def close(self) -> None:
        """Close the files."""
        files = (self._limit, self._usage, self._peak, self._counters, self._hits, self._group_kills, self._stat)
        for file in files:
            if file is not None:
                file.close()


class CgroupMeter:
    """The memory control groups of one process."""

    def __init__(self, pid: int, proc: str = "/proc", known: str = "") -> None:
        """`proc` is where /proc lies; tests give a tree of their own. `known` is as in `Membership`."""
        self._membership = Membership(pid, proc, known)
        self.levels: list[Level] = []
        self.refresh()

    def refresh(self) -> bool:
        """Look up the groups again if the process was moved; return whether it was."""
        if not self._membership.has_changed():
            return False
        for level in self.levels:
            level.close()
        self.levels = _levels(self._membership)
        return True

    def limits(self) -> list[dict[str, Any]]:
        """The limits in force, lowest first, as `recording.model.Limit`."""
        found = [(limit, level) for level in self.levels if (limit := level.limit_bytes()) is not None]
        return [
            {"kind": "cgroup", "name": _limit_name(level.path), "bytes": limit, "source": level.limit_source}
            for limit, level in sorted(found, key=lambda pair: pair[0])
        ]

    def nearest_in_use_bytes(self, groups: list[dict[str, Any]]) -> int | None:
        """Return what is in use in the group with the least room below its limit; None where none has one.

        `groups` is the snapshot taken just now. The page cache that Linux drops first does not count.
        """
        rooms = []
        for level, group in zip(self.levels, groups, strict=True):
            limit, usage = group["limit_bytes"], group["usage_bytes"]
            if limit is not None and usage is not None:
                used = max(0, usage - level.droppable_bytes())
                rooms.append((limit - used, used))
        return min(rooms)[1] if rooms else None

    def snapshot(self) -> list[dict[str, Any]]:
        """Usage and counters of every group, the kernel's own first."""
        return [level.reading() for level in self.levels]

    def peaks(self) -> dict[str, int | None]:
        """The highest use of each group, by its path."""
        return {level.path: level.peak_bytes() for level in self.levels}


def _file(place: Place, name: str) -> ProcFile:
    return ProcFile(f"{place.directory}/{name}")


def _flag(number: int | None) -> bool | None:
    return None if number is None else number != 0


def _levels(membership: Membership) -> list[Level]:
    """The groups that account for memory, in the version that does: version 1 where both are mounted."""
    for version, names in ((1, V1), (2, V2)):
        levels = []
        for place in membership.places("memory", version):
            level = Level(place, names)
            if level.usage_bytes() is not None or level.limit_bytes() is not None:
                levels.append(level)
            else:
                level.close()
        if levels:
            return levels
    return []


def _limit_name(path: str) -> str:
    """What people call the limit: in a container the group's path is its root, or says who made it."""
    makers = ("docker", "kubepods", "containerd", "libpod", "crio", "lxc", "garden")
    if path == "/" or any(maker in path for maker in makers):
        return "container limit"
    return "session limit" if path.endswith((".scope", ".service", ".slice")) else "memory limit"


def deltas(
    before: list[dict[str, Any]], after: list[dict[str, Any]], peaks: dict[str, int | None] | None = None
) -> list[dict[str, Any]]:
    """Two snapshots as `recording.model.CgroupDelta`; a group that is gone afterwards has no second counter.

    Without a first snapshot (the kernel died at once) a counter that is zero was zero before; any other is not known.
    """
    before = before or [{**group, **{name: group[name] and None for name in _COUNTERS}} for group in after]
    later = {group["path"]: group for group in after}
    return [
        {
            "path": group["path"],
            "source": group["source"],
            "oom_kills_before": group["oom_kills"],
            "oom_kills_after": later.get(group["path"], {}).get("oom_kills"),
            "limit_hits_before": group["limit_hits"],
            "limit_hits_after": later.get(group["path"], {}).get("limit_hits"),
            "group_kills_before": group["group_kills"],
            "group_kills_after": later.get(group["path"], {}).get("group_kills"),
            "usage_before_bytes": group["usage_bytes"],
            "peak_bytes": (peaks or {}).get(group["path"]),
            "limit_bytes": group["limit_bytes"],
        }
        for group in before
    ]
