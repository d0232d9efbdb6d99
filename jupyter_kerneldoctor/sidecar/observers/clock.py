"""Observes how far the wall clock is from the monotonic one: that changes when it is set or the machine slept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_JUMP_S = 1.0


class ClockObserver(Observer):
    """Keeps the offset that turns monotonic times into wall-clock times, and notes when the wall clock jumps."""

    def __init__(self, watched: Watched, offset_s: float) -> None:
        self._watched = watched
        self.offset_s = offset_s
        watched.after_sample.append(self._after_sample)

    def _after_sample(self, now_mono_s: float) -> None:
        offset = time.time() - now_mono_s
        if abs(offset - self.offset_s) > _JUMP_S:
            self.offset_s = offset
            self._watched.note("clock")
