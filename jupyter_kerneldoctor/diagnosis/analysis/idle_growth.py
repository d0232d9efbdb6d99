"""Memory that grew while no cell was running: a background thread takes it, not a line of a cell."""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.model import Cell, Recording
from jupyter_kerneldoctor.recording.samples import Sample

_SETTLED_S = 0.3
"""So long after a cell, what it leaves behind has been freed, and what is shown of it made."""

_LATEST_S = 20.0
"""Of the time without a cell, the latest: what goes on did so just before the cell."""

_PIECE_S = 1.0
_LEAST_PIECES = 2
_EVENLY = 0.25  # of the average speed
_WORTH_BYTES = 10 << 20


@dataclass(frozen=True)
class IdleGrowth:
    """How much resident memory grew in the last seconds in which no cell ran."""

    bytes: int = 0
    took_s: float = 0.0
    pieces: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it grew for some time, or repeatedly. An answer to the Tab key makes memory grow once."""
        return self.bytes > _WORTH_BYTES and self.pieces >= _LEAST_PIECES


def growth_before(recording: Recording, cell: Cell) -> IdleGrowth:
    """Return the growth between the cells, looking back from the start of this cell to where memory did not grow."""
    grown_bytes, grown_s, pieces = 0, 0.0, 0
    for took_s, grew_bytes in _looking_back(recording, cell):
        if grew_bytes <= 0 or grew_bytes * grown_s < _EVENLY * grown_bytes * took_s or grown_s > _LATEST_S:
            break
        grown_bytes, grown_s, pieces = grown_bytes + grew_bytes, grown_s + took_s, pieces + 1
    return IdleGrowth(grown_bytes, grown_s, pieces)


def _looking_back(recording: Recording, cell: Cell) -> Iterator[tuple[float, int]]:
    """Yield the time between the cells in pieces, latest first: seconds, and the bytes that were added in them."""
    cells = [one for one in recording.cells if one.started_mono_s <= cell.started_mono_s]
    for later, earlier in itertools.pairwise(reversed(cells)):
        if earlier.ended_mono_s is not None:
            first = bisect_left(recording.samples, earlier.ended_mono_s + _SETTLED_S, key=_moment)
            beyond = bisect_left(recording.samples, later.started_mono_s, first, key=_moment)
            yield from _pieces(recording.samples[first:beyond])


def _pieces(samples: Iterable[Sample]) -> Iterator[tuple[float, int]]:
    """Cut a stretch of time into pieces of about a second; a shorter one stays whole."""
    known = [(one.mono_s, one.rss_bytes) for one in samples if one.rss_bytes is not None]
    if not known:
        return
    end, least_s = known[-1], min(_PIECE_S, known[-1][0] - known[0][0])
    for one in reversed(known[:-1]):
        if end[0] - one[0] >= least_s:
            yield end[0] - one[0], end[1] - one[1]
            end = one


def _moment(sample: Sample) -> float:
    return sample.mono_s
