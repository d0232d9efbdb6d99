"""What `jupyter kerneldoctor try` costs: its time beside that of the same cells in a plain kernel."""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

from figures import Figure
from support.kernels import LiveKernel

from jupyter_kerneldoctor.trial import Plan, run
from jupyter_kerneldoctor.trial.plan import PlannedCell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CELLS = ("rows = []", "for n in range(300): rows.append(bytes(1 << 20)); sum(range(200_000))", "len(rows)")


def trial_cost(work: Path, rounds: int) -> Iterator[Figure]:
    """Time of a trial, from the call to the outcome, and of a plain kernel, from its start to its end."""
    cells = tuple(PlannedCell(source, number) for number, source in enumerate(CELLS, 1))
    empty = work / "notebook"
    empty.mkdir()
    plan = Plan("", cells, sys.executable, empty, copies=True, limit_bytes=1 << 30, patience_s=600)
    plain, tried = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        kernel = LiveKernel(work / "data", work)
        for source in CELLS:
            kernel.run(source)
        kernel.close()
        plain.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        outcome = run(plan)
        tried.append(time.perf_counter() - begin)
        assert outcome.kind == "lived", outcome.text
    yield Figure("cells run in a plain kernel, its start and end included", statistics.median(plain), "s")
    yield Figure("the same cells tried: limit, copy, recorder, answer", statistics.median(tried), "s")
    ratio = statistics.median(after / before for before, after in zip(plain, tried, strict=True))
    yield Figure("`jupyter kerneldoctor try`, against the same cells run plainly", ratio, "times", 2.0)
