"""What is measured, as it is printed: ratios of the same run first, and times also as on the machine of the goals."""

from __future__ import annotations

import math
import os
import statistics
import time
from dataclasses import dataclass, field

REFERENCE_S = 0.76e-3
"""Processor time that `_work` takes on the machine for which the goals were set, when nothing else runs there."""

_OF_THE_MACHINE = ("us", "ms", "s", "% core")
"""Figures in these units are as large as the machine is slow at the moment."""


@dataclass(frozen=True)
class Figure:
    """One line of the result, made when it was measured."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    error: float = 0.0
    """Standard error of the value, where it can be told from rounds of this run."""
    ratio: float | None = None
    """To the same without KernelDoctor, measured in turn."""
    ratio_goal: float | None = None
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    slowness: float = field(default_factory=lambda: slowness())  # noqa: PLW0108 - it is defined below

    @property
    def verdict(self) -> str:
        """MISSED by more than twice the error, `ok` by as much, `unsure` between; empty without a goal."""
        if self.ratio is not None and self.ratio_goal is not None:
            error = abs(self.error / self.value * (self.ratio - 1)) if self.value else 0.0
            value, goal = self.ratio, self.ratio_goal
        elif self.goal is not None:
            value, error, goal = self.value / self._slowness, self.error / self._slowness, self.goal
        else:
            return ""
        return "MISSED" if value - 2 * error > goal else "unsure" if error and value + 2 * error > goal else "ok"

    def measured(self) -> str:
        """The figure itself, as it is told."""
        ratio = "" if self.ratio is None else f"x {self.ratio:.3f}, "
        error = f" ± {self.error:.2g}" if self.error else ""
        scaled = f" ({self.value / self._slowness:.3g} there)" if self.unit in _OF_THE_MACHINE else ""
        return f"{ratio}{self.value:.3g}{error} {self.unit}{scaled}"

    def wanted(self) -> str:
        """The goal, as it is told."""
        if self.ratio_goal is not None:
            return f"x {self.ratio_goal:g}"
        return "" if self.goal is None else f"{self.goal:g} {self.unit}"

    def __str__(self) -> str:
        verdict = f"goal {self.wanted():<12} {self.verdict}" if self.verdict else ""
        return f"{self.name:<70} {self.measured():<40} load {self.load:4.1f}  {verdict}"

    @property
    def _slowness(self) -> float:
        return self.slowness if self.unit in _OF_THE_MACHINE else 1.0


def slowness() -> float:
    """How many times as long a fixed piece of work takes now as on the machine for which the goals were set."""
    if time.monotonic() - _known[0] > 2.0:
        _known[:] = time.monotonic(), statistics.median(_work() for _ in range(9)) / REFERENCE_S
    return _known[1]


_known = [-math.inf, 1.0]


def _work() -> float:
    begin = time.process_time()
    table = {number: str(number) for number in range(5000)}
    sum(len(text) for text in sorted(table.values()))
    return time.process_time() - begin


def standard_error(values: list[float]) -> float:
    """Of the median of some values."""
    return 1.2533 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]
