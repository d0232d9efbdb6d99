"""A cause that fits this kernel, with its evidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..certainty import Certainty, of_evidence
from ..family import Family

CAUSE_DOCS = "kerneldoctor/docs/causes/{}"


@dataclass(frozen=True)
class Evidence:
    """One fact: a sentence, the number in it, its unit, and where it was read."""

    text: str
    value: float | str | None = None
    unit: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Reason:
    """A usual reason for an end of which only the way is known, and the check that would tell."""

    text: str
    check: str
    """A command or a line of code, with this user's names."""


@dataclass(frozen=True)
class CauseFinding:
    """A cause that fits, how sure that is, and the evidence for it."""

    id: str
    title: str
    certainty: Certainty
    headline: str
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[str, ...] = ()
    """Sentences on what it is not, and why."""
    line: int | None = None
    """The line of the culprit cell that this cause points at."""
    summary: str | None = None
    """The end in a few words, for `Ending.summary`, when this cause says more than the exit status does."""
    general: bool = False
    """It only says which way it ended: less likely, the likelier a cause is that says why."""
    family: Family = Family.UNKNOWN
    not_known: str | None = None
    """What a general cause leaves open: "Who sent the signal is not known."."""
    usual_reasons: tuple[Reason, ...] = ()
    """What it usually is in this situation, likeliest first."""

    @property
    def confidence(self) -> float:
        """The number of the certainty, 0 to 1."""
        return self.certainty.value

    def to_json(self) -> dict[str, Any]:
        """Return the public form."""
        return {
            "id": self.id,
            "title": self.title,
            "confidence": self.confidence,
            "certainty": self.certainty.word,
            "general": self.general,
            "family": self.family.value,
            "not_known": self.not_known,
            "usual_reasons": [asdict(reason) for reason in self.usual_reasons],
            "evidence": [
                {**asdict(one), "certainty": of_evidence(one.source, self.certainty).word} for one in self.evidence
            ],
            "docs": CAUSE_DOCS.format(self.id),
        }
