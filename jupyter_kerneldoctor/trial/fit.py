"""Finds the largest batch that fits: two short trials at small sizes give what a row of the batch takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from ..diagnosis.causes import examine
from ..diagnosis.changes import EditRefusedError, apply_all, edit_of
from ..diagnosis.code.notebook import CodeTooLargeError
from ..diagnosis.frameworks.training import BatchSize, find_batch_size
from ..diagnosis.postmortem import Edit
from ..diagnosis.sizing import power_of_two
from ..diagnosis.units import duration, size
from ..recording.model import Recording
from .outcome import Outcome
from .plan import CannotTryError, Plan, Wishes, changed, plan_for, recorded_cells
from .run import KINDS, Told, run

_PARTS = (16, 8)  # of the batch that died
_SHORT = 2  # times what the cell took to die
_LEAST_S = 20.0
_MARGIN = 0.15  # measured peaks of the same step differ by up to so much
_HEADROOM = 0.1  # of the limit stays free


class Fit:
    """The search for the largest batch of a recorded death."""

    def __init__(self, recording: Recording, post_mortem: dict[str, Any], wishes: Wishes) -> None:
        """Find where the batch size is written. Raises CannotTryError."""
        self._recording, self._post_mortem, self._wishes = recording, post_mortem, wishes
        self._cells = recorded_cells(recording, post_mortem)
        if self.batch.value < _PARTS[0]:
            raise CannotTryError(f"The {self.batch.label} is {self.batch.value}: too small to try smaller ones.")

    @property
    def sizes(self) -> tuple[int, int]:
        """The two sizes to try, the smaller first."""
        few, more = (max(1, power_of_two(self.batch.value // part)) for part in _PARTS)
        return few, more

    @cached_property
    def batch(self) -> BatchSize:
        """Where the batch size of the cell that died is written. Raises CannotTryError."""
        try:
            found = find_batch_size(self._code)
        except (CodeTooLargeError, RecursionError):
            found = None
        if found is None:
            advice = "`jupyter kerneldoctor try RECORDING` tries the first fix of the report."
            raise CannotTryError("No cell that trains has the size of a batch written in it, as a number.", advice)
        return found

    @cached_property
    def _code(self) -> Any:
        return examine(self._recording).code

    def edits(self, rows: int) -> list[Edit]:
        """Return the edits that write another batch size. Raises CannotTryError."""
        try:
            changed_texts = apply_all(self._code, self.batch.becomes(rows))
        except EditRefusedError as error:
            raise CannotTryError(f"The {self.batch.label} cannot be changed: {error}.") from None
        return [edit_of(self._code.cells[at], new) for at, new in changed_texts.items()]

    def plan(self, rows: int) -> Plan:
        """Return the plan of one short trial. Raises CannotTryError."""
        cells = changed(self._cells, [asdict(edit) for edit in self.edits(rows)])
        fix = {"id": "batch_size", "title": f"{self.batch.label} = {rows}"}
        plan = plan_for(self._recording, self._post_mortem, self._wishes, cells, fix)
        return (
            plan if self._wishes.patience_s else replace(plan, patience_s=max(_LEAST_S, plan.patience_s / 3 * _SHORT))
        )


@dataclass(frozen=True)
class Fitted:
    """What two trials measured."""

    outcomes: tuple[Outcome, ...]
    sizes: tuple[int, ...]
    label: str
    largest: int | None = None
    """The largest batch that fits with a tenth of the limit kept free; None where it cannot be told."""
    low: int | None = None
    high: int | None = None
    row_bytes: int | None = None
    suggested: int | None = None
    """The power of two that fits in the worst case."""
    edits: tuple[Edit, ...] = ()

    @property
    def text(self) -> str:
        """Return the outcome in a few sentences."""
        if self.largest is None:
            bad = next((one for one in self.outcomes if not _has_peak(one)), None)
            same = "The peaks do not rise with the batch: something else takes the memory."
            return bad.text if bad is not None else f"{_measured(self)} {same}"
        limit = size(self.outcomes[0].plan.limit_bytes or 0)
        return (
            f"{_measured(self)} A row takes {size(self.row_bytes or 0)}, so {self.largest} rows ({self.low} to "
            f"{self.high}) fit into {limit} with a tenth kept free. Suggested: {self.label} {self.suggested}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the public form. Keys are added to it, never renamed or removed."""
        names = ("sizes", "label", "largest", "low", "high", "row_bytes", "suggested")
        return {
            **{name: getattr(self, name) for name in names},
            "text": self.text,
            "edits": [asdict(edit) for edit in self.edits],
            "trials": [outcome.to_json() for outcome in self.outcomes],
        }


def fit(
    search: Fit,
    tell: Callable[[Told], None] | None = None,
    stop: threading.Event | None = None,
    kinds: Sequence[str] = KINDS,
) -> Fitted:
    """Try two small batches, and compute the largest. Raises CannotTryError."""
    outcomes: list[Outcome] = []
    for rows in search.sizes:
        outcomes.append(run(search.plan(rows), tell, stop, kinds))
        if not _has_peak(outcomes[-1]):
            break
    found = Fitted(tuple(outcomes), search.sizes[: len(outcomes)], search.batch.label)
    peaks = [one.peak_bytes for one in outcomes if _has_peak(one) and one.peak_bytes is not None]
    limit_bytes = outcomes[0].plan.limit_bytes
    if len(peaks) < 2 or limit_bytes is None:
        return found
    few, more = search.sizes
    slope = (peaks[1] - peaks[0]) / (more - few)
    if slope * more < _MARGIN * peaks[1] / 3:  # no more than what peaks differ by in any case
        return found
    room = limit_bytes * (1 - _HEADROOM) - (peaks[0] - slope * few)
    low, largest, high = (int(room / (slope * factor)) for factor in (1 + _MARGIN, 1, 1 - _MARGIN))
    suggested = min(power_of_two(max(low, 0)), search.batch.value)
    edits = search.edits(suggested) if suggested else []
    return replace(
        found, largest=largest, low=low, high=high, row_bytes=int(slope), suggested=suggested, edits=tuple(edits)
    )


def _has_peak(outcome: Outcome) -> bool:
    """Whether its peak is that of the work: also where it was cut off, as a few steps are enough."""
    return outcome.lived or outcome.kind == "still running"


def _measured(found: Fitted) -> str:
    runs = [
        f"{rows} rows took {size(one.peak_bytes or 0)} at their peak ({duration(one.took_s)})"
        for rows, one in zip(found.sizes, found.outcomes, strict=True)
    ]
    return f"{' and '.join(runs)}."
