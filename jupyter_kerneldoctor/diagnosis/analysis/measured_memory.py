"""The memory of a kernel as it was measured: before the cell, at its highest, and at the last measurement."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from jupyter_kerneldoctor.recording.model import Cell, Recording
from jupyter_kerneldoctor.recording.samples import Sample

from .child_memory import Children, children
from .idle_growth import IdleGrowth, growth_before
from .memory_refusals import Refusal

_AS_FAST = 0.5  # of the speed in the cell
_moment = attrgetter("mono_s")


@dataclass(frozen=True)
class MeasuredMemory:
    """What was measured of the kernel while `cell` ran (in all of the recording if there is none)."""

    recording: Recording
    cell: Cell | None
    ran_out: bool = False
    """The kernel was killed because memory ran out: it needed at least all that was left."""
    refused_bytes: int | None = None
    """What the cell asked for at once, and did not get."""
    refusal: Refusal | None = None
    """The limit of the process at which memory was refused: it counts, and not the machine's memory."""
    full_mono_s: float | None = None
    """When that limit was used up: what was measured later is no growth."""

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The samples from the start of the cell on: to its end, so that what is known of it stays as it was then."""
        samples, cell = self.recording.samples, self.cell
        known = (self.full_mono_s, None if cell is None else cell.ended_mono_s)
        until = min((one for one in known if one is not None), default=None)
        last = len(samples) if until is None else bisect_right(samples, until, key=_moment)
        return samples[0 if cell is None else bisect_left(samples, cell.started_mono_s, key=_moment) : last]

    @cached_property
    def last(self) -> Sample | None:
        """The last sample of all."""
        return self.recording.samples[-1] if self.recording.samples else None

    @property
    def held_bytes(self) -> int | None:
        """What the kernel and its children held at the last measurement; None without one."""
        return None if self.last is None else max(self.last.rss_bytes or 0, self.last.tree_bytes or 0)

    @cached_property
    def before_bytes(self) -> int | None:
        """Resident memory when the cell began."""
        if self.cell is None:
            return None
        if self.cell.rss_before_bytes is not None:
            return self.cell.rss_before_bytes
        earlier = bisect_left(self.recording.samples, self.cell.started_mono_s, key=_moment)
        return self.recording.samples[earlier - 1].rss_bytes if earlier else None

    @cached_property
    def peak_bytes(self) -> int | None:
        """The highest resident memory that was seen."""
        seen = [sample.rss_bytes for sample in self.samples]
        if self.cell is not None:
            seen += [self.cell.peak_bytes, self.cell.rss_before_bytes]
        return max((value for value in seen if value is not None), default=None)

    @property
    def growth_bytes(self) -> int | None:
        """How much the cell was seen to grow; None where that was not measured."""
        if self.peak_bytes is None or self.before_bytes is None:
            return None
        return max(0, self.peak_bytes - self.before_bytes)

    @property
    def running_s(self) -> float | None:
        """How long the cell ran; None without one, or where no later moment is known."""
        if self.cell is None:
            return None
        known = [sample.mono_s for sample in self.recording.samples[-1:]]
        if self.recording.end is not None:
            known.append(self.recording.end.mono_s)
        ended = self.cell.ended_mono_s if self.cell.ended_mono_s is not None else max(known, default=None)
        return None if ended is None else max(0.0, ended - self.cell.started_mono_s)

    @cached_property
    def children(self) -> Children | None:
        """What the processes below the kernel held towards the end; None when not measured, or next to nothing."""
        return children(self.samples)

    @cached_property
    def while_idle(self) -> IdleGrowth:
        """How memory grew while no cell was running, before the cell."""
        return IdleGrowth() if self.cell is None else growth_before(self.recording, self.cell)

    @cached_property
    def grows_by_itself(self) -> bool:
        """Whether memory grew about as fast while no cell was running: then something in the background takes it."""
        if self.cell is None or self.peak_bytes is None or self.before_bytes is None or not self.samples:
            return False
        idle = self.while_idle
        busy_bytes, busy_s = self.peak_bytes - self.before_bytes, self.samples[-1].mono_s - self.cell.started_mono_s
        return idle.goes_on and idle.bytes * busy_s > _AS_FAST * busy_bytes * idle.took_s
