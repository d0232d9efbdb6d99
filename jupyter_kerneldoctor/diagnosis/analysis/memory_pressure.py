"""How short of memory the machine was, by the figures that out-of-memory services go by.

Thresholds: earlyoom acts below 10 % of memory available together with 10 % of swap free, and kills below 5 % (its
manual page); systemd-oomd at 90 % of swap used, or when a group waited for memory 60 % of the time (oomd.conf(5)).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.events import SystemState
from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Evidence
from ..units import size

LOW_SHARE = 0.10
"""Below this share of the machine's memory available, it is low."""

NEARLY_NOTHING = 0.05
SWAP_FULL = 0.10
PRESSED_PERCENT = 40.0
"""From this share of the time on in which everything waited for memory, it is under pressure."""


@dataclass(frozen=True)
class MemoryPressure:
    """The shortage of memory at the last measurement."""

    available_bytes: int | None = None
    available_share: float | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    pressure_full: float | None = None

    @property
    def swap_is_gone(self) -> bool | None:
        """Whether swap is used up, or there is none; None when not known."""
        if self.swap_total_bytes is None:
            return None
        if self.swap_total_bytes == 0:
            return True
        return None if self.swap_free_bytes is None else self.swap_free_bytes < SWAP_FULL * self.swap_total_bytes

    @property
    def swap_is_full(self) -> bool:
        """Whether there is swap, and it is used up."""
        return bool(self.swap_total_bytes) and self.swap_is_gone is True

    @property
    def is_low(self) -> bool:
        """Whether the machine's memory is low, and swap does not help."""
        return self.available_share is not None and self.available_share < LOW_SHARE and self.swap_is_gone is not False

    @property
    def is_nearly_gone(self) -> bool:
        """Whether the machine's memory is low, and less than 5 % is left."""
        return self.is_low and self.available_share is not None and self.available_share < NEARLY_NOTHING

    @property
    def is_pressed(self) -> bool:
        """Whether everything waited for memory a large part of the time."""
        return self.pressure_full is not None and self.pressure_full >= PRESSED_PERCENT

    def evidence(self) -> Iterator[Evidence]:
        """Yield the figures that show the shortage."""
        if self.available_bytes is not None and (self.available_share or 0.0) < LOW_SHARE:
            text = f"The machine had {size(self.available_bytes)} of memory left at the last measurement."
            yield Evidence(text, self.available_bytes, "bytes", "/proc/meminfo MemAvailable")
        if self.swap_is_full and self.swap_free_bytes is not None and self.swap_total_bytes is not None:
            text = f"{size(self.swap_free_bytes)} of {size(self.swap_total_bytes)} of swap was free."
            yield Evidence(text, self.swap_free_bytes, "bytes", "/proc/meminfo SwapFree")
        if self.is_pressed and self.pressure_full is not None:
            text = f"All programs at once waited for memory for {self.pressure_full:.0f}% of the last ten seconds."
            yield Evidence(text, round(self.pressure_full, 1), "percent", "/proc/pressure/memory full")


def memory_pressure(recording: Recording, around: SystemState) -> MemoryPressure:
    """Return how short of memory the machine was at the last measurement; `around` is the machine at that moment."""
    last, ram = recording.samples[-1] if recording.samples else None, recording.kernel.ram_bytes
    available = last.available_bytes if last is not None else None
    return MemoryPressure(
        available_bytes=available,
        available_share=available / ram if available is not None and ram else None,
        swap_total_bytes=around.swap_total_bytes,
        swap_free_bytes=around.swap_free_bytes,
        pressure_full=around.pressure_full,
    )
