"""The wall clock's distance from the monotonic one, which changes when the clock is set or the machine slept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_LOOK_S = 5.0
_JUMP_S = 1.0


class ClockObserver(Observer):
    """Turns monotonic times into wall-clock ones."""

    def __init__(self, watched: Watched, offset_s: float) -> None:
        self._watched = watched
        self.offset_s = offset_s
        self.due_mono_s = 0.0

    def turn(self, now_mono_s: float) -> None:
        """Note a jump."""
        self.due_mono_s = now_mono_s + _LOOK_S
        offset = time.time() - now_mono_s
        if abs(offset - self.offset_s) > _JUMP_S:
            self.offset_s = offset
            self._watched.note("clock")
