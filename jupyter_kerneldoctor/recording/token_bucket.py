"""Limits how many events of a kind are recorded, so that one that repeats for days does not fill the disk."""


class TokenBucket:
    """Allows a burst of events, and from then on one for each refill."""

    def __init__(self, burst: float, refill_s: float) -> None:
        """Start with `burst` tokens, which is also the most; add one every `refill_s`."""
        self._burst = self._tokens = float(burst)
        self._refill_s = refill_s
        self._filled_mono_s = 0.0

    def take(self, now_mono_s: float) -> bool:
        """Take a token if there is one; return whether there was."""
        passed_s, self._filled_mono_s = now_mono_s - self._filled_mono_s, now_mono_s
        self._tokens = min(self._burst, self._tokens + passed_s / self._refill_s)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
