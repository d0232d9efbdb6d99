"""The largest other processes of this user that share a memory limit with the kernel, or the machine's memory.

A kernel is named by its notebook, from its own recording. Looking takes some 20 us for each process.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...recording.journal import values
from ...recording.layout import JOURNAL
from ...recording.private_files import read_part
from .cgroup_membership import Membership
from .descendants import memory
from .procfs import list_directory

if TYPE_CHECKING:
    from pathlib import Path

_LEAST_BYTES = 50 << 20
_MOST = 5
_FIRST_LINES_BYTES = 64 << 10


def neighbours(own: set[int], group: str | None, recordings: Path, proc: str = "/proc") -> list[dict[str, Any]]:
    """Return them as `recording.events.Neighbour`, largest first; `own` are the pids that do not count.

    With the path of a control group only those in it, or in a group below it. `recordings` is where all of them lie.
    """
    found: list[dict[str, Any]] = []
    for name in list_directory(proc):
        pid = int(name) if name.isdigit() else 0
        if pid and pid not in own and _is_of_this_user(f"{proc}/{pid}"):
            held = memory(pid)
            if held is not None and held.rss_bytes >= _LEAST_BYTES:
                found.append({"pid": pid, "name": held.name, "rss_bytes": held.rss_bytes})
    found.sort(key=lambda one: -one["rss_bytes"])
    shown = [one for one in found if group is None or _is_in(one["pid"], group, proc)][:_MOST]
    return [{**one, **_notebook(one["pid"], recordings)} for one in shown]


def _is_of_this_user(directory: str) -> bool:
    try:
        return os.stat(directory).st_uid == os.getuid()
    except OSError:
        return False


def _is_in(pid: int, group: str, proc: str) -> bool:
    membership = Membership(pid, proc)
    try:
        membership.has_changed()
        places = [place for version in (1, 2) for place in membership.places("memory", version)]
        return any(place.path == group for place in places)
    finally:
        membership.close()


def _notebook(pid: int, recordings: Path) -> dict[str, str]:
    """Return the notebook of a kernel that is recorded, too, from the first lines of its recording.

    Its environment tells the same, but whoever reads that of a process that is stuck may be stuck with it.
    """
    for name in sorted(list_directory(str(recordings)), reverse=True):
        if name.split("-")[1:2] == [str(pid)]:
            with suppress(OSError):
                for event in values(read_part(recordings / name / JOURNAL, 0, _FIRST_LINES_BYTES)):
                    if isinstance(event, dict) and isinstance(event.get("notebook"), str):
                        return {"notebook": event["notebook"]}
            return {}
    return {}
