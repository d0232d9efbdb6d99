"""A fix for this user's cells."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Applicability = Literal["safe", "suggested", "advice"]
Basis = Literal["fitted", "estimated", "at-most"]

FIX_DOCS = "kerneldoctor/docs/fixes/{}"


@dataclass(frozen=True)
class Edit:
    """A change of one cell."""

    execution_count: int | None
    cell_id: str | None
    old_source: str
    new_source: str
    diff: str


@dataclass(frozen=True)
class ExpectedPeak:
    """What the fixed cell will need; "at-most" when the number comes from a peak that was cut off by the kill."""

    low: int | None
    high: int | None
    basis: Basis


@dataclass(frozen=True)
class FixProposal:
    """A fix for this user's cells, with its numbers."""

    id: str
    title: str
    why: str
    applicability: Applicability
    edits: tuple[Edit, ...] = ()
    snippet: str | None = None
    """Code to copy, with this user's names and numbers, for a fix that cannot be applied mechanically."""
    explained_bytes: int | None = None
    expected_peak_bytes: ExpectedPeak | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the public form."""
        return {**asdict(self), "docs": FIX_DOCS.format(self.id)}
