"""The machine's memory."""

from __future__ import annotations

from .files import ProcFile


class HostMeter:
    """Reads /proc/meminfo (proc_meminfo(5))."""

    def __init__(self) -> None:
        self._meminfo = ProcFile("/proc/meminfo")

    def total_bytes(self) -> int | None:
        """RAM of the machine."""
        return self._kilobytes(b"MemTotal:")

    def available_bytes(self) -> int | None:
        """What can be allocated without swapping, as Linux estimates it."""
        return self._kilobytes(b"MemAvailable:")

    def _kilobytes(self, key: bytes) -> int | None:
        value = self._meminfo.value(key)
        return None if value is None else value * 1024
