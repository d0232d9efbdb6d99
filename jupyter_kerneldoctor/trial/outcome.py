"""What came of a trial, as a value, a sentence and JSON."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..diagnosis.units import cell_name, duration, size
from .plan import Plan

Kind = Literal[
    "lived", "raised", "out of memory", "died", "stuck", "still running", "differs", "not started", "stopped"
]
"""`raised`: the changed cells raise something new; `out of memory`: memory was refused; `differs`: a cell that the fix
does not touch raises something new, so the trial says nothing of the fix; `stopped`: by the user."""

_LEAST_S, _LONGER = 60.0, 3
"""How much time is proposed for a trial that was cut off: so many times what both runs took together."""


def names_error(title: str, error: str | None) -> bool:
    """Return whether a fix says in its title that this exception takes the place of the death."""
    return bool(error) and re.search(rf"(?<!\w){re.escape(error or '')}(?!\w)", title) is not None


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    kind: Kind
    plan: Plan
    limited_by: str
    """What limited the memory, in words."""
    peak_bytes: int | None = None
    """The highest resident memory, of child processes, too; None where nothing was measured."""
    took_s: float = 0.0
    execution_count: int | None = None
    """The cell that raised, died, or was running."""
    error: str | None = None
    message: str = ""
    """What the exception said."""
    headline: str | None = None
    """What the post-mortem of the trial says, where its kernel died or was stuck."""
    cause: str | None = None
    got_past: bool = False
    """Whether a trial that is still running has got past the place where the recorded kernel failed."""

    @property
    def lived(self) -> bool:
        """Whether the kernel lived as the fix means it to: also where it raises the exception that the fix tells of.

        One that is still running lived where it ran for longer than the recorded kernel did before it failed.
        """
        is_past = self.kind == "still running" and self.got_past
        return self.kind == "lived" or is_past or (self.kind == "raised" and self.is_meant)

    @property
    def is_meant(self) -> bool:
        """Whether the fix says in its title that this exception takes the place of the death."""
        return names_error(self.plan.fix.get("title", ""), self.error)

    @property
    def text(self) -> str:
        """Return the outcome in a sentence or two."""
        where, raised = cell_name(self.execution_count), f"{self.error}: {self.message}".removesuffix(": ")
        peak = f"{self._peak}{self._before}, {duration(self.took_s)}"
        match self.kind:
            case "lived":
                return f"Lived: {peak}."
            case "raised" if self.is_meant:
                return f"Lived, and {where} raises {self.error}, as the fix says: {peak}."
            case "raised":
                return f"Lived, but {where} raises {raised}. {peak[:1].upper()}{peak[1:]}."
            case "out of memory":
                return f"Out of memory again: {where} raises {raised}. {peak[:1].upper()}{peak[1:]}."
            case "died":
                return f"Died again{self._before}, {duration(self.took_s)}: {self.headline or where}"
            case "stuck":
                return f"Stuck again after {duration(self.took_s)}: {self.headline}"
            case "still running":
                return self._still_running
            case "differs":
                return f"Not tried: {where} raises {raised}, which it did not before, and the fix does not touch it."
            case "not started":
                return f"Not tried: the kernel did not start. {self.message}".strip()
            case _:
                return f"Stopped after {duration(self.took_s)} in {where}, {self._peak}."

    @property
    def _still_running(self) -> str:
        plan, where = self.plan, cell_name(self.execution_count)
        longer = max(_LEAST_S, _LONGER * (self.took_s + plan.failed_after_s))
        more = f"`jupyter kerneldoctor try --seconds {math.ceil(longer / 60) * 60} ...` gives it more time."
        ran = f"still running after {duration(self.took_s)} in {where}, {self._peak}"
        if plan.failed_in is None:
            return f"Not decided: {ran}{self._before}. It was ended. {more}"
        failed = f"{cell_name(plan.cells[plan.failed_in - 1].execution_count)} after {duration(plan.failed_after_s)}"
        before = f"Before, it failed in {failed}{f': {plan.before}' if plan.before else ''}."
        if self.got_past:
            return f"Lived past the place where it failed: {ran}. {before} It was ended. {more}"
        return f"Not decided: {ran}. {before} It was ended. {more}"

    @property
    def _peak(self) -> str:
        if self.peak_bytes is None:
            return "peak not measured"
        limit = self.plan.limit_bytes
        return f"peak {size(self.peak_bytes)}{'' if limit is None else f' of {size(limit)}'}"

    @property
    def _before(self) -> str:
        return f" (before: {self.plan.before})" if self.plan.before else ""

    def to_json(self) -> dict[str, Any]:
        """Return the public form. Keys are added to it, never renamed or removed."""
        document = {name: value for name, value in asdict(self).items() if name != "plan"}
        fix = self.plan.fix
        return {
            "recording": self.plan.recording,
            "fix": fix.get("id"),
            "title": fix.get("title"),
            "lived": self.lived,
            "text": self.text,
            "before": self.plan.before,
            "limit_bytes": self.plan.limit_bytes,
            "python": self.plan.python,
            **document,
        }
