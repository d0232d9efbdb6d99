"""Which files the kernel process uses: those it has open and mapped, and the file systems under them."""

from typing import Any

from . import mappings
from .filesystems import Mount, Mounts, as_json
from .procfs import link_target, list_directory

_MOST_OPEN = 200
_WINDOW_S = 1.0

Space = tuple[int | None, int | None]


class StorageMeter:
    """A look finds what is used; between two looks only the free space is watched, which is cheap."""

    def __init__(self, pid: int, temporary: str) -> None:
        """`temporary` is the process's directory for temporary files."""
        self._pid = pid
        self._fixed = (("shm", "/dev/shm"), ("tmp", temporary))  # noqa: S108 - only looked at
        self._mounts = Mounts(pid)
        self._mapped = mappings.Mapped()
        self._mapped_at: object = None
        self._roles: dict[Mount, set[str]] = {}
        self._lows: tuple[dict[Mount, Space], dict[Mount, Space]] = ({}, {})
        self._window_ends_mono_s = 0.0
        self.open_files: int | None = None
        """How many descriptors the process has open."""

    @property
    def libraries(self) -> tuple[str, ...]:
        """Native libraries of interest that are mapped."""
        return self._mapped.libraries

    def look(self, address_space: object) -> None:
        """Find out what is open and mapped. Mappings are read again only when the size of the address space changed.

        Once the process has ended nothing is found, and what was known stays.
        """
        names = list_directory(f"/proc/{self._pid}/fd")
        if not names:
            return
        self.open_files = len(names)
        self._mounts.refresh()
        if address_space != self._mapped_at:
            self._mapped, self._mapped_at = mappings.read(self._pid), address_space
        opened = [link_target(f"/proc/{self._pid}/fd/{name}") for name in names[-_MOST_OPEN:]]
        roles: dict[Mount, set[str]] = {}
        for role, path in (
            *self._fixed,
            ("cwd", link_target(f"/proc/{self._pid}/cwd")),
            *(("open", path) for path in opened),
            *(("mapped", data.path) for data in self._mapped.data),
        ):
            mount = self._mounts.holding(path) if path is not None and path.startswith("/") else None
            if mount is not None:
                roles.setdefault(mount, set()).add(role)
        self._roles = roles

    def watch(self, now_mono_s: float) -> None:
        """Look at the free space, and remember the lowest of the last one or two seconds."""
        if now_mono_s >= self._window_ends_mono_s:
            self._lows = (self._lows[1], {})
            self._window_ends_mono_s = now_mono_s + _WINDOW_S
        lows = self._lows[1]
        for mount in self._roles:
            space = self._mounts.space(mount)
            lows[mount] = _lower(lows.get(mount), space)

    def filesystems(self, *, lowest: bool = False) -> list[dict[str, Any]]:
        """The file systems in use, as `recording.events.FileSystem`; with the lowest free space of late, if asked.

        Then those are named, too, that are full without being known to be in use: a file may have been mapped after
        the last look.
        """
        shrunk: dict[Mount, list[str]] = {}
        mapped: dict[Mount, int] = {}
        for data in self._mapped.data:
            mount = self._mounts.holding(data.path)
            if mount is None:
                continue
            mapped[mount] = mapped.get(mount, 0) + data.needed_bytes
            if not mount.may_hang and mappings.is_shrunk(data):
                shrunk.setdefault(mount, []).append(data.path)
        unused: dict[Mount, set[str]] = {mount: set() for mount in self._mounts.full()} if lowest else {}
        return [
            as_json(mount, roles, self._space(mount, lowest=lowest), mapped.get(mount), shrunk.get(mount, []))
            for mount, roles in {**unused, **self._roles}.items()
        ]

    def _space(self, mount: Mount, *, lowest: bool) -> Space:
        space = self._mounts.space(mount)
        for lows in self._lows if lowest else ():
            space = _lower(lows.get(mount), space)
        return space


def _lower(before: Space | None, now: Space) -> Space:
    if before is None or before[1] is None:
        return now
    return before if now[1] is None or before[1] < now[1] else now
