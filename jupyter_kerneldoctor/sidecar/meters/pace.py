"""How often something costly may be done."""

import math
import time


class Pace:
    """Keeps what runs inside `with pace:` below a share of one processor, and the runs some time apart."""

    def __init__(self, share: float, least_s: float, most_s: float = math.inf, *, saved_s: float = 0.0) -> None:
        """However cheap it is, `least_s` lie between two runs; however dear, no more than `most_s`.

        `saved_s` of processor time may be spent beforehand, and is saved up again.
        """
        self._saved_s = self._most_saved_s = saved_s
        self._ended_s = time.monotonic()
        self._share = share
        self._least_s = least_s
        self._most_s = most_s
        self._began_s = 0.0
        self.next_mono_s = 0.0
        """When it may be done again."""

    def allows(self, now_mono_s: float) -> bool:
        """Whether it may be done again."""
        return now_mono_s >= self.next_mono_s

    def __enter__(self) -> None:
        self._began_s = time.thread_time()

    def __exit__(self, *_: object) -> None:
        spent_s, now_s = time.thread_time() - self._began_s, time.monotonic()
        earned_s = self._share * (now_s - self._ended_s)
        self._saved_s = min(self._most_saved_s, self._saved_s + earned_s) - spent_s
        self._ended_s = now_s
        self.next_mono_s = now_s + min(self._most_s, max(self._least_s, -self._saved_s / self._share))
