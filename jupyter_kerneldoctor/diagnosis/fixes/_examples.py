"""An example of a rule: cells that ran, how the last one died, and what the rule answers. Tests and pages use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from jupyter_kerneldoctor.diagnosis.context import FixContext
from jupyter_kerneldoctor.diagnosis.postmortem import CauseFinding, Culprit
from jupyter_kerneldoctor.recording.model import Cell, End, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample

MIB = 1 << 20
_CELL_S = 1.0  # how long each cell before the last one took
_SAMPLES = 20


def lines(*text: str) -> str:
    """The source of a cell."""
    return "\n".join(text)


@dataclass(frozen=True)
class Ran:
    """A cell that ran before the one that died, with what was measured."""

    source: str
    peak_mib: int | None = None
    before_mib: int | None = None
    cell_id: str | None = None


@dataclass(frozen=True)
class Example:
    """The cells of a notebook in the order they ran; the last was running at the death."""

    cells: tuple[str | Ran, ...]
    fires: bool = True
    changed: dict[int, str] = field(default_factory=dict)
    """By execution count: the whole new source of each cell that is edited. Empty: advice."""
    says: tuple[str, ...] = ()
    """What must stand in the title, the reason or the snippet."""
    cause: str = "oom-cgroup"
    limit_mib: int = 2000
    before_mib: int = 200
    growth: Literal["ramp", "jump", "none"] = "ramp"
    running_s: float = 8.0
    line: int | None = None
    crash_text: str = ""

    def context(self) -> FixContext:
        """The death, judged, as the engine would hand it to the rules."""
        cells = tuple(self._cell(number, ran) for number, ran in enumerate(self.cells))
        dying = cells[-1]
        peak = (self.before_mib if self.growth == "none" else self.limit_mib) * MIB
        recording = Recording(
            id="20261121T032136Z-4242-ab12cd",
            kernel=Kernel(ProcessIdentity(4242, 1.0, "boot")),
            limits=(Limit("cgroup", "container limit", self.limit_mib * MIB, "memory.max"),),
            cells=cells,
            samples=tuple(self._samples(dying.started_mono_s)),
            end=End("signal", dying.started_mono_s + self.running_s, 1.7e9, "SIGKILL"),
            started_wall_s=1.7e9,
            crash_text=self.crash_text,
        )
        return FixContext(
            recording=recording,
            causes=(CauseFinding(self.cause, self.cause, 0.97, "It died."),),
            culprit=Culprit(dying.source, dying.execution_count, dying.cell_id, line=self.line),
            cell=dying,
            limit_bytes=self.limit_mib * MIB,
            peak_bytes=peak,
            rss_before_bytes=self.before_mib * MIB,
        )

    def _cell(self, number: int, ran: str | Ran) -> Cell:
        began = number * _CELL_S
        if number == len(self.cells) - 1:
            source = ran if isinstance(ran, str) else ran.source
            identity = None if isinstance(ran, str) else ran.cell_id
            before = self.before_mib * MIB
            return Cell(source, number + 1, identity or f"id-{number}", started_mono_s=began, rss_before_bytes=before)
        earlier = Ran(ran) if isinstance(ran, str) else ran
        return Cell(
            earlier.source,
            number + 1,
            earlier.cell_id or f"id-{number}",
            started_mono_s=began,
            ended_mono_s=began + _CELL_S,
            rss_before_bytes=None if earlier.before_mib is None else earlier.before_mib * MIB,
            peak_bytes=None if earlier.peak_mib is None else earlier.peak_mib * MIB,
            peak_basis=None if earlier.peak_mib is None else "exact",
        )

    def _samples(self, began: float) -> list[Sample]:
        low, high = self.before_mib * MIB, self.limit_mib * MIB
        shares = [step / _SAMPLES for step in range(_SAMPLES + 1)]
        if self.growth == "jump":
            shares = [0.0] * _SAMPLES + [1.0]
        elif self.growth == "none":
            shares = [0.0 for _ in shares]
        return [
            Sample(began + self.running_s * step / _SAMPLES, int(low + (high - low) * share))
            for step, share in enumerate(shares)
        ]
