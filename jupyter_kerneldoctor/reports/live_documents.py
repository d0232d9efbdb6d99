"""The types of what the server tells of running kernels and of trials, of which the panel has a copy."""

from typing import Literal, TypedDict

from .documents import DrawnCell, LoadedBy, Timeline

Refusal = Literal["gone", "not-recorded", "no-answer", "not-permitted"]
Level = Literal["ok", "low", "critical"]
CellEnd = Literal["ok", "error", "died", "cut off"]


class RunningCell(TypedDict):
    """The cell that is running now."""

    execution_count: int | None
    cell_id: str | None
    source: str
    line: int | None
    line_source: str | None
    running_s: float


class Frame(TypedDict):
    """One function of a stack."""

    file: str
    short_file: str
    line: int | None
    """In a cell: 1-based in its source."""
    function: str
    in_cell: bool
    execution_count: int | None
    code: str | None
    """The text of the line, in cells only."""


class ThreadState(TypedDict):
    """What a thread or child process is doing."""

    name: str | None
    state: str | None
    doing: str
    """As the rest of "It ...": "waits for a lock on a file"."""
    waits_in: str | None
    """The Linux kernel function in which it sleeps."""
    frames: list[Frame]


class Thread(ThreadState):
    """A thread of the kernel."""

    thread_id: int
    main: bool
    """Whether it runs the cells."""
    serves_the_kernel: bool
    """Whether it belongs to the kernel itself or to KernelDoctor."""


class Child(ThreadState):
    """A child process of the kernel."""

    pid: int
    forked: bool
    rss_bytes: int | None
    cpu_s: float | None


class Inspection(TypedDict):
    """What `POST kerneldoctor/recordings/{id}/inspect` answers."""

    recording: str
    kernel_id: str | None
    pid: int
    notebook: str | None
    cell: RunningCell | None
    threads: list[Thread]
    """The main thread comes first."""
    children: list[Child]
    no_stacks: str | None
    """Why no Python functions can be shown, else null."""
    stuck: str | None
    """Where and why the kernel is stuck, in a sentence, else null."""


class InspectionRefusal(TypedDict):
    """Why a kernel could not be inspected."""

    refused: Refusal
    message: str
    help: str


class LiveLimit(TypedDict):
    """A limit, with its name in words."""

    bytes: int
    name: str


class LiveRunning(TypedDict):
    """The cell that is running now."""

    execution_count: int | None
    cell_id: str | None
    seq: int | None


class LiveUse(TypedDict, total=False):
    """What a kernel uses that is recorded; null where it was not measured."""

    recording: str
    loaded_by: LoadedBy | None
    own_bytes: int | None
    """The kernel with the processes below it."""
    limit: LiveLimit | None
    used_bytes: int | None
    """In use by all that share the limit."""
    left_bytes: int | None
    reserved_bytes: int | None
    """How much of what is used the kernel has only reserved, where its own limit counts that; else null. All that such
    a limit counts is the kernel's."""
    level: Level | None
    lasts_s: float | None
    """How long what is left lasts at the steady growth of the running cell."""
    running: LiveRunning | None
    noted_mono_s: float | None
    """When the kernel last survived an error, got stuck, or went on: the report is another one since."""


class LiveSummary(LiveUse):
    """Whether a running kernel is recorded, and what it uses."""

    kernel_id: str | None
    is_recorded: bool


class LiveCell(DrawnCell):
    """What a cell did to the memory."""

    cell_id: str | None
    peak_bytes: int | None
    took_bytes: int | None
    kept_bytes: int | None
    source: str
    error: str | None


class LiveVariable(TypedDict):
    """A large variable."""

    name: str
    type: str
    bytes: int
    shape: list[int]
    items: int | None
    device: str | None
    hidden: bool
    """Kept by IPython or a library, not by a variable."""


class LiveVariables(TypedDict):
    """The largest variables, and the cell after which they were measured."""

    execution_count: int | None
    objects: list[LiveVariable]


class LiveChildren(TypedDict):
    """The child processes."""

    count: int
    bytes: int | None


class LiveGpu(TypedDict):
    """A graphics card."""

    index: int
    name: str | None
    total_bytes: int | None
    used_bytes: int | None
    own_bytes: int | None


class LiveOther(TypedDict):
    """Another kernel of this server below the same limit."""

    kernel_id: str | None
    bytes: int | None


class LiveDetail(TypedDict):
    """What is shown where the panel is open."""

    timeline: Timeline
    cells: list[LiveCell]
    variables: LiveVariables | None
    children: LiveChildren | None
    gpus: list[LiveGpu]
    others: list[LiveOther]


class TrialCell(TypedDict):
    """A cell that a trial would run."""

    execution_count: int | None
    is_changed: bool


class TrialPlan(TypedDict):
    """What `GET kerneldoctor/recordings/{id}/trials/{fix}` answers: what a trial would run."""

    cells: list[TrialCell]
    cells_text: str
    """ "cells [1] to [4]" """
    directory: str
    gone: str | None
    """The notebook's own directory where that is gone: then `directory` is the server's."""
    copied_bytes: int
    left_out: list[str]
    """Links out of the directory, which the copy lacks."""
    limit_bytes: int | None
    """Null where the limit of the recorded kernel is not known."""
    patience_s: float
    python: str


class TrialStep(TypedDict):
    """How far a trial is: the kernel is ready, a cell begins, a cell is over."""

    what: Literal["started", "cell", "cell over"]
    number: int
    """Which of the cells, from 1."""
    execution_count: int | None
    how: CellEnd | None
    error: str | None
    took_s: float
    memory_bytes: int | None
    limited_by: str


class TrialOutcome(TypedDict):
    """What came of a trial."""

    what: Literal["over"]
    lived: bool
    text: str
    """A sentence or two."""
    kind: str
    peak_bytes: int | None


class TrialRefusal(TypedDict):
    """Why a fix cannot be tried, and what to do."""

    what: Literal["refused"]
    message: str
    help: str
