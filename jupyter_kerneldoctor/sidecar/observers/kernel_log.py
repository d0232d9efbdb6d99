"""Observes what the operating system's log says about the kernel's death, where it may be read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...recording.kernel_log import KernelLog
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_DRAIN_S = 30.0
_PATIENCE_S = 0.05


class KernelLogObserver(Observer):
    """Reads all the time, so that little is left to read at the end. A line that comes later gets its own event."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._log = KernelLog(watched.kernel.pid)
        self._ended = False
        self._after_mono_s = 0.0
        watched.after_sample.append(self._after_sample)

    def at_end(self) -> dict[str, Any]:
        """Return the lines found so far."""
        self._ended = True
        self._log.read()
        return {"kernel_log": list(self._log.lines)} if self._log.lines else {}

    def stop(self) -> None:
        """Wait a moment for a late line: Linux may log a kill after the end, which is on disk by now."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._ended and not self._log.lines and (left_s := deadline - time.monotonic()) > 0:
            if not self._log.wait(left_s):
                break
            self._log.read()
            if self._log.lines:
                self._watched.note("kernel_log", lines=self._log.lines)
        self._log.close()

    def _after_sample(self, now_mono_s: float) -> None:
        if now_mono_s >= self._after_mono_s:
            self._after_mono_s = now_mono_s + _DRAIN_S
            self._log.read()
