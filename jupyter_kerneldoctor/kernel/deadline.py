"""A limit of a thread's processor time, which a busy machine does not use up."""

import time


class Deadline:
    """Tells often and cheaply whether the time is up.

    The clock of processor time takes microseconds to read. It goes no faster than the monotonic one, which is read in
    its place until the time may be up.
    """

    def __init__(self, until_s: float) -> None:
        """Be over at `until_s` (time.thread_time)."""
        self.until_s = until_s
        self._earliest_mono_s = 0.0

    @property
    def is_over(self) -> bool:
        now = time.monotonic()
        if now < self._earliest_mono_s:
            return False
        left_s = self.until_s - time.thread_time()
        self._earliest_mono_s = now + left_s
        return left_s < 0
