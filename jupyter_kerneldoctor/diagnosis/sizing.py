"""How much smaller a batch should be, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .frameworks.training import find_batch_size
from .postmortem import ExpectedPeak

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Cell

    from .death import Death
    from .postmortem import Basis

_CAUTION = 8  # how far below the bound of a cut-off peak to begin: seen needs were five times what the kill let be seen
_MARGIN = 0.15  # a fit of resident memory was off by up to this much
_MOST_RUNS = 6


@dataclass(frozen=True)
class Choice:
    """A new batch size, and what it rests on."""

    value: int
    at_most: int | None = None
    """More cannot fit: a bound from a peak that the kill cut off."""
    runs: tuple[int, ...] = ()
    """Batch sizes of earlier runs that it is fitted to."""
    peak: ExpectedPeak | None = None


def choose(death: Death, rows: int, *, from_runs: bool = True) -> Choice | None:
    """Return a new size for a batch of so many rows; None when none can help, or what is known speaks against it."""
    memory = death.memory
    target, before, growth = memory.safe_target_bytes, memory.before_bytes, memory.missing_bytes
    if target is None or before is None or not growth or before >= target:
        return None
    if from_runs and (fitted := _fitted(death, rows, target, before)) is not None:
        return fitted
    at_most = (target - before) * rows // growth
    value = power_of_two(at_most // _CAUTION)
    return Choice(value, at_most=min(at_most, rows - 1)) if 1 <= value < rows else None


def power_of_two(number: int) -> int:
    """Return the largest power of two that is not above a number; 0 below one."""
    return 1 << (number.bit_length() - 1) if number >= 1 else 0


def _fitted(death: Death, now: int, target: int, before: int) -> Choice | None:
    """Fit memory against batch size over runs of this cell that came to their end."""
    runs = sorted({run for run in _runs(death) if run[0] < now})
    if not runs:
        return None
    if len(runs) == 1:  # one run: that size is known to fit
        ((value, took),) = runs
        return Choice(value, None, (value,), _peak(before + took, "estimated")) if before + took <= target else None
    (small, low), (large, high) = runs[-2:]
    if small == large or high <= low:
        return None
    slope = (high - low) / (large - small)
    fixed = high - slope * large
    value = power_of_two(int((target - before - fixed) / slope))
    return (
        Choice(value, None, (small, large), _peak(before + fixed + slope * value, "fitted"))
        if 1 <= value < now
        else None
    )


def _peak(expected: float, basis: Basis) -> ExpectedPeak:
    return ExpectedPeak(int(expected * (1 - _MARGIN)), int(expected * (1 + _MARGIN)), basis)


def _runs(death: Death) -> list[tuple[int, int]]:
    """Return earlier runs of the same cell: the batch size they had, and how much they took."""
    known = []
    same = [one for one in death.recording.cells if one is not death.cell and _is_same(one, death.cell)]
    for cell in same[-_MOST_RUNS:]:
        batch = find_batch_size(death.code.at(cell))
        if batch is not None:
            known.append((batch.value, (cell.peak_bytes or 0) - (cell.rss_before_bytes or 0)))
    return known


def _is_same(cell: Cell, other: Cell | None) -> bool:
    """Whether a cell is an earlier run of another, came to its end, and was measured."""
    same = other is not None and (
        cell.source == other.source or (cell.cell_id is not None and cell.cell_id == other.cell_id)
    )
    return same and cell.finished and not cell.error and None not in (cell.peak_bytes, cell.rss_before_bytes)
