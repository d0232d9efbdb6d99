"""The types of the lists and reports that the server answers, of which docs/rest_types.py writes a copy for the panel.

What is made of dataclasses as they are is described by those, all else by the classes here.
"""

from typing import Literal, TypedDict

from ..diagnosis.postmortem import Edit, Ending, ExpectedPeak, Grown, Reason, Recurrence, State, Statement

CertaintyWord = Literal["proven", "strong", "likely", "possible", "weak"]
LoadedBy = Literal["startup", "magic", "server"]


class ReadableRow(TypedDict, total=False):
    """What a row has where the recording could be read."""

    survived: str | None
    """The headline of the latest incident."""
    cell_id: str | None
    """The cell that was running."""
    started_by: str | None


class RecordingRow(ReadableRow):
    """One row of `GET kerneldoctor/recordings`."""

    recording: str
    kernel_id: str | None
    pid: int | None
    notebook: str | None
    started: str
    ended: str | None
    cause: str
    headline: str
    state: State
    died: bool
    loaded_by: LoadedBy | None


class Evidence(TypedDict):
    """One fact: a sentence, the number in it, its unit, and where it was read."""

    text: str
    value: float | str | None
    unit: str | None
    source: str | None
    certainty: CertaintyWord


class Cause(TypedDict):
    """A cause that fits, how sure that is, and the evidence for it."""

    id: str
    family: str
    confidence: float
    certainty: CertaintyWord
    general: bool
    """It only says how the kernel ended, and not why."""
    title: str
    docs: str
    evidence: list[Evidence]
    not_known: str | None
    """What a general cause leaves open."""
    usual_reasons: list[Reason]


class Culprit(TypedDict):
    """The cell that was running, and the line."""

    execution_count: int | None
    cell_id: str | None
    source: str
    truncated: bool
    line: int | None
    line_source: str | None


class Incident(Cause):
    """Something that went wrong and that the kernel survived: a cause with its cell and time."""

    headline: str
    kind: str
    error: str
    time: str | None
    cell: Culprit | None


class Fix(TypedDict):
    """A fix for this user's cells, with its numbers."""

    id: str
    title: str
    why: str
    applicability: Literal["safe", "suggested", "advice"]
    snippet: str | None
    edits: list[Edit]
    explained_bytes: int | None
    expected_peak_bytes: ExpectedPeak | None
    docs: str


class Samples(TypedDict):
    """Two lists of equal length."""

    t_s: list[float]
    memory_bytes: list[int | None]


class LimitSource(TypedDict, total=False):
    """Where a limit was read."""

    source: str | None


class DrawnLimit(LimitSource):
    """A limit, with its name in words."""

    bytes: int
    name: str


class DrawnCell(TypedDict):
    """When a cell ran; `end_s` is null where it was still running at the end."""

    execution_count: int | None
    start_s: float
    end_s: float | None


class Timeline(TypedDict):
    """What a chart of the memory needs. Times are seconds since `started`."""

    started: str | None
    samples: Samples
    limit: DrawnLimit | None
    cells: list[DrawnCell]
    death_s: float | None


class Report(TypedDict):
    """What `GET kerneldoctor/recordings/{id}` answers."""

    recording: str
    kernel_id: str | None
    pid: int | None
    notebook: str | None
    started_by: str | None
    """The program that started the kernel: "papermill", "run_all.py"."""
    started: str
    ended: str | None
    state: State
    died: bool
    loaded_by: LoadedBy | None
    no_stacks: str | None
    end: Ending
    cause: str
    confidence: float
    certainty: CertaintyWord
    general: bool
    headline: str
    story: str | None
    memory_shape: str | None
    recurrence: Recurrence | None
    causes: list[Cause]
    ruled_out: list[str]
    cell: Culprit | None
    other_cells: list[Culprit]
    """A cell queued behind it, where it is not known which of them was running."""
    statement: Statement | None
    grown: list[Grown]
    fixes: list[Fix]
    """The most useful first, three at most."""
    more_fixes: list[Fix]
    fixes_left_out: str | None
    """Why no fixes were looked for."""
    free_first: str | None
    """Code that frees memory where a kernel lives with hardly any left."""
    incidents: list[Incident]
    """Oldest first."""
    timeline: Timeline | None
