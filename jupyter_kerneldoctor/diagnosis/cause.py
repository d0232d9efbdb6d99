"""What a cause rule is: one class in one file of `causes/`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .registry import Rule, rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_kerneldoctor.recording.evidence import Incident
    from jupyter_kerneldoctor.recording.model import Recording

    from .death import Death
    from .postmortem import CauseFinding

HEADINGS = ("What it means", "How it is recognised", "What to do", "Example")
"""The headings of every cause's page in the reference."""


class Cause(Rule):
    """A reason why a kernel ends. Its examples are tests; 0.9 and more is for what is proven."""

    def judge(self, death: Death) -> CauseFinding | None:
        """Say whether this cause fits, how sure that is, and why; None when it does not."""
        raise NotImplementedError

    def explains(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002 - for those that can
        """Say in the same way why something went wrong that the kernel survived; None where this cause cannot."""
        return None

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """Recordings for which this is the answer."""
        raise NotImplementedError

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Recordings that look like it, for which it is not the answer."""
        raise NotImplementedError


@cache
def all_causes() -> tuple[Cause, ...]:
    """Return one of each cause there is, sorted by id."""
    from . import causes as package  # noqa: PLC0415 - the rules import this module

    return tuple(rule() for rule in rules(package, Cause))
