"""How sure a cause may be, from who saw the end and who sent the signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .facts import Facts

_SENT_BY_THE_CELL = 0.3
_STATUS_NOT_SEEN = 0.7


def certainty(facts: Facts, confidence: float) -> float:
    """Return the confidence, lowered where the cell sent the signal itself and where nobody saw the exit status."""
    if facts.own_signals:
        return min(confidence, _SENT_BY_THE_CELL)
    return confidence if facts.status.known else min(confidence, _STATUS_NOT_SEEN)
