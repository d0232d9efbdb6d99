"""This process's memory, read in a few microseconds, and the exact peak of a stretch of time.

Linux keeps the highest resident size of a process as VmHWM in /proc/self/status; writing 5 to /proc/self/clear_refs
sets it back to the present size (proc_pid_status(5), proc_pid_clear_refs(5)). So the peak of a cell is exact, also
when memory is allocated and freed within one call that holds the GIL. `resource.getrusage().ru_maxrss` falls with it.
"""

from __future__ import annotations

import os
import sys
import time
from typing import ClassVar

from .descriptors import KeptFile

if sys.platform != "win32":
    import resource

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


_statm = KeptFile("/proc/self/statm")
_status = KeptFile("/proc/self/status")
_clear_refs = KeptFile("/proc/self/clear_refs", os.O_WRONLY)


def close_files() -> None:
    """Close the files of /proc that are kept open while cells are measured."""
    for file in (_statm, _status, _clear_refs):
        file.close()


def rss_bytes() -> int | None:
    """Resident memory of this process; None where it cannot be read."""
    data = _statm.read()
    if data is not None:
        return int(data.split(None, 2)[1]) * _PAGE_BYTES
    if sys.platform == "linux":
        return None
    import psutil  # noqa: PLC0415 - only where there is no /proc

    return int(psutil.Process().memory_info().rss)


def reset_peak() -> bool:
    """Let the peak begin at the present size; return whether this system can do that."""
    return _clear_refs.write(b"5")


def peak_and_rss_bytes() -> tuple[int | None, int | None]:
    """The highest resident size since `reset_peak`, and the present one."""
    data = _status.read() or b""
    rss = _status_bytes(data, b"VmRSS:")
    return _status_bytes(data, b"VmHWM:"), rss_bytes() if rss is None else rss


def _page_faults() -> int:
    """How many page faults all threads of this process had so far (getrusage(2))."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


class Stretch:
    """The memory over a stretch of time: a cell, or a line within it. Stretches may overlap in any way.

    There is one VmHWM for all of them, so that who resets it first notes the peak for those already under way.
    """

    _under_way: ClassVar[list[Stretch]] = []

    def __init__(self, *, exact: bool = True) -> None:
        """Begin now. Without `exact`, VmHWM is left alone and the peak is not known."""
        if exact and Stretch._under_way:
            so_far = peak_and_rss_bytes()[0]
            for stretch in Stretch._under_way:
                stretch.note(so_far)
        self.exact = exact and reset_peak()
        self.started_mono_s = time.monotonic()
        self.ended_mono_s: float | None = None
        self._faults_before = _page_faults() if self.exact else None
        self.before_bytes = rss_bytes()
        self.after_bytes: int | None = None
        self.peak_bytes: int | None = None
        if self.exact:
            Stretch._under_way.append(self)

    def end(self) -> Stretch:
        """End now."""
        if self.exact and _page_faults() == self._faults_before:
            # Memory only grows by page faults, so nothing has; reading VmHWM costs several times what this does.
            peak, self.after_bytes = self.before_bytes, rss_bytes()
        else:
            peak, self.after_bytes = peak_and_rss_bytes()
        self.ended_mono_s = time.monotonic()
        if self.exact:
            Stretch._under_way.remove(self)
            self.note(peak)
            self.exact = self.peak_bytes is not None
        return self

    def note(self, peak: int | None) -> None:
        """Take a peak that was read into account."""
        if peak is not None:
            self.peak_bytes = max(peak, self.peak_bytes or 0)


def _status_bytes(data: bytes, name: bytes) -> int | None:
    start = data.find(name)
    if start < 0:
        return None
    return int(data[start + len(name) :].split(None, 1)[0]) * 1024  # "kB" there means 1024 bytes
