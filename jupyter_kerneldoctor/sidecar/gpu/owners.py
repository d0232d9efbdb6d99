"""Tells the kernel's memory on a card, and its children's, from that of other processes."""

from typing import Any, NamedTuple

from ...recording.processes import sees_all_processes, stat_fields
from ..meters.procfs import read_file

_MOST_OTHERS = 8
_DEEPEST = 64


class Holder(NamedTuple):
    """A process that holds memory of a card; `bytes` is None where the driver does not report it (WSL, MIG)."""

    pid: int
    bytes: int | None


def shares(holders: list[Holder], kernel_pid: int) -> tuple[int | None, list[dict[str, Any]]]:
    """Return the bytes of the kernel and its children, and the other processes as `recording.events.GpuProcess`.

    In a container the driver may report process ids of the host, or no processes at all. So there the result is
    (None, []) unless every id in the list exists.
    """
    if not sees_all_processes() and not (holders and all(stat_fields(holder.pid) for holder in holders)):
        return None, []
    own = [holder.bytes for holder in holders if is_below(holder.pid, kernel_pid)]
    others = [holder for holder in holders if not is_below(holder.pid, kernel_pid)]
    others.sort(key=lambda holder: holder.bytes or 0, reverse=True)
    listed = [_process(holder) for holder in others[:_MOST_OTHERS]]
    return (None if None in own else sum(size or 0 for size in own)), listed


def is_below(pid: int, ancestor: int) -> bool:
    """Return whether a process is `ancestor` or below it."""
    for _ in range(_DEEPEST):
        if pid == ancestor:
            return True
        fields = stat_fields(pid)
        if fields is None or pid <= 1:
            return False
        pid = int(fields[1])
    return False


def _process(holder: Holder) -> dict[str, Any]:
    name = read_file(f"/proc/{holder.pid}/comm").decode("utf-8", "replace").strip()
    return {"pid": holder.pid, "bytes": holder.bytes, "name": name or None}
