"""How much smaller a batch should be, and what that rests on."""

import ast
import re
from dataclasses import dataclass, replace

from jupyter_kerneldoctor.recording.model import Cell

from .analysis.growth import is_of_one_step
from .analysis.guilty_statement import keeps_what_grew
from .calls import is_in_library, network_call_at
from .code.scopes import Scope
from .death import Death
from .frameworks.batch_queues import hold_many_batches
from .frameworks.gradients import backward_calls, goes_backward, hides_gradients, sources_of_gradients
from .frameworks.pair_scores import pair_scores
from .frameworks.sliced_arrays import copied_bytes, slicing_calls
from .frameworks.step_growth import grows_by_the_step
from .frameworks.training import BatchSize, find_batch_size, is_dwarfed, only_evaluates, training_calls, trains
from .frameworks.training_step import normalises_batches
from .frameworks.whole_batch import WholeBatch, find_whole_batch
from .frameworks.whole_steps import find_whole_step
from .place import grew_in
from .postmortem import Basis, ExpectedPeak
from .trained_weights import fill_the_memory
from .units import sentence, size
from .unrolled import may_be_early, unrolled_step

_CAUTION = 8  # how far below the bound of a cut-off peak to begin: seen needs were five times what the kill let be seen
_SEEN = 4
_MARGIN = 0.15  # a fit of resident memory was off by up to this much
_MOST_RUNS = 6
_LARGEST_FIRST_TRY = 256  # of a data set that was one batch
_USUAL = 64
_NOT_OF_A_BATCH = re.compile(
    r"torch/(?:utils/data/sampler\.py:__iter__|optim/(?!lbfgs)\w+\.py:(?:step|_init_group))|/optimizer\.py:build"
)
"""What makes the order of all rows, and the state of an optimizer: as large for a smaller batch."""
_COPIES = 2  # of an array that TensorFlow slices were measured, and more


@dataclass(frozen=True)
class Choice:
    """A new batch size, and what it rests on."""

    value: int
    at_most: int | None = None
    """More cannot fit: a bound from a peak that the kill cut off."""
    runs: tuple[int, ...] = ()
    """Batch sizes of earlier runs that it is fitted to."""
    peak: ExpectedPeak | None = None
    is_guess: bool = False
    """How many rows there are is not known, so nothing can be worked out."""
    is_early: bool = False
    """Most of the rounds of a step may not have been seen: a solver's, each of which is kept."""

    @property
    def may_well_fit(self) -> bool:
        """Whether it is as far below the bound as needs that were seen: a batch of few rows may not get there."""
        return self.at_most is None or (self.value * _SEEN <= self.at_most and not self.is_early)

    @property
    def reason(self) -> str:
        """Return what it rests on, as sentences."""
        if self.is_guess:
            return (
                f"How many rows there are is not known: {self.value} is a number to begin with. If it dies, halve it."
            )
        if self.peak is not None and len(self.runs) > 1:
            low, high = size(self.peak.low or 0), size(self.peak.high or 0)
            return f"From its runs with {' and '.join(map(str, self.runs))}, {self.value} will need {low} to {high}."
        if self.runs:
            return f"The cell ran to its end with {self.value} before."
        bound = f"At most {self.at_most} would fit, probably fewer: the kernel died before the step was finished. "
        if self.is_early:
            bound += "Its loop keeps every round, and how many were done is not known: fewer rounds help as well. "
        smaller = str(self.value // 2) if self.value > 1 else "a smaller network"
        return f"{bound if self.at_most else ''}Try {self.value}; if it still dies, then {smaller}."


@dataclass(frozen=True)
class Batch:
    """The batch whose size explains why memory ran out, and the size that it should have."""

    choice: Choice
    written: BatchSize | None
    """Where its size is written; None where the whole data set is one batch."""
    whole: WholeBatch | None
    began: str
    """How much the cell began with and took."""

    @property
    def reason(self) -> str:
        """Return what the new size rests on, as sentences."""
        of = "" if self.written is None else f" with a {self.written.label} of {self.written.value}"
        if self.whole is not None:
            rows = f"all {self.whole.rows} rows" if self.whole.rows else "all rows"
            name = self.whole.names[0]
            return (
                f"{sentence(rows)} of {name} go through the network as one batch; the cell began at {self.began}. "
                f"{self.choice.reason}"
            )
        return f"The cell began at {self.began}{of}. {self.choice.reason}"


def batch_to_blame(death: Death) -> Batch | None:
    """Return the batch that is too large; None where the cell trains nothing, or memory grows whatever its size."""
    code, memory = death.code, death.memory
    if not memory.grew_here or death.growth.is_steady or grows_by_the_step(code):
        return None
    if not trains(code) and (death.growth.goes_on or network_call_at(death) is None):
        return None
    kept = death.growth.container
    if is_in_library(death, _NOT_OF_A_BATCH):
        return None
    if grew_elsewhere(death) or _is_copied(death) or fill_the_memory(death):
        return None
    if not (kept and is_of_one_step(kept)) and keeps_what_grew(death.growth, death.statement_at(death.line)):
        return None
    began = f"{size(memory.before_bytes or 0)} and took {size(memory.missing_bytes or 0)}"
    if written := find_batch_size(code):
        if _grows_by_the_round(written, death):
            return None
        choice = None if is_dwarfed(written, code) or hold_many_batches(code) else choose(death, written.value)
        return None if choice is None else Batch(choice, written, None, began)
    whole = find_whole_batch(code, death.values) or find_whole_step(code, death.values)
    if whole is None or grew_in(death, whole.loop, whole.scope) is False:
        return None
    rows = whole.rows or whole.most
    if rows is None:
        return Batch(Choice(_USUAL, is_guess=True), None, whole, began)
    found = choose(death, rows, from_runs=False)
    largest = found and replace(found, value=min(found.value, _LARGEST_FIRST_TRY))
    return None if largest is None else Batch(largest, None, whole, began)


def _grows_by_the_round(written: BatchSize, death: Death) -> bool:
    """Whether what `predict` gives of all rows is too much, or what rounds of small batches leave behind."""
    goes_on, is_small = death.growth.goes_on, written.value <= _USUAL
    if only_evaluates(death.code):
        return goes_on or is_small
    calls = list(training_calls(death.code))
    return goes_on and is_small and bool(calls) and all(scope.loops_around(call) for call, scope in calls)


def grew_elsewhere(death: Death) -> bool:
    """Whether memory surely grew outside of the loops and functions that train."""
    at = network_call_at(death) if death.user_frames and trains(death.code) else None
    if at is not None and at[0] not in sources_of_gradients(death.code) and not hides_gradients(death.code):
        return goes_backward(death.code)
    places = []
    for scope in death.code.running:
        for one in backward_calls(scope.node, scope):
            around = scope.loops_around(one.node)
            node = around[0] if around else scope.tree.statements[one.node] if scope.is_cell else scope.node
            if isinstance(node, ast.For) and _took_next(node, scope, death):
                return True
            places.append(None if isinstance(node, ast.Module | ast.Lambda) else grew_in(death, node, scope))
    places += [grew_in(death, call, scope) for call, scope in training_calls(death.code)]
    return bool(places) and all(one is False for one in places)


def _took_next(loop: ast.For, scope: Scope, death: Death) -> bool:
    """Whether memory grew where a loop got what it goes through next, and in nothing that it did with that."""
    return bool(grew_in(death, loop.iter, scope)) and not any(grew_in(death, one, scope) for one in loop.body)


def _is_copied(death: Death) -> bool:
    """Whether arrays that a pipeline copied in this cell explain what it took."""
    slices = [one for one in slicing_calls(death.code) if grew_in(death, one.statement, one.scope) is not False]
    copies = [copied_bytes(one, death.values) for one in slices]
    return max(copies, default=0) * _COPIES >= max(1, death.memory.missing_bytes or 0)


def choose(death: Death, rows: int, *, from_runs: bool = True) -> Choice | None:
    """Return a new size for a batch of so many rows; None when none can help, or what is known speaks against it."""
    memory, step = death.memory, unrolled_step(death)
    whole = 1 if step is None else step.whole  # it was cut off in the first of many rounds
    target, before, growth = memory.safe_target_bytes, memory.before_bytes, memory.missing_bytes
    if target is None or before is None or not growth or before >= target:
        return None
    if from_runs and (fitted := _fitted(death, rows, target, before)) is not None:
        return fitted
    at_most = int((target - before) * rows / growth / whole)
    value = max(power_of_two(at_most // _CAUTION), min(at_most, 1 if normalises_batches(death.code) is None else 2))
    scores = pair_scores(death.code, death.values)
    if scores is not None and value * scores.row_bytes > target - before:
        return None
    is_early = step is None and may_be_early(death)
    return Choice(value, min(at_most, rows - 1), is_early=is_early) if 1 <= value < rows else None


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
