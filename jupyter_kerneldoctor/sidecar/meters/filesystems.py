"""The file systems that the kernel uses, and how full they are."""

from __future__ import annotations

import os
import re
import select
from typing import TYPE_CHECKING, Any, NamedTuple

from ...recording.file_system_kinds import MAY_HANG
from .procfs import link_target, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_PSEUDO = frozenset(("proc", "sysfs", "devtmpfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs"))


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str

    @property
    def may_hang(self) -> bool:
        """Whether asking it for anything could wait for a server: such are named, and never asked."""
        return MAY_HANG.match(self.kind) is not None


class Mounts:
    """The file systems a process sees (proc_pid_mountinfo(5))."""

    def __init__(self, pid: int) -> None:
        own, other = link_target("/proc/self/ns/mnt"), link_target(f"/proc/{pid}/ns/mnt")
        self._root = f"/proc/{pid}/root" if other not in (own, None) else ""
        self._path = f"/proc/{pid}/mountinfo" if self._root else "/proc/self/mountinfo"
        self._by_point: dict[str, Mount] = {}
        self._changes = select.poll()
        try:  # Linux marks the open file when something is mounted or unmounted (proc_pid_mounts(5))
            self._file = open(self._path, "rb", buffering=0)  # noqa: SIM115 - open as long as this is used
            self._changes.register(self._file, select.POLLPRI)
        except OSError:
            pass
        self._read()

    def refresh(self) -> None:
        """Read again what is mounted, if that has changed."""
        if self._changes.poll(0):
            self._read()

    def _read(self) -> None:
        """What was known stays if nothing can be read any more."""
        found: dict[str, Mount] = {}
        for line in read_file(self._path).decode("utf-8", "surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            words = before.split(" ")
            if len(words) > 4 and after:
                point = _unescape(words[4])
                found[point] = Mount(point, after.split(" ", 1)[0])  # what is mounted later covers what was there
        self._by_point = found or self._by_point

    def holding(self, path: str) -> Mount | None:
        """The file system on which an absolute path lies; None for what holds no data of the user's."""
        while path not in self._by_point and path not in ("/", ""):
            path = path.rpartition("/")[0] or "/"
        mount = self._by_point.get(path)
        return None if mount is None or mount.kind in _PSEUDO else mount

    def full(self) -> Iterator[Mount]:
        """All file systems on which the process could write, and which have no page left for it."""
        for mount in self._by_point.values():
            if mount.kind in _PSEUDO or mount.may_hang:
                continue
            try:
                found = os.statvfs(self._root + mount.point)
            except OSError:
                continue
            if found.f_blocks and found.f_bavail == 0 and not found.f_flag & os.ST_RDONLY:
                yield mount

    def space(self, mount: Mount) -> tuple[int | None, int | None]:
        """Its size, and what is free for this user, in bytes (statvfs(3)); None for both where it is not asked."""
        if mount.may_hang:
            return None, None
        try:
            found = os.statvfs(self._root + mount.point)
        except OSError:
            return None, None
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def _unescape(text: str) -> str:
    r"""Blanks and the like stand as `\040` there."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text) if "\\" in text else text


def is_full(free_bytes: int | None, total_bytes: int | None) -> bool:
    """Whether nine tenths of a file system are in use."""
    return free_bytes is not None and bool(total_bytes) and free_bytes * 10 <= (total_bytes or 0)


def as_json(
    mount: Mount, roles: set[str], space: tuple[int | None, int | None], mapped_bytes: int | None, shrunk: list[str]
) -> dict[str, Any]:
    """A `recording.events.FileSystem`."""
    total, free = space
    known = {"total_bytes": total, "free_bytes": free} if total is not None else {}
    extra = {"mapped_bytes": mapped_bytes, "shrunk_files": shrunk}
    return {
        "path": mount.point,
        "kind": mount.kind,
        **known,
        "roles": sorted(roles),
        **{k: v for k, v in extra.items() if v},
    }
