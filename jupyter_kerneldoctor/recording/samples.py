"""Writes and reads the samples of a recording: all of the last minute, and a thinned, bounded number before that.

A line is a JSON array of numbers in the order of `FIELDS`; the first line of a file names the columns, so that a
reader needs nothing but the file. Times are CLOCK_MONOTONIC seconds, the same clock as `mono_s` in the journal.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from .journal import JsonLines, read_lines
from .layout import RECENT, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class Sample(NamedTuple):
    """What was measured at one moment; None where this machine does not provide it."""

    mono_s: float
    rss_bytes: int | None = None
    """Resident memory of the kernel process."""
    cgroup_bytes: int | None = None
    """Memory in use in the control group that is nearest its limit, without the page cache Linux can drop at once."""
    available_bytes: int | None = None
    """MemAvailable of the machine."""
    oom_kills: int | None = None
    """The `oom_kill` counter of the kernel's own control group."""
    tree_bytes: int | None = None
    """Memory of the kernel and the processes below it, shared pages counted once; None without such processes."""
    children: int | None = None
    """How many processes live below the kernel."""


FIELDS = Sample._fields

RECENT_S = 60.0
"""How long one file of recent samples is written before the other."""

_SMALL_STEP = 0.01  # samples are left out while memory moves by less than this share
_LONGEST_GAP_S = 30.0
_TOO_MUCH = 1 << 63
_NUMBERS = (int, float)

_MINUTE_ROWS = 16
_MANY_ROWS = 16 * 60 * 24
_MINUTE_ROWS_LATER = 4
"""At most 16 samples a minute are kept, less than 2 MB a day; after the first day only 4 a minute."""


class SampleWriter:
    """Writes samples at full rate into two alternating files; the older is thinned into the long-term file."""

    def __init__(self, directory: Path) -> None:
        """Open the three files, and go on where another writer stopped. Raises OSError."""
        self._minutes = [SampleRows().samples(read_lines(directory / name)) for name in RECENT]
        self._kept = JsonLines(directory / SAMPLES)
        self._files = [JsonLines(directory / name) for name in RECENT]
        self._turn = int(self._minutes[1][-1:] > self._minutes[0][-1:])
        self._rows = 0
        for file in (self._kept, *self._files):
            file.write(FIELDS)

    def write(self, sample: Sample) -> None:
        """Append one sample."""
        current = self._minutes[self._turn]
        if current and sample.mono_s - current[0].mono_s > RECENT_S:
            self._turn = 1 - self._turn
            current = self._minutes[self._turn]
            # Kept first, emptied afterwards: after a death in between a sample is there twice, but never missing.
            self._keep(current)
            current.clear()
            self._files[self._turn].truncate()
            self._files[self._turn].write(FIELDS)
        current.append(sample)
        self._files[self._turn].write(sample)

    def _keep(self, minute: list[Sample]) -> None:
        rows = bounded(thin(minute), _MINUTE_ROWS if self._rows < _MANY_ROWS else _MINUTE_ROWS_LATER)
        self._rows += len(rows)
        self._kept.write(*rows)

    @property
    def last(self) -> Sample | None:
        """The newest sample."""
        newest = [minute[-1] for minute in self._minutes if minute]
        return max(newest, default=None)

    @property
    def lost(self) -> int:
        """How many samples could not be written."""
        return self._kept.lost + sum(file.lost for file in self._files)

    def close(self) -> None:
        """Close the files."""
        for file in (self._kept, *self._files):
            file.close()


def thin(samples: list[Sample]) -> list[Sample]:
    """Leave out samples that show nothing new.

    Kept are the first and the last, both ends of every move of memory beyond one percent, every change of the
    out-of-memory counter, and one each half minute.
    """
    kept: list[Sample] = []
    for before, sample in zip([None, *samples], samples, strict=False):
        if kept and before is not None and not _is_informative(kept[-1], sample):
            continue
        if kept and before is not None and before is not kept[-1] and has_moved(kept[-1], sample):
            kept.append(before)  # the end of a flat stretch: without it a jump would look like a ramp
        kept.append(sample)
    if samples and kept[-1] is not samples[-1]:
        kept.append(samples[-1])
    return kept


def bounded(samples: list[Sample], most: int) -> list[Sample]:
    """Return at most `most` samples: of equal stretches of time only the lowest and the highest of each."""
    if len(samples) <= most:
        return samples
    stretches = max(1, most // 2)
    begin, length = samples[0].mono_s, (samples[-1].mono_s - samples[0].mono_s) / stretches or 1.0
    sorted_in: list[list[Sample]] = [[] for _ in range(stretches)]
    for sample in samples:
        sorted_in[min(stretches - 1, int((sample.mono_s - begin) / length))].append(sample)
    ends = [{min(some, key=_height), max(some, key=_height)} for some in sorted_in if some]
    return [sample for pair in ends for sample in sorted(pair, key=lambda one: one.mono_s)]


def _height(sample: Sample) -> tuple[int, float]:
    """Return a sort key. Of equally high samples the later counts as higher: a flat stretch keeps both its ends."""
    return max(sample.rss_bytes or 0, sample.cgroup_bytes or 0, sample.tree_bytes or 0), sample.mono_s


def has_moved(before: Sample, after: Sample) -> bool:
    """Return whether memory changed by more than one percent."""
    pairs = zip(_amounts(before), _amounts(after), strict=True)
    return any(a is not None and b is not None and abs(b - a) > _SMALL_STEP * max(a, b) for a, b in pairs)


def _amounts(sample: Sample) -> tuple[int | None, ...]:
    return sample.rss_bytes, sample.cgroup_bytes, sample.tree_bytes


def _is_informative(before: Sample, after: Sample) -> bool:
    return (
        has_moved(before, after)
        or before.oom_kills != after.oom_kills
        or after.mono_s - before.mono_s >= _LONGEST_GAP_S
    )


def read_samples(directory: Path) -> tuple[Sample, ...]:
    """Return all samples of a recording in order of time, without damaged lines and values.

    Of two with the same time the later one counts: a writer that was interrupted writes again.
    """
    found = {
        sample.mono_s: sample
        for name in (SAMPLES, *RECENT)
        for sample in SampleRows().samples(read_lines(directory / name))
    }
    return tuple(found[time] for time in sorted(found))


class SampleRows:
    """Turns the rows of one file into samples; its first row names the columns."""

    def __init__(self) -> None:
        self._places: list[int] | None = None
        self._width = 0

    def samples(self, rows: Iterable[Any]) -> list[Sample]:
        """Return the samples in these rows, which follow those of the call before."""
        found: list[Sample] = []
        same: list[list[Any]] = []
        for row in rows:
            if type(row) is not list or not row:
                continue
            if type(row[0]) is str and all(isinstance(cell, str) for cell in row):
                found += self._samples(same)
                same = []
                self._places, self._width = _places(row), len(row)
            elif len(row) == self._width:
                same.append(row)
        return found + self._samples(same)

    def _samples(self, rows: list[list[Any]]) -> list[Sample]:
        """Return the samples in rows of the same columns, checked one column after the other: a day has 23,000 rows."""
        if self._places is None or not rows:
            return []
        columns = [*zip(*rows, strict=True), [None] * len(rows)]  # the last stands for one that is missing
        times = [one if type(one) in _NUMBERS and abs(one) < _TOO_MUCH else None for one in columns[self._places[0]]]
        sizes = [_sizes(columns[place]) for place in self._places[1:]]
        found = map(partial(tuple.__new__, Sample), zip(times, *sizes, strict=True))
        return [sample for sample in found if sample[0] is not None]


def _sizes(column: Sequence[Any]) -> Sequence[int | None]:
    """Return a column with None for what is no size; most columns are all sizes, or are not there at all."""
    kinds = set(map(type, column))
    if kinds == {type(None)} or (kinds == {int} and min(column) >= 0 and max(column) < _TOO_MUCH):
        return column
    return [one if type(one) is int and 0 <= one < _TOO_MUCH else None for one in column]


def time_of_unseen_peak(points: Sequence[tuple[float, int]]) -> float:
    """Return when a peak was that lies above these times and sizes, of which there is one at least.

    It was between two of them: most likely where memory moved most, or else where nobody looked for longest.
    """
    gaps = pairwise(points) if len(points) > 1 else [(points[0], points[0])]
    before, after = max(gaps, key=lambda gap: (abs(gap[1][1] - gap[0][1]), gap[1][0] - gap[0][0]))
    return (before[0] + after[0]) / 2


def _places(columns: list[str]) -> list[int] | None:
    """Return the position of each field in a row, -1 for one that is missing; None for a table without times."""
    places = [columns.index(name) if name in columns else -1 for name in FIELDS]
    return None if places[0] < 0 else places
