"""What the chart of the memory shows: samples, thinned without losing a peak, the limit, the cells, the death."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording.samples import Sample

from ..postmortem import Timeline, iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_kerneldoctor.recording.model import Recording

    from ..facts import Facts

POINTS = 600
"""How many samples a chart gets at most."""

CELLS = 500
"""How many cells at most, the newest: more bands than pixels help nobody."""


def timeline(facts: Facts) -> Timeline:
    """Return what a chart needs; times are seconds since the recording began."""
    recording = facts.recording
    kept = thin(measurements(recording))
    start = recording.started_mono_s
    return Timeline(
        started=iso(recording.started_wall_s),
        samples={
            "t_s": [_since(sample.mono_s, start) for sample in kept],
            "memory_bytes": [sample.rss_bytes for sample in kept],
        },
        limit=_limit(facts),
        cells=tuple(
            {
                "execution_count": cell.execution_count,
                "start_s": _since(cell.started_mono_s, start),
                "end_s": None if cell.ended_mono_s is None else _since(cell.ended_mono_s, start),
            }
            for cell in recording.cells[-CELLS:]
        ),
        death_s=_death_s(recording) if facts.ended else None,
    )


def measurements(recording: Recording) -> list[Sample]:
    """All that is known of the kernel's memory, in order of time: the samples, and what the cells measured themselves.

    So a kernel that died before its first sample has a picture, too.
    """
    found = list(recording.samples)
    for cell in recording.cells:
        found.append(Sample(cell.started_mono_s, cell.rss_before_bytes))
        if cell.ended_mono_s is not None:
            found.append(Sample(cell.ended_mono_s, cell.rss_after_bytes))
    return sorted((sample for sample in found if sample.rss_bytes is not None), key=lambda sample: sample.mono_s)


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


def _limit(facts: Facts) -> dict[str, Any] | None:
    memory = facts.memory
    if memory.pressed is not None:
        return {"bytes": memory.pressed.limit_bytes, "name": memory.limit_name, "source": memory.pressed.source}
    if memory.limit is None:
        return None
    return {"bytes": memory.limit.bytes, "name": memory.limit.name, "source": memory.limit.source}


def _death_s(recording: Recording) -> float | None:
    """When it ended; without an end that was recorded, the last that is known of it, if it was recorded so far."""
    if recording.stopped_early:
        return None
    if recording.end is not None:
        return _since(recording.end.mono_s, recording.started_mono_s)
    if recording.last_wall_s is None or not recording.started_wall_s:
        return None
    return _since(recording.last_wall_s, recording.started_wall_s)


def _since(time_s: float, start_s: float) -> float:
    return round(time_s - start_s, 3)
