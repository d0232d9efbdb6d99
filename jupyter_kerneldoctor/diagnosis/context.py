"""What a fix rule may look at: the recording, and what was found out about the death so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Cell, Recording

    from .postmortem import CauseFinding, Culprit


@dataclass(frozen=True)
class FixContext:
    """A death, judged: which causes fit, which cell it was, and the numbers a fix is sized with."""

    recording: Recording
    causes: tuple[CauseFinding, ...]
    """Ranked; the first is the answer."""
    culprit: Culprit | None = None
    cell: Cell | None = None
    """The recorded cell that `culprit` speaks of."""
    limit_bytes: int | None = None
    """The lowest ceiling for memory that was in force."""
    peak_bytes: int | None = None
    """The highest resident memory seen while that cell ran. After a kill the true need is at least this."""
    rss_before_bytes: int | None = None
    """Resident memory when that cell began."""

    @property
    def cause(self) -> CauseFinding:
        """The most likely cause."""
        return self.causes[0]

    @property
    def cause_ids(self) -> frozenset[str]:
        """The causes that are more than a remark: at least half as likely as the first."""
        return frozenset(finding.id for finding in self.causes if finding.confidence >= self.cause.confidence / 2)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells that ran, in order of execution."""
        return self.recording.cells

    @property
    def growth_bytes(self) -> int | None:
        """How much the cell was seen to grow."""
        if self.peak_bytes is None or self.rss_before_bytes is None:
            return None
        return max(0, self.peak_bytes - self.rss_before_bytes)

    @property
    def headroom_before_bytes(self) -> int | None:
        """How much was left below the limit when the cell began."""
        used = self._used_before_bytes
        return None if self.limit_bytes is None or used is None else max(0, self.limit_bytes - used)

    @property
    def _used_before_bytes(self) -> int | None:
        """What counted towards the limit then: of all processes that share it, where that was measured."""
        began = self.cell.started_mono_s if self.cell is not None else 0.0
        shared = [s.cgroup_bytes for s in self.recording.samples if s.mono_s <= began and s.cgroup_bytes is not None]
        return shared[-1] if shared else self.rss_before_bytes

    @property
    def missing_bytes(self) -> int | None:
        """What the cell needed at the very least: what it was seen to take or, killed at the limit, all that was left.

        The kill cuts the peak off, and the last samples may be older than the last growth, so this is a lower bound.
        """
        known = [value for value in (self.growth_bytes, self._taken_at_kill) if value is not None]
        return max(known, default=None)

    @property
    def _taken_at_kill(self) -> int | None:
        return self.headroom_before_bytes if self.cause.id.startswith("oom-") else None
