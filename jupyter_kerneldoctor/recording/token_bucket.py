"""How many events of a kind are recorded: what goes on for days must not fill the disk, and what is new be told."""

from __future__ import annotations


class TokenBucket:
    """So many at once; each time a while has passed, one more."""

    def __init__(self, at_once: int, then_every_s: float) -> None:
        self._most = self._left = float(at_once)
        self._every_s = then_every_s
        self._asked_mono_s = 0.0

    def take(self, now_mono_s: float) -> bool:
        """Whether one may be recorded now; if so, it counts as recorded."""
        passed_s, self._asked_mono_s = now_mono_s - self._asked_mono_s, now_mono_s
        self._left = min(self._most, self._left + passed_s / self._every_s)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
