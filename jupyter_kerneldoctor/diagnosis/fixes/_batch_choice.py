"""How much smaller a batch should be, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._batches import BatchSize, find_batch_size
from ._numbers import safe_target_bytes
from ._whole_batch import WholeBatch

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.recording.model import Cell

_CAUTION = 8  # how far below the bound of a cut-off peak to begin: seen needs were five times what the kill let be seen
_LARGEST_FIRST_TRY = 256  # of a data set that was one batch
_USUAL = 64
_MARGIN = 0.15  # a fit of resident memory was off by up to this much
_MOST_RUNS = 6


@dataclass(frozen=True)
class Choice:
    """A new batch size, and what it rests on."""

    value: int
    at_most: int | None = None
    """More cannot fit: a bound from a peak that the kill cut off."""
    fitted: tuple[tuple[int, int], ...] = ()
    """Batch sizes of earlier runs, each with what the cell took."""
    low_bytes: int | None = None
    high_bytes: int | None = None


def choose(context: FixContext, code: Notebook, batch: BatchSize | WholeBatch) -> Choice | None:
    """A new batch size; None when none can help, or what there is to know speaks against it."""
    target, before, growth = safe_target_bytes(context), context.rss_before_bytes, context.missing_bytes
    if target is None or before is None or not growth or before >= target:
        return None
    if isinstance(batch, BatchSize):
        fitted = _from_runs(context, code, batch.value, target)
        if fitted is not None:
            return fitted
    elif batch.rows is None:
        return Choice(_USUAL)
    rows = batch.value if isinstance(batch, BatchSize) else batch.rows
    assert rows is not None
    at_most = (target - before) * rows // growth
    value = _power_of_two(at_most // _CAUTION)
    if isinstance(batch, WholeBatch):
        value = min(value, _LARGEST_FIRST_TRY)
    return Choice(value, at_most=min(at_most, rows - 1)) if 1 <= value < rows else None


def _from_runs(context: FixContext, code: Notebook, now: int, target: int) -> Choice | None:
    """Fit memory against batch size over runs of this cell that came to their end."""
    before = context.rss_before_bytes or 0
    runs = sorted({run for run in _runs(context, code) if run[0] < now})
    if not runs:
        return None
    if len(runs) == 1:  # one run: that size is known to fit
        value, took = runs[0]
        peak = before + took
        return (
            Choice(value, None, (runs[0],), int(peak * (1 - _MARGIN)), int(peak * (1 + _MARGIN)))
            if peak <= target
            else None
        )
    (small, low), (large, high) = runs[-2:]
    if small == large or high <= low:
        return None
    slope = (high - low) / (large - small)
    fixed = high - slope * large
    value = _power_of_two(int((target - before - fixed) / slope))
    if not 1 <= value < now:
        return None
    expected = before + fixed + slope * value
    return Choice(value, None, (runs[-2], runs[-1]), int(expected * (1 - _MARGIN)), int(expected * (1 + _MARGIN)))


def _runs(context: FixContext, code: Notebook) -> list[tuple[int, int]]:
    """Earlier runs of the same cell: the batch size they had, and how much they took."""
    known, tried = [], 0
    for cell in reversed(context.cells):
        if cell is context.cell or not _is_same(cell, context.cell) or cell.error or not cell.finished:
            continue
        if cell.peak_bytes is None or cell.rss_before_bytes is None:
            continue
        tried += 1
        batch = find_batch_size(code.at(cell))
        if batch is not None:
            known.append((batch.value, cell.peak_bytes - cell.rss_before_bytes))
        if tried == _MOST_RUNS:
            break
    return known


def _is_same(cell: Cell, other: Cell | None) -> bool:
    return other is not None and (
        cell.source == other.source or (cell.cell_id is not None and cell.cell_id == other.cell_id)
    )


def _power_of_two(number: int) -> int:
    """The largest power of two that is not above a number; 0 below one."""
    return 1 << (number.bit_length() - 1) if number >= 1 else 0
