"""The answer of `diagnose`: how a kernel ended, why, where, and what to change.

`PostMortem.to_json` is the public form, the same on the command line, over REST and in the panel.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from jupyter_kerneldoctor.recording.events import Incident
from jupyter_kerneldoctor.recording.model import Cell

from .certainty import Certainty, of_evidence
from .family import Family

Applicability = Literal["safe", "suggested", "advice"]
Basis = Literal["fitted", "estimated", "at-most"]
EndingKind = Literal["signal", "exit", "shutdown", "restart", "unknown", "running"]

State = Literal["died", "stuck", "survived", "running", "ended", "unknown"]
"""`died`: a death the user should hear of; `stuck`: it lives, but something is wrong with it right now; `survived`: it
lives, and its last incident is what there is to tell; `ended`: as it was asked to; `unknown`: nobody saw what became of
it."""

CAUSE_DOCS = "kerneldoctor/docs/causes/{}"
FIX_DOCS = "kerneldoctor/docs/fixes/{}"


@dataclass(frozen=True)
class Evidence:
    """One fact: a sentence, the number in it, its unit, and where it was read."""

    text: str
    value: float | str | None = None
    unit: str | None = None
    source: str | None = None


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


@dataclass(frozen=True)
class Culprit:
    """The cell that was running at the death (after an `exit()` obeyed later: the one that asked), and the line."""

    source: str
    execution_count: int | None = None
    cell_id: str | None = None
    truncated: bool = False
    line: int | None = None
    """1-based, in the source as the user sees it, magics included."""

    @classmethod
    def at(cls, cell: Cell, line: int | None) -> Culprit:
        """Return a recorded cell, and the line of it that is to blame."""
        return cls(cell.source, cell.execution_count, cell.cell_id, cell.truncated, line)

    @property
    def line_source(self) -> str | None:
        """The text of the line."""
        lines = self.source.split("\n")
        return lines[self.line - 1] if self.line is not None and 0 < self.line <= len(lines) else None

    def to_json(self) -> dict[str, Any]:
        """Return the public form."""
        return {**asdict(self), "line_source": self.line_source}


@dataclass(frozen=True)
class Caller:
    """A frame of the user's on the way from the cell that ran to the statement."""

    execution_count: int | None
    cell_id: str | None
    line: int
    function: str | None
    """None for the top level of a cell."""
    file: str | None
    """Of a module of the user's; None for a cell."""


@dataclass(frozen=True)
class Statement:
    """The user's own innermost statement: in a function of another cell, too, or in a file beside the notebook."""

    execution_count: int | None = None
    cell_id: str | None = None
    line: int = 0
    """Its first line in the cell or file; `end_line` its last, None where that is not known."""
    end_line: int | None = None
    source: str | None = None
    function: str | None = None
    """`Encoder.forward`; None for the top level of a cell."""
    file: str | None = None
    via: tuple[Caller, ...] = ()
    """The frames from the cell that ran down to it."""
    cell_source: str | None = None
    """The whole cell it stands in; None for a file."""


@dataclass(frozen=True)
class Grown:
    """An object that memory grew in, or that held much of it when the cell began."""

    name: str
    """As the user would write it: `kept`, `self.seen`."""
    type: str | None = None
    length: int | None = None
    """How many items a list, dict or the like had."""
    shape: list[int] | None = None
    dtype: str | None = None
    bytes: int | None = None
    """None where nobody looked, and only the code shows that it keeps what grew."""
    grew_bytes: int | None = None
    """How much of that was added while the cell ran; None where that is not known."""
    where: str | None = None
    """ "local of fit, cell [4]"."""
    length_before: int | None = None
    item_type: str | None = None
    with_graph: bool = False
    """Whether it keeps PyTorch's graphs for gradients, which are not in `bytes`."""
    unmeasured: bool = False
    """Whether its items keep memory of a library's own, which is not in `bytes`."""


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
        return {**_finding(self.finding), **more, "cell": None if self.cell is None else self.cell.to_json()}


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
            causes=[_finding(finding) for finding in self.causes],
            incidents=[incident.to_json() for incident in self.incidents],
            cell=None if self.cell is None else self.cell.to_json(),
            other_cells=[cell.to_json() for cell in self.other_cells],
            fixes=[_fix(fix) for fix in self.fixes],
            more_fixes=[_fix(fix) for fix in self.more_fixes],
        )
        return document

    def to_row(self) -> dict[str, Any]:
        """Return the public form of one row of a list."""
        return {
            "recording": self.recording,
            "kernel_id": self.kernel_id,
            "pid": self.pid,
            "notebook": self.notebook,
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


def _fix(fix: FixProposal) -> dict[str, Any]:
    return {**asdict(fix), "docs": FIX_DOCS.format(fix.id)}


def _finding(finding: CauseFinding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "title": finding.title,
        "confidence": finding.confidence,
        "certainty": finding.certainty.word,
        "general": finding.general,
        "family": finding.family.value,
        "not_known": finding.not_known,
        "usual_reasons": [asdict(reason) for reason in finding.usual_reasons],
        "evidence": [
            {**asdict(one), "certainty": of_evidence(one.source, finding.certainty).word} for one in finding.evidence
        ],
        "docs": CAUSE_DOCS.format(finding.id),
    }
