"""The processes below another one, found without looking at every process of the machine."""

import os
from typing import NamedTuple

from ...recording.processes import stat_fields
from .procfs import ProcFile, kilobytes, list_directory, read_file

_MOST = 512


class Found(NamedTuple):
    """A process below the kernel."""

    pid: int
    parent: int


class Descendants:
    """Walks down from a process (proc_pid_task(5), `children`), and down from those that were below it once."""

    def __init__(self) -> None:
        self._loadavg = ProcFile("/proc/loadavg")
        self._newest = b""
        self._me = os.getpid()
        self._has_lists = os.path.exists(f"/proc/{self._me}/task/{self._me}/children")

    def may_have_changed(self) -> bool:
        """Whether any process or thread was started since the last call (the last field of /proc/loadavg)."""
        newest = self._loadavg.read().rpartition(b" ")[2]
        changed = newest != self._newest or not newest
        self._newest = newest
        return changed

    def walk(self, roots: list[int], *, thorough: bool) -> list[Found]:
        """All that is below the roots, which themselves are left out, as is this process; a bounded number.

        Only a thorough walk finds what was started by another thread than the first one of its process; it costs more.
        """
        if not self._has_lists:
            below = _Parents().below if thorough else _nobody
        else:
            below = _of_all_threads if thorough else _of_first_thread
        found: dict[int, Found] = {}
        waiting = list(roots)
        while waiting and len(found) < _MOST:
            parent = waiting.pop()
            for pid in below(parent):
                if pid not in found and pid not in roots and pid != self._me:
                    found[pid] = Found(pid, parent)
                    waiting.append(pid)
        return list(found.values())


def _nobody(_pid: int) -> list[int]:
    return []


def _of_first_thread(pid: int) -> list[int]:
    return [int(word) for word in read_file(f"/proc/{pid}/task/{pid}/children").split()]


def _of_all_threads(pid: int) -> list[int]:
    lists = [read_file(f"/proc/{pid}/task/{thread}/children") for thread in list_directory(f"/proc/{pid}/task")]
    return [int(word) for some in lists for word in some.split()]


class _Parents:
    """Where Linux was built without those lists: who is whose parent, of all processes."""

    def __init__(self) -> None:
        self._children: dict[int, list[int]] = {}
        for name in list_directory("/proc"):
            fields = stat_fields(int(name)) if name.isdigit() else None
            if fields is not None:
                self._children.setdefault(int(fields[1]), []).append(int(name))

    def below(self, pid: int) -> list[int]:
        return self._children.get(pid, [])


class Memory(NamedTuple):
    """What one process holds."""

    name: str
    rss_bytes: int
    peak_bytes: int


def memory(pid: int) -> Memory | None:
    """Name, resident memory and its highest (proc_pid_status(5)); None for a process that has ended."""
    status = read_file(f"/proc/{pid}/status")
    rss, peak = kilobytes(status, b"VmRSS:"), kilobytes(status, b"VmHWM:")
    if rss is None or peak is None:
        return None
    name = status.partition(b"\n")[0].partition(b"\t")[2]
    return Memory(name.decode("utf-8", "replace"), rss, peak)


def proportional_bytes(pid: int) -> int | None:
    """Memory with each shared page counted by the process's share (PSS in proc_pid_smaps(5)); None if not told.

    Linux walks the page tables for it: about 1 ms for each GiB in small pages, during which it lets go of the lock
    whenever the process itself wants it.
    """
    return kilobytes(read_file(f"/proc/{pid}/smaps_rollup"), b"Pss:")
