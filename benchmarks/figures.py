"""What is measured, as it is printed."""

from __future__ import annotations

import math
from typing import NamedTuple


class Figure(NamedTuple):
    """One line of the result."""

    name: str
    value: float
    unit: str
    goal: float | None = None

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"goal <= {self.goal:g} {self.unit}"
        verdict = "" if self.goal is None else ("ok" if self.value <= self.goal else "MISSED")
        return f"{self.name:<62} {self.value:>9.3g} {self.unit:<6} {goal:<22} {verdict}"


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]
