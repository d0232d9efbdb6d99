"""Writes the samples of the cards that differ from the one before, and one every ten seconds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ...recording.layout import GPU
from ...recording.rotating_log import RotatingLog

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
"""As `recording.events.GpuSample`."""

MOST_BYTES = 256 * 1024
"""Of each of the two files: some 1,000 samples, hours of one card that works steadily."""

LONGEST_GAP_S = 10.0

_SMALL_STEP = 0.01  # of memory
_DEGREES = 3
_PERCENT = 25  # of utilisation, which jumps all the time while a card works


class GpuSampleWriter:
    """Used by the thread that reads the cards, and by the sidecar's loop when the kernel has ended (`flush`)."""

    def __init__(self, directory: Path) -> None:
        """Open the two files. Raises OSError."""
        self._files = RotatingLog(directory, GPU, MOST_BYTES)
        self._written: dict[int, Row] = {}
        self._pending: dict[int, Row] = {}
        self._lock = threading.Lock()

    def write(self, row: Row) -> None:
        """Append a sample, unless it says the same as the last one that was written of this card."""
        with self._lock:
            index = row["index"]
            last, before = self._written.get(index), self._pending.pop(index, None)
            if last is not None and not is_informative(last, row):
                self._pending[index] = row
                return
            if before is not None:  # the end of the flat stretch, so that a jump does not look like a ramp
                self._files.write(before)
            self._files.write(row)
            self._written[index] = row

    def flush(self, patience_s: float) -> None:
        """Append the newest sample of each card; give up after `patience_s` where the other thread hangs in a write."""
        if not self._lock.acquire(timeout=patience_s):
            return
        try:
            for row in self._pending.values():
                self._files.write(row)
            self._pending.clear()
        finally:
            self._lock.release()


def is_informative(before: Row, after: Row) -> bool:
    """Return whether a card's state changed in a way that matters, or ten seconds have passed."""
    return (
        after["mono_s"] - before["mono_s"] >= LONGEST_GAP_S
        or any(_differs(before[name], after[name]) for name in ("used_bytes", "own_bytes"))
        or any(before[name] != after[name] for name in ("throttle", "ecc_uncorrected"))
        or [other["pid"] for other in before["others"]] != [other["pid"] for other in after["others"]]
        or _differs(before["temperature_c"], after["temperature_c"], _DEGREES)
        or _differs(before["utilisation"], after["utilisation"], _PERCENT)
    )


def _differs(before: int | None, after: int | None, step: int | None = None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > (_SMALL_STEP * max(before, after) if step is None else step - 1)
