"""How sure an answer is, in five words; each has its number here and nowhere else."""

from __future__ import annotations

import re
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


_BY_SOURCE = (
    (Certainty.PROVEN, r"oom_|count of memory|\blog\b|Xid|boot id|process list|[Ss]erver|parent poller|own note"),
    (Certainty.POSSIBLE, r"/proc/\d+/stat|exit (?:status|code)|(?i:pidfd)|cell source|the cells|the variables"),
    (
        Certainty.STRONG,
        r"output|crash report|C stack|[Ee]xception|Error\b|statvfs|limit|/maps|NVML|malloc|allocator|own word",
    ),
    (Certainty.STRONG, r"environment|cpuinfo|kernel\.json|under_oom|pids\.max|PID/fd"),
    (Certainty.LIKELY, r"samples|stack|/proc/"),
)
"""What a fact makes of a cause by itself, by where it was read: who counts or logs an end names its reason; so does
what the process said, one step before; how it ended, and the code, fit other reasons, too."""


def of_evidence(source: str | None, cause: Certainty) -> Certainty:
    """Return how far one piece of evidence carries: what its source proves, and no more than the cause is sure of."""
    proves = next((one for one, pattern in _BY_SOURCE if re.search(pattern, source or "")), Certainty.WEAK)
    return min(proves, cause)
