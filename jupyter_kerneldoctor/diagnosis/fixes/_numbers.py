"""The numbers a fix is judged and sized with, and how they are said."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.context import FixContext

MEMORY = ("oom-cgroup", "oom-host", "oom-userspace", "oom-container", "allocation-refused", "memory-stall")
"""The causes that are about memory of the machine."""

MIB = 1 << 20
_HEADROOM = 0.10  # of the limit is kept free
_LEAST_HEADROOM_BYTES = 256 * MIB
_SMALLEST_SHARE = 0.10
_FEWEST_SAMPLES = 5


def of_words(part_bytes: int, whole_bytes: int) -> str:
    """Two amounts in one unit: "1.5 of 1.6 GiB"."""
    if whole_bytes >= 1000 * MIB:
        return f"{part_bytes / (1 << 30):.1f} of {whole_bytes / (1 << 30):.1f} GiB"
    return f"{part_bytes / MIB:.0f} of {whole_bytes / MIB:.0f} MiB"


def is_memory_death(context: FixContext) -> bool:
    """Whether the most likely cause is that memory ran out."""
    return context.cause.id in MEMORY


def safe_target_bytes(context: FixContext) -> int | None:
    """How much the process may use at most to be safe: the limit less a tenth, or less 256 MiB."""
    if context.limit_bytes is None:
        return None
    headroom = max(int(_HEADROOM * context.limit_bytes), _LEAST_HEADROOM_BYTES)
    return max(context.limit_bytes - headroom, context.limit_bytes // 2)  # half, for very small limits


def grew_here(context: FixContext) -> bool:
    """Whether the cell itself took the memory: false for a house that was full before it began."""
    growth = context.missing_bytes
    if growth is None or growth <= 0:
        return False
    whole = context.limit_bytes or context.peak_bytes or growth
    return growth >= _SMALLEST_SHARE * whole


def ramp_bytes(context: FixContext) -> int:
    """How much the cell grew little by little: its growth without a single jump that made up most of it.

    With too few samples to tell a ramp from a jump, all of the growth.
    """
    growth = context.missing_bytes or 0
    levels = _levels(context)
    if len(levels) < _FEWEST_SAMPLES:
        return growth
    steps = [max(0, after - before) for before, after in pairwise(levels)]
    seen = max(levels) - levels[0]
    return growth - max(steps) if seen > 0 and max(steps) > seen / 2 else growth


def running_s(context: FixContext) -> float | None:
    """How long the cell ran."""
    cell = context.cell
    if cell is None:
        return None
    times = [sample.mono_s for sample in context.recording.samples[-1:]]
    if context.recording.end is not None:
        times.append(context.recording.end.mono_s)
    ended = cell.ended_mono_s if cell.ended_mono_s is not None else max(times, default=None)
    return None if ended is None else max(0.0, ended - cell.started_mono_s)


def _levels(context: FixContext) -> list[int]:
    cell = context.cell
    if cell is None:
        return []
    seen = [
        sample.rss_bytes
        for sample in context.recording.samples
        if sample.rss_bytes is not None
        and sample.mono_s >= cell.started_mono_s
        and (cell.ended_mono_s is None or sample.mono_s <= cell.ended_mono_s)
    ]
    return seen if context.rss_before_bytes is None else [context.rss_before_bytes, *seen]
