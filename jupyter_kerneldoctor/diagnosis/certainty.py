"""How sure an answer is, in five words; each has its number here and nowhere else."""

from __future__ import annotations

from enum import Enum


class Certainty(float, Enum):
    """How sure an answer is. The value is its confidence in the public JSON.

    docs/accuracy.md says how often the answers with each word were right.
    """

    PROVEN = 0.98
    """Two independent facts agree: how it ended, and a trace that names this cause, as the system's log does."""
    STRONG = 0.9
    """A trace names the cause, and one step from there to the end is inferred."""
    LIKELY = 0.7
    """The usual reason in this situation; others are known."""
    POSSIBLE = 0.5
    """As likely as not."""
    WEAK = 0.25
    """Something speaks for it, more against it, or next to nothing is known."""

    @property
    def word(self) -> str:
        """The word that people read: "proven"."""
        return self.name.lower()

    def lowered(self, steps: int = 1) -> Certainty:
        """Return the word so many steps below, or the lowest."""
        words = list(Certainty)
        return words[min(words.index(self) + steps, len(words) - 1)]

    @classmethod
    def up_to(cls, confidence: float) -> Certainty | None:
        """Return the surest word that is worth no more than a number; None below all."""
        return next((one for one in cls if one <= confidence), None)
