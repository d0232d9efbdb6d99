"""Finds the thread that touches new memory: each counts its own page faults (minflt in proc_pid_stat(5))."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..meters.procfs import ProcFile, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PAGE_BYTES = 4096
_STATE, _MINFLT = 0, 7


class PageFaults:
    """The counts of the main thread and, where that one waits, of the others."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stat = ProcFile(f"/proc/{pid}/task/{pid}/stat")
        self._before: dict[int, int] = {}

    def other_thread(self, grown_bytes: int, others: Callable[[], Iterable[int]]) -> int | None:
        """Return which of `others` has had the most faults since the last call; None where it is the main thread.

        A thread is compared from the second time on. Nobody's memory has grown where another process's has.
        """
        fields = _fields(self._stat.read())
        most, thread = self._since(self._pid, fields), None
        # A fault may bring a page, or a huge one. A thread that does not wait now is what runs.
        if not fields or most * _PAGE_BYTES > grown_bytes // 2 or (most and fields[_STATE] != b"S"):
            return None
        for other in others():
            faults = self._since(other, _fields(read_file(f"/proc/{self._pid}/task/{other}/stat")))
            if other != self._pid and faults > most:
                most, thread = faults, other
        return thread

    def _since(self, thread: int, fields: list[bytes]) -> int:
        faults = int(fields[_MINFLT]) if fields else 0
        since = faults - self._before.get(thread, faults)
        self._before[thread] = faults
        return since

    def close(self) -> None:
        """Close the file."""
        self._stat.close()


def _fields(stat: bytes) -> list[bytes]:
    """Return the fields from the third on, as `recording.processes.stat_fields`."""
    return stat[stat.rfind(b")") + 1 :].split()
