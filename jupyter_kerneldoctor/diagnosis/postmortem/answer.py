"""The post-mortem: the answer as a whole, and its public form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from jupyter_kerneldoctor.recording.events import Incident

from .culprit import Culprit, Grown, Statement
from .finding import CauseFinding
from .fix_proposal import FixProposal

EndingKind = Literal["signal", "exit", "shutdown", "restart", "unknown", "running"]

State = Literal["died", "stuck", "survived", "running", "ended", "unknown"]
"""`died`: a death the user should hear of; `stuck`: it lives, but something is wrong with it right now; `survived`: it
lives, and its last incident is what there is to tell; `ended`: as it was asked to; `unknown`: nobody saw what became of
it."""


@dataclass(frozen=True)
class Ending:
    """How the process ended."""

    kind: EndingKind
    signal: str | None = None
    exit_code: int | None = None
    summary: str = ""
    """A few words: "Killed by Linux at the container limit"."""
    seen: bool = True
    """False: it was not recorded, and `ended` is the last that is known of the kernel."""


@dataclass(frozen=True)
class Survived:
    """An incident that the kernel survived, with its likeliest cause."""

    finding: CauseFinding
    incident: Incident
    """What was recorded of it."""
    cell: Culprit | None = None
    """The cell that raised it, and the line."""
    time: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the public form: that of a cause, with its headline, the cell and the time."""
        kind, error = self.incident.kind, self.incident.error
        more = {"headline": self.finding.headline, "kind": kind, "error": error, "time": self.time}
        return {**self.finding.to_json(), **more, "cell": None if self.cell is None else self.cell.to_json()}


@dataclass(frozen=True)
class Timeline:
    """What a chart of the memory needs. Times are seconds since `started`."""

    started: str | None
    samples: dict[str, list[Any]]
    """`t_s` and `memory_bytes`, lists of equal length."""
    limit: dict[str, Any] | None
    """`bytes`, `name`, `source`."""
    cells: tuple[dict[str, Any], ...]
    """`execution_count`, `start_s`, `end_s` (None: still running at the end)."""
    death_s: float | None


@dataclass(frozen=True)
class EarlierDeath:
    """A kernel that the same cell ended before."""

    recording: str
    ended: str | None
    cause: str
    title: str
    execution_count: int | None
    peak_bytes: int | None
    """The highest resident memory that was seen."""


@dataclass(frozen=True)
class Recurrence:
    """Earlier kernels that the same cell ended."""

    text: str
    deaths: tuple[EarlierDeath, ...]
    """Newest first."""


@dataclass(frozen=True)
class PostMortem:
    """The answer. The causes are ranked, the first is the answer; there is always at least one."""

    recording: str
    kernel_id: str | None
    pid: int | None
    notebook: str | None
    started_by: str | None
    """The program that started it: "papermill", "run_all.py"."""
    loaded_by: str
    started: str | None
    ended: str | None
    state: State
    end: Ending
    causes: tuple[CauseFinding, ...]
    timeline: Timeline
    story: str | None = None
    memory_shape: str | None = None
    """Of `shapes.Name`: "jump", "ramp", "staircase", "full-house", "touched-later", "children"."""
    recurrence: Recurrence | None = None
    """That the same cell ended kernels before."""
    no_stacks: str | None = None
    """Why the kernel's stack could not be read, where that is known."""
    cell: Culprit | None = None
    other_cells: tuple[Culprit, ...] = ()
    """A cell queued behind it, where it is not known which of them was running."""
    statement: Statement | None = None
    """None where it is not known."""
    grown: tuple[Grown, ...] = ()
    """What memory grew in, most first; where that is not known, what held it when the cell began."""
    fixes: tuple[FixProposal, ...] = ()
    """The most useful first, three at most."""
    more_fixes: tuple[FixProposal, ...] = ()
    """Those after them."""
    fixes_left_out: str | None = None
    """A sentence on why no fixes were looked for; None where they were."""
    incidents: tuple[Survived, ...] = ()
    """What it survived, oldest first."""
    free_first: str | None = None
    """Code that frees memory where a kernel lives with hardly any left: "history.clear()"."""

    @property
    def cause(self) -> CauseFinding:
        """The most likely cause."""
        return self.causes[0]

    @property
    def died(self) -> bool:
        """Whether this is a death the user should hear of: neither running nor an ordinary end."""
        return self.state == "died"

    def to_json(self) -> dict[str, Any]:
        """Return the public form. Keys are added to it, never renamed or removed."""
        document = asdict(self)
        top = self.cause
        document.update(
            died=self.died,
            cause=top.id,
            confidence=top.confidence,
            certainty=top.certainty.word,
            general=top.general,
            headline=top.headline,
            ruled_out=list(top.ruled_out),
            causes=[finding.to_json() for finding in self.causes],
            incidents=[incident.to_json() for incident in self.incidents],
            cell=None if self.cell is None else self.cell.to_json(),
            other_cells=[cell.to_json() for cell in self.other_cells],
            fixes=[fix.to_json() for fix in self.fixes],
            more_fixes=[fix.to_json() for fix in self.more_fixes],
        )
        return document

    def to_row(self) -> dict[str, Any]:
        """Return the public form of one row of a list."""
        return {
            "recording": self.recording,
            "kernel_id": self.kernel_id,
            "pid": self.pid,
            "notebook": self.notebook,
            "started_by": self.started_by,
            "started": self.started,
            "ended": self.ended,
            "cause": self.cause.id,
            "headline": self.cause.headline,
            "state": self.state,
            "died": self.died,
            "survived": self.incidents[-1].finding.headline if self.incidents else None,
            "cell_id": None if self.cell is None else self.cell.cell_id,
        }


def iso(wall_s: float | None) -> str | None:
    """Return a wall-clock time as ISO 8601 in UTC, to the millisecond; None for a time that is not known."""
    if not wall_s:
        return None
    try:
        return datetime.fromtimestamp(wall_s, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None
