"""Observes how far the wall clock is from the monotonic one: that changes when it is set or the machine slept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_LOOK_S = 5.0
_JUMP_S = 1.0


class ClockObserver(Observer):
    """Keeps the offset that turns monotonic times into wall-clock times."""

    def __init__(self, watched: Watched, offset_s: float) -> None:
        self._watched = watched
        self.offset_s = offset_s
        self.due_mono_s = 0.0

    def turn(self, now_mono_s: float) -> None:
        """Note a jump of the wall clock."""
        self.due_mono_s = now_mono_s + _LOOK_S
        offset = time.time() - now_mono_s
        if abs(offset - self.offset_s) > _JUMP_S:
            self.offset_s = offset
            self._watched.note("clock")
