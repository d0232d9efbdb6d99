"""The control groups the kernel lives in: its own and every ancestor, with their limits and counters.

Version 2 (Documentation/admin-guide/cgroup-v2.rst): memory.max, memory.current, memory.events, memory.stat. Version 1
(Documentation/admin-guide/cgroup-v1/memory.rst): memory.limit_in_bytes, memory.usage_in_bytes, memory.oom_control,
memory.failcnt, memory.stat. In both, `oom_kill` of a group counts the processes of that very group which were killed
for memory, whichever limit it was (version 2 adds those of the groups below); so the kernel's own group tells.
"""

from __future__ import annotations

import posixpath
from typing import Any, NamedTuple

from .files import ProcFile


class Names(NamedTuple):
    """What the two versions call the same things."""

    limit: str
    usage: str
    counters: str
    limit_hits: str
    droppable: bytes


V1 = Names("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control", "memory.failcnt",
           b"total_inactive_file ")  # fmt: skip
V2 = Names("memory.max", "memory.current", "memory.events", "memory.events", b"inactive_file ")

_COUNTERS = ("oom_kills", "limit_hits")

NO_LIMIT_BYTES = 1 << 60
"""Version 1 says "no limit" with a number of about 2**63."""


class Level:
    """One control group."""

    def __init__(self, directory: str, path: str, names: Names) -> None:
        self.path = path
        self.names = names
        self._limit = ProcFile(f"{directory}/{names.limit}")
        self._usage = ProcFile(f"{directory}/{names.usage}")
        self._counters = ProcFile(f"{directory}/{names.counters}")
        self._hits = self._counters if names is V2 else ProcFile(f"{directory}/{names.limit_hits}")
        self._stat = ProcFile(f"{directory}/memory.stat")
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

    def in_use_bytes(self) -> int | None:
        """The same without the page cache that Linux drops first when memory is short."""
        usage = self._usage.number()
        return None if usage is None else max(0, usage - (self._stat.value(self.names.droppable) or 0))

    def oom_kills(self) -> int | None:
        """How many of the group's processes were killed for memory so far."""
        return self._counters.value(b"oom_kill ")

    def limit_hits(self) -> int | None:
        """How often the group ran into its limit so far, harmless cases included."""
        return self._hits.value(b"max ") if self.names is V2 else self._hits.number()

    def close(self) -> None:
        """Close the files."""
        for file in (self._limit, self._usage, self._counters, self._hits, self._stat):
            file.close()


class CgroupMeter:
    """The memory control groups of one process."""

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        """`proc` is where /proc lies; tests give a tree of their own."""
        self._membership = ProcFile(f"{proc}/{pid}/cgroup")
        # Of a zombie the mounts cannot be read, and a process started by the kernel sees the same ones.
        self._mountinfo = f"{proc}/self/mountinfo"
        self._seen = b""
        self.levels: list[Level] = []
        self.refresh()

    def refresh(self) -> bool:
        """Look up the groups again if the process was moved; return whether it was."""
        seen = self._membership.read()
        if seen == self._seen or not seen:
            return False
        self._seen = seen
        for level in self.levels:
            level.close()
        self.levels = _levels(seen.decode("utf-8", "replace"), self._mountinfo)
        return True

    def limits(self) -> list[dict[str, Any]]:
        """The limits in force, lowest first, as `recording.model.Limit`."""
        found = [(limit, level) for level in self.levels if (limit := level.limit_bytes()) is not None]
        return [
            {"kind": "cgroup", "name": _limit_name(level.path), "bytes": limit, "source": level.limit_source}
            for limit, level in sorted(found, key=lambda pair: pair[0])
        ]

    def nearest_in_use_bytes(self) -> int | None:
        """Memory in use in the group that has least room left below its limit; None where no group has one."""
        rooms = [
            (limit - used, used)
            for level in self.levels
            if (limit := level.limit_bytes()) is not None and (used := level.in_use_bytes()) is not None
        ]
        return min(rooms)[1] if rooms else None

    def snapshot(self) -> list[dict[str, Any]]:
        """Usage and counters of every group, the kernel's own first."""
        return [
            {
                "path": level.path,
                "source": level.source,
                "limit_hits": level.limit_hits(),
                "usage_bytes": level.usage_bytes(),
                "limit_bytes": level.limit_bytes(),
                "oom_kills": level.oom_kills(),  # last, so that no kill falls between it and what stands above
            }
            for level in self.levels
        ]


def _limit_name(path: str) -> str:
    """What people call the limit: in a container the group's path is its root, or says who made it."""
    makers = ("docker", "kubepods", "containerd", "libpod", "crio", "lxc", "garden")
    if path == "/" or any(maker in path for maker in makers):
        return "container limit"
    return "session limit" if path.endswith((".scope", ".service", ".slice")) else "memory limit"


def deltas(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
            "usage_before_bytes": group["usage_bytes"],
            "limit_bytes": group["limit_bytes"],
        }
        for group in before
    ]


def _levels(membership: str, mountinfo: str) -> list[Level]:
    """The groups from the process's own up to the root of what is mounted here."""
    own_v1, own_v2 = _own_paths(membership)
    mounts = _mounts(mountinfo)
    for names, own, mount in ((V1, own_v1, mounts.get("memory")), (V2, own_v2, mounts.get("unified"))):
        if own is None or mount is None:
            continue
        root, mount_point = mount
        path = "/" + posixpath.relpath(own, root) if _is_below(own, root) else own
        levels = []
        while True:
            path = posixpath.normpath(path)
            level = Level(posixpath.normpath(mount_point + path), path, names)
            if level.usage_bytes() is not None or level.limit_bytes() is not None:
                levels.append(level)
            else:
                level.close()
            if path in ("/", "//", "."):
                break
            path = posixpath.dirname(path)
        if levels:
            return levels
    return []


def _own_paths(membership: str) -> tuple[str | None, str | None]:
    """The path in the version 1 memory hierarchy and in the version 2 one (cgroups(7), /proc/PID/cgroup)."""
    v1 = v2 = None
    for line in membership.splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if "memory" in controllers.split(","):
            v1 = path
        elif number == "0" and not controllers:
            v2 = path
    return v1, v2


def _mounts(mountinfo: str) -> dict[str, tuple[str, str]]:
    """Root and mount point of the memory hierarchies (proc_pid_mountinfo(5))."""
    found: dict[str, tuple[str, str]] = {}
    try:
        with open(mountinfo, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return found
    for line in lines:
        before, _, after = line.partition(" - ")
        kind, _, rest = after.partition(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, mount_point = before.split()[3:5]
        if kind == "cgroup2":
            found["unified"] = (root, mount_point)
        elif "memory" in rest.split()[-1].split(","):
            found["memory"] = (root, mount_point)
    return found


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
