"""Has the kernel say what a growing cell holds: soon, at shares of the nearest memory limit, and now and then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...recording.token_bucket import TokenBucket
from ..inbox import Message
from ..observer import Observer
from ..stacks.read_schedule import nearest_limit

if TYPE_CHECKING:
    from ..observer import Watched

SHARES = (0.5, 0.7, 0.85)
"""Of the limit, or where much of it was in use before the cell, of what was left."""
_MUCH = 0.4
_TOO_LATE = 0.97
"""Of the limit: looking takes some memory, too."""

_AFTER_S = (0.5, 60.0, 600.0)
"""After the cell's start, and then after the last look. A look takes less than a hundredth of the first."""
_MOST_REPEATS = 2
"""Of looks for which the machine was too busy."""
_BURST, _REFILL_S = 60, 120.0
"""Of looks: so a day of cells that all grow stays small."""
_LEAST_GROWTH_BYTES = 16 << 20
"""Since the cell's start or the last look."""


class HeldObserver(Observer):
    """Asks our thread in the kernel, which answers if it gets the GIL: six times a cell, and seldom more."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._asks: int | None = None
        self._shares: list[float] | None = None
        """Those still to come; None before the cell's first sample."""
        self._after_s: list[float] = []
        self._asked_mono_s = 0.0
        self._rss_bytes = 0
        self._repeats = 0
        self._bucket = TokenBucket(_BURST, _REFILL_S)
        watched.after_sample.append(self._consider)

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Keep the pipe that the thread reads; begin anew when a cell starts."""
        if event["event"] == "look_thread" and isinstance(event, Message) and len(event.descriptors) == 1:
            self.stop()
            self._asks = event.descriptors.pop()
            os.set_blocking(self._asks, False)
            if isinstance(event.get("thread_id"), int):
                self._watched.look_thread = event["thread_id"]
        elif event["event"] == "cell_start":
            self._shares, self._after_s, self._asked_mono_s = None, [*_AFTER_S], now_mono_s
            self._repeats = _MOST_REPEATS
        elif event["event"] == "held" and not event.get("objects") and not event.get("complete") and self._repeats:
            self._repeats -= 1
            self._ask()

    def stop(self) -> None:
        """Close the pipe: the thread ends."""
        descriptor, self._asks = self._asks, None  # also where closing fails: the number is free then
        if descriptor is not None:
            os.close(descriptor)

    def _consider(self, now_mono_s: float) -> None:
        sample = self._watched.sample
        if self._asks is None or not self._watched.is_busy or sample is None or sample.rss_bytes is None:
            return
        limit = nearest_limit(sample, self._watched.limits)
        share = 0.0 if limit is None else limit.share
        if self._shares is None:
            begin = share if share > _MUCH else 0.0
            self._shares = [begin + (1 - begin) * part for part in SHARES]
            self._rss_bytes = sample.rss_bytes
        passed = [part for part in self._shares if share >= part]
        is_time = bool(self._after_s) and now_mono_s - self._asked_mono_s >= self._after_s[0]
        has_grown = sample.rss_bytes - self._rss_bytes >= _LEAST_GROWTH_BYTES
        if (passed or is_time) and has_grown and share < _TOO_LATE and not self._watched.under_oom:
            self._shares = self._shares[len(passed) :]
            if is_time:
                self._after_s.pop(0)
            self._asked_mono_s, self._rss_bytes = now_mono_s, sample.rss_bytes
            if self._bucket.take(now_mono_s):
                self._ask()

    def _ask(self) -> None:
        if self._asks is None:
            return
        try:
            os.write(self._asks, b"?")
        except BlockingIOError:
            pass  # it has not had the GIL for long
        except OSError:  # the thread has ended
            self.stop()
