"""The peaks and valleys of a memory curve: each step of a loop takes memory and gives it back."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

_SWING = 0.1
"""Of the growth: what moves less is no peak."""
_LEAST_SWING_BYTES = 8 << 20
_FEWEST = 3
_RISE = 0.3


@dataclass(frozen=True)
class Peaks:
    """The turning points of a curve, in order."""

    high: tuple[int, ...] = ()
    low: tuple[int, ...] = ()
    """Each between two peaks."""
    growth_bytes: int = 0

    @property
    def goes_up_and_down(self) -> bool:
        """Whether memory was taken and given back several times."""
        return len(self.high) >= _FEWEST

    @property
    def keeps_rising(self) -> bool:
        """Whether less was given back than was taken, time after time."""
        return self.goes_up_and_down and len(self.low) >= _FEWEST and _rises(self.low, self.growth_bytes)

    @property
    def peaks_rise(self) -> bool:
        """Whether the peaks rose, and what was left between them did not."""
        return self.goes_up_and_down and not self.keeps_rising and _rises(self.high, self.growth_bytes)

    @property
    def swing_bytes(self) -> int:
        """How much is taken and given back in a step, as a median."""
        falls = sorted(high - low for high, low in zip(self.high, self.low, strict=False))
        return falls[len(falls) // 2] if falls else 0


def peaks(curve: Sequence[int]) -> Peaks:
    """Return the turning points of a curve of bytes, without what is noise beside its growth."""
    if not curve:
        return Peaks()
    growth = max(curve) - curve[0]
    swing = max(_LEAST_SWING_BYTES, _SWING * growth)
    high, low, found_high, found_low, is_rising = curve[0], curve[0], [], [], True
    for value in curve[1:]:
        if is_rising:
            high = max(high, value)
            if value < high - swing:
                found_high.append(high)
                is_rising, low = False, value
        else:
            low = min(low, value)
            if value > low + swing:
                found_low.append(low)
                is_rising, high = True, value
    if is_rising and found_low and high > found_low[-1] + swing:
        found_high.append(high)
    return Peaks(tuple(found_high), tuple(found_low), growth)


def _rises(values: Sequence[int], growth_bytes: int) -> bool:
    ups = sum(after > before for before, after in itertools.pairwise(values))
    return values[-1] - values[0] >= _RISE * growth_bytes and ups > 0.7 * (len(values) - 1)
