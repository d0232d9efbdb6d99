"""What the chart of the memory shows: samples, thinned without losing a peak, the limit, the cells, the death."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from jupyter_kerneldoctor.recording.model import Cell, Recording
from jupyter_kerneldoctor.recording.samples import Sample, time_of_unseen_peak

from ..death import Death
from ..postmortem import Timeline, iso

POINTS = 600
"""How many samples a chart gets at most."""

CELLS = 500
"""How many cells at most, the newest: more bands than pixels help nobody."""


def timeline(death: Death) -> Timeline:
    """Return what a chart needs; times are seconds since the recording began."""
    recording = death.recording
    kept = thin(measurements(recording))
    start = recording.started_mono_s
    return Timeline(
        started=iso(recording.started_wall_s),
        samples={
            "t_s": [_since(sample.mono_s, start) for sample in kept],
            "memory_bytes": [sample.rss_bytes for sample in kept],
        },
        limit=_limit(death),
        cells=tuple(
            {
                "execution_count": cell.execution_count,
                "start_s": _since(cell.started_mono_s, start),
                "end_s": None if cell.ended_mono_s is None else _since(cell.ended_mono_s, start),
            }
            for cell in recording.cells[-CELLS:]
        ),
        death_s=_death_s(recording) if death.ended else None,
    )


def measurements(recording: Recording) -> list[Sample]:
    """All that is known of the kernel's memory, in order of time: the samples, and what the cells measured themselves.

    So a kernel that died before its first sample has a picture, too. A cell's highest point that no sample saw stands
    where memory moved most between two of them: when it was is not known.
    """
    found = [sample for sample in recording.samples if sample.rss_bytes is not None]
    times = [sample.mono_s for sample in found]
    measured = found.copy()
    for cell in recording.cells:
        found.append(Sample(cell.started_mono_s, cell.rss_before_bytes))
        if cell.ended_mono_s is not None:
            found.append(Sample(cell.ended_mono_s, cell.rss_after_bytes))
            during = measured[bisect_left(times, cell.started_mono_s) : bisect_right(times, cell.ended_mono_s)]
            seen = [(sample.mono_s, memory) for sample in during if (memory := sample.rss_bytes) is not None]
            found += [Sample(*peak) for peak in unseen_peak(cell, cell.ended_mono_s, seen)]
    return sorted((sample for sample in found if sample.rss_bytes is not None), key=attrgetter("mono_s"))


def unseen_peak(cell: Cell, ended_mono_s: float, during: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return when and how high a cell's highest point was, if it lies above these times and sizes."""
    begin, end = (cell.started_mono_s, cell.rss_before_bytes), (ended_mono_s, cell.rss_after_bytes)
    seen = [(time_s, memory) for time_s, memory in (begin, *during, end) if memory is not None]
    if cell.peak_bytes is None or cell.peak_bytes <= max((memory for _, memory in seen), default=0):
        return []
    return [(time_of_unseen_peak(seen) if seen else (cell.started_mono_s + ended_mono_s) / 2, cell.peak_bytes)]


def thin(samples: Sequence[Sample], points: int = POINTS) -> list[Sample]:
    """Keep the first and the last sample, and of each stretch in between the lowest and the highest."""
    if len(samples) <= points:
        return list(samples)
    middle = samples[1:-1]
    stretches = (points - 2) // 2
    kept = [samples[0]]
    for number in range(stretches):
        part = middle[number * len(middle) // stretches : (number + 1) * len(middle) // stretches]
        ends = {min(part, key=_memory), max(part, key=_memory)}
        kept += sorted(ends, key=lambda sample: sample.mono_s)
    return [*kept, samples[-1]]


def _memory(sample: Sample) -> int:
    return -1 if sample.rss_bytes is None else sample.rss_bytes


def _limit(death: Death) -> dict[str, Any] | None:
    """Return the limit that was hit, else the lowest; one of the process counts what is reserved, used or not."""
    memory = death.memory
    if memory.pressed is not None:
        return {"bytes": memory.pressed.limit_bytes, "name": memory.limit_name, "source": memory.pressed.source}
    limits = [] if memory.limit is None else [(memory.limit.bytes, memory.limit.name, memory.limit.source)]
    for name, option in (("AS", "ulimit -v"), ("DATA", "ulimit -d")):
        soft = death.environment.soft_limit(name)
        if soft is not None:
            limits.append((soft, f"limit of the process ({option})", "/proc/PID/limits"))
    lowest = min(limits, default=None)
    return None if lowest is None else dict(zip(("bytes", "name", "source"), lowest, strict=True))


def _death_s(recording: Recording) -> float | None:
    """When it ended; without an end that was recorded, the last that is known of it, if it was recorded so far."""
    if recording.stopped_early:
        return None
    if recording.end is not None:
        return _since(recording.end.mono_s, recording.started_mono_s)
    if recording.last_wall_s is None or not recording.started_wall_s:
        return None
    return _since(recording.last_wall_s, recording.started_wall_s)


def ran_s(recording: Recording, cell: Cell, until_mono_s: float) -> float:
    """How long a cell had been running, with the rounding of the times in the timeline: a report tells both."""
    start_s = recording.started_mono_s
    return max(0.0, _since(until_mono_s, start_s) - _since(cell.started_mono_s, start_s))


def _since(time_s: float, start_s: float) -> float:
    return round(time_s - start_s, 3)
