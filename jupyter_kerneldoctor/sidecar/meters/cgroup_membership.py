"""Where the control groups of a process lie: its own and every ancestor, in version 1 and in version 2.

cgroups(7) describes /proc/PID/cgroup, proc_pid_mountinfo(5) the mounts.
"""

import posixpath
from typing import NamedTuple

from .procfs import ProcFile, is_exiting, read_file

_UNIFIED = ""


class Place(NamedTuple):
    """One control group."""

    path: str
    """As people know it, from the root of what is mounted here."""
    directory: str
    """Where its files lie."""


class Membership:
    """The control groups one process is a member of. It may be moved to others at any time."""

    def __init__(self, pid: int, proc: str = "/proc", known: str = "") -> None:
        """`proc` is where /proc lies; tests give a tree of their own.

        `known` is what its /proc/PID/cgroup said earlier, for a process that ends before the first look at it.
        """
        self._file = ProcFile(f"{proc}/{pid}/cgroup")
        self._stat = ProcFile(f"{proc}/{pid}/stat")
        # Of a zombie the mounts cannot be read, and a process started by the kernel sees the same ones.
        self._mountinfo = f"{proc}/self/mountinfo"
        self._known = known.encode()
        self._seen = b""

    def has_changed(self) -> bool:
        """Whether the process is in other groups than at the last call.

        A process that ends leaves its groups of version 1 for their root, and until it is waited for that is what is
        read: that is no move, also where it is waited for right after that.
        """
        seen = self._file.read()
        if (not seen or seen != self._seen) and is_exiting(self._stat.read()):
            of_version_2 = b"".join(line for line in seen.splitlines(keepends=True) if line.startswith(b"0::"))
            seen = self._seen or self._known or of_version_2
        if seen == self._seen or not seen:
            return False
        self._seen = seen
        return True

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._stat.close()

    def places(self, controller: str, version: int) -> list[Place]:
        """The groups from the process's own up to the root of what is mounted here; none without such a hierarchy."""
        name = controller if version == 1 else _UNIFIED
        own = _own_path(self._seen.decode("utf-8", "replace"), name)
        mount = _mounts(self._mountinfo).get(name)
        if own is None or mount is None:
            return []
        root, mount_point = mount
        path = "/" + posixpath.relpath(own, root) if _is_below(own, root) else own
        found = []
        while True:
            path = posixpath.normpath(path)
            found.append(Place(path, posixpath.normpath(mount_point + path)))
            if path in ("/", "//", "."):
                return found
            path = posixpath.dirname(path)


def _own_path(membership: str, name: str) -> str | None:
    for line in membership.splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if (name in controllers.split(",")) if name else (number == "0" and not controllers):
            return path
    return None


def _mounts(mountinfo: str) -> dict[str, tuple[str, str]]:
    """Root and mount point of each hierarchy: of version 1 by the name of the controller."""
    found: dict[str, tuple[str, str]] = {}
    for line in read_file(mountinfo).decode("utf-8", "replace").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, rest = after.partition(" ")
        if kind in ("cgroup", "cgroup2"):
            root, mount_point = before.split()[3:5]
            names = [_UNIFIED] if kind == "cgroup2" else rest.split()[-1].split(",")
            found.update(dict.fromkeys(names, (root, mount_point)))
    return found


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
