"""Finds the thread that touches new memory: each counts its own page faults (minflt in proc_pid_stat(5))."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..meters.procfs import ProcFile, list_directory, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PAGE_BYTES = 4096
_STATE, _MINFLT = 0, 7
_MOST_REMEMBERED = 4096


class PageFaults:
    """The counts of the main thread and, where that one waits, of the others."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stat = ProcFile(f"/proc/{pid}/task/{pid}/stat")
        self._before: dict[int, int] = {}
        for thread in list_directory(f"/proc/{pid}/task"):
            self._since(int(thread), self._read(int(thread)))
        self._was_other = False

    def other_threads(self, grown_bytes: int, others: Callable[[], Iterable[int]]) -> list[int]:
        """Return which of `others` have had more faults than the main thread since the last call, the most first.

        None where memory grew in the main thread, or in another process.
        """
        fields = _fields(self._stat.read())
        main = self._since(self._pid, fields)
        waits = fields[_STATE : _STATE + 1] == [b"S"]
        # A fault may bring a page, or a huge one: few faults of a thread that does not wait now may be all there is.
        if not fields or main * _PAGE_BYTES > grown_bytes // 2 or (main and not waits and not self._was_other):
            self._was_other = False
            return []
        if len(self._before) > _MOST_REMEMBERED:
            alive = set(list_directory(f"/proc/{self._pid}/task"))
            self._before = {one: faults for one, faults in self._before.items() if str(one) in alive}
        since = {other: self._since(other, self._read(other)) for other in others() if other != self._pid}
        is_told = waits or not main or sum(since.values()) * _PAGE_BYTES > grown_bytes // 2
        more = [other for other in sorted(since, key=since.__getitem__, reverse=True) if since[other] > main]
        self._was_other = is_told and bool(more)
        return more if is_told else []

    def _read(self, thread: int) -> list[bytes]:
        return _fields(read_file(f"/proc/{self._pid}/task/{thread}/stat"))

    def _since(self, thread: int, fields: list[bytes]) -> int:
        faults = int(fields[_MINFLT]) if fields else 0
        since = faults - self._before.get(thread, 0)
        self._before[thread] = faults
        return since

    def close(self) -> None:
        """Close the file."""
        self._stat.close()


def _fields(stat: bytes) -> list[bytes]:
    """Return the fields from the third on, as `recording.processes.stat_fields`."""
    return stat[stat.rfind(b")") + 1 :].split()
