"""A recording as a value: what `read` finds on disk, and what `diagnose` judges.

Bytes are `int` and named `*_bytes`; `*_mono_s` is CLOCK_MONOTONIC, `*_wall_s` seconds since the epoch. None means
"not known", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .processes import ProcessIdentity  # noqa: TC001 - `decode` reads the annotations

if TYPE_CHECKING:
    from .events import (
        Child,
        Framework,
        Gpu,
        GpuDriver,
        GpuSample,
        Growth,
        Held,
        Incident,
        Namespace,
        Output,
        Stack,
        Stuck,
        SystemState,
        ThreadError,
        Xid,
    )
    from .samples import Sample

PeakBasis = Literal["exact"]
LoadedBy = Literal["startup", "magic", "server"]

EndKind = Literal["signal", "exit", "unknown"]


@dataclass(frozen=True)
class Kernel:
    """Facts about the kernel process, known when the recording began."""

    process: ProcessIdentity
    kernel_id: str | None = None
    """From the name of the connection file; None for an IPython that is no Jupyter kernel."""
    notebook: str | None = None
    started_by: str | None = None
    """The program that started it: "papermill", "run_all.py"."""
    hostname: str | None = None
    namespaces: tuple[int, ...] = ()
    """The pid and time namespaces by which `process` is numbered and dated: elsewhere it has another id, or none."""
    loaded_by: LoadedBy = "magic"
    """Who began the recording: a kernel that loads the extension at its start, one that loaded it later (`%load_ext`),
    or the Jupyter server, for a kernel that has not loaded it."""
    python: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    ram_bytes: int | None = None
    kernel_name: str | None = None
    """Of the kernelspec: `python3`, `ir`."""
    language: str | None = None
    executable: str | None = None
    """The interpreter that runs it, by which its environment is found again."""
    directory: str | None = None
    """The working directory when the recording began."""
    uid: int | None = None
    """The user it ran as then, who may be another than the recording's."""


@dataclass(frozen=True)
class Limit:
    """A ceiling for memory that was in force."""

    kind: Literal["cgroup", "ram", "process"]
    name: str
    """In words: "container limit", "the machine's memory"."""
    bytes: int
    source: str
    """The file it was read from."""


@dataclass(frozen=True)
class Cell:
    """One execution of one cell."""

    source: str
    """As the user sees it, magics included. Sources above the size limit hold the head and the tail."""
    execution_count: int | None = None
    """The number in `[n]`; None for a cell that is run without history."""
    cell_id: str | None = None
    truncated: bool = False
    seq: int | None = None
    """Counts the executions of this kernel; other events name a cell by it."""
    beside: tuple[int, ...] = ()
    """The cells that went on running in other threads when it began; any other cell was over by then."""
    started_mono_s: float = 0.0
    ended_mono_s: float | None = None
    """None: it was running when the recording ended."""
    rss_before_bytes: int | None = None
    rss_after_bytes: int | None = None
    peak_bytes: int | None = None
    """Highest resident memory while the cell ran."""
    peak_basis: PeakBasis | None = None
    """How that is known: by the system's own count, VmHWM of proc_pid_status(5)."""
    error: str | None = None
    """Name of the exception's type, if one was raised. Never its message: that may hold the user's data."""
    asked_exit: bool = False
    """It called `exit()` or `quit()`, which the kernel obeys after the cell."""

    @property
    def finished(self) -> bool:
        """Whether its end was recorded."""
        return self.ended_mono_s is not None


@dataclass(frozen=True)
class CgroupDelta:
    """A control group at the last sample before the death and at the death."""

    path: str
    source: str
    """The file the counter was read from."""
    oom_kills_before: int | None = None
    oom_kills_after: int | None = None
    limit_hits_before: int | None = None
    limit_hits_after: int | None = None
    usage_before_bytes: int | None = None
    limit_bytes: int | None = None
    peak_bytes: int | None = None
    """The highest use since the group was made (or since it was reset)."""
    group_kills_before: int | None = None
    group_kills_after: int | None = None
    """How often Linux killed the whole group at once (memory.oom.group of version 2)."""

    @property
    def oom_kills(self) -> int:
        """How many processes of this group Linux killed for memory in between; 0 when not known."""
        if self.oom_kills_before is None or self.oom_kills_after is None:
            return 0
        return max(0, self.oom_kills_after - self.oom_kills_before)

    @property
    def group_kills(self) -> int:
        """How often Linux killed the whole group at once in between; 0 when not known."""
        if self.group_kills_before is None or self.group_kills_after is None:
            return 0
        return max(0, self.group_kills_after - self.group_kills_before)

    @property
    def limit_hits(self) -> int:
        """How often the limit was reached in between; 0 when not known."""
        if self.limit_hits_before is None or self.limit_hits_after is None:
            return 0
        return max(0, self.limit_hits_after - self.limit_hits_before)


@dataclass(frozen=True)
class End:
    """The end of the kernel process as the sidecar saw it."""

    kind: EndKind
    """What the exit status tells: a signal (`signal`), an exit (`exit_code`), or that it could not be read."""
    mono_s: float
    wall_s: float
    signal: str | None = None
    """`SIGKILL`."""
    exit_code: int | None = None
    source: str | None = None
    """Where the exit status was read."""
    cgroups: tuple[CgroupDelta, ...] = ()
    """The kernel's own control group first, then its ancestors."""
    kernel_log: tuple[str, ...] = ()
    """Lines of the operating system's log that name this process, where it may be read."""
    parent_gone: bool | None = None
    """Whether the program that had started the kernel was gone by then; None when it had none, or nobody looked."""
    parent_seen_mono_s: float | None = None
    """When that program was last seen to run; looked at once a second, and every 5 s where the kernel is idle."""
    lost: int | None = None
    """How many lines of the recording could not be written."""


@dataclass(frozen=True)
class ExitRequest:
    """The kernel was asked to end, and saw it: by a message, a cell's `exit()`, or who left IPython in a terminal."""

    by: Literal["message", "cell", "terminal"]
    mono_s: float
    restart: bool = False


@dataclass(frozen=True)
class ServerView:
    """What the Jupyter server saw of this kernel process."""

    requested: Literal["restart", "shutdown"] | None = None
    """What a user (or the culler) asked the server for, written before it was done."""
    requested_by: Literal["user", "culler", "server"] | None = None
    """Who asked: a user, the culling of idle kernels, or the server because it ended itself."""
    requested_wall_s: float | None = None
    returncode: int | None = None
    """As `subprocess.Popen.returncode`: negative for a signal."""
    restarted: bool = False
    """The server started the kernel anew by itself afterwards."""
    never_ready: bool = False
    """The kernel ended, or could not be started at all, before it answered."""
    start_error: str | None = None
    """What the server was told when it tried to start it: "No such file or directory: '/gone/bin/python'"."""
    start_command: tuple[str, ...] = ()
    """The command line of a kernel that never became ready."""
    stderr: str = ""
    """What a kernel that never became ready wrote."""
    ended_wall_s: float | None = None
    """When the server itself ended, if it could note that."""


@dataclass(frozen=True)
class Recording:
    """Everything that is known of one kernel process."""

    id: str
    kernel: Kernel
    sidecar: ProcessIdentity | None = None
    started_mono_s: float = 0.0
    started_wall_s: float = 0.0
    limits: tuple[Limit, ...] = ()
    cells: tuple[Cell, ...] = ()
    queued: tuple[Cell, ...] = ()
    """The cells that waited behind the running one, next first; known of kernels that the server watches alone."""
    samples: tuple[Sample, ...] = ()
    exit_request: ExitRequest | None = None
    end: End | None = None
    end_begun: End | None = None
    """The end as it was written first, by a sidecar that may be killed the next moment."""
    server: ServerView = field(default_factory=ServerView)
    crash_text: str = ""
    """What faulthandler wrote, if anything."""
    output: tuple[Output, ...] = ()
    """The last of what the process wrote to its file descriptors 1 and 2, oldest first."""
    stacks: tuple[Stack, ...] = ()
    no_stacks: str | None = None
    """Why the kernel's stacks could not be read from outside."""
    not_locked: str | None = None
    """Why this may be one of two recordings of its process."""
    system_states: tuple[SystemState, ...] = ()
    children: tuple[Child, ...] = ()
    """Processes below the kernel that ended badly, oldest first."""
    stuck: tuple[Stuck, ...] = ()
    incidents: tuple[Incident, ...] = ()
    thread_errors: tuple[ThreadError, ...] = ()
    """Threads of the user's that ended with an exception, oldest first."""
    namespaces: tuple[Namespace, ...] = ()
    held: tuple[Held, ...] = ()
    growths: tuple[Growth, ...] = ()
    frameworks: tuple[Framework, ...] = ()
    gpu_driver: GpuDriver | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_samples: tuple[GpuSample, ...] = ()
    xids: tuple[Xid, ...] = ()
    rebooted: bool | None = None
    """Whether the machine was started anew since, as the caller observed it; None when that cannot be told."""
    switched_off: bool = False
    """The user stopped the recording before the kernel ended."""
    lost_wall_s: float | None = None
    """When the kernel found its sidecar gone; what happened afterwards was not recorded."""
    last_wall_s: float | None = None
    """When the newest event or sample was taken."""
    alive: bool | None = None
    """Whether the kernel process runs, as the caller observed it; None when that cannot be told from here."""
    recorder_alive: bool | None = None
    """Whether the sidecar runs, as the caller observed it; None when that cannot be told from here."""
    silent_s: float | None = None
    """How long ago the newest sample of a living kernel was taken: much more than 5 s, and its recorder is held up."""

    def with_next_cell(self) -> Recording:
        """Return it as if the running cell had ended just before the end, and the next queued one begun."""
        now = self.started_mono_s if self.end is None else self.end.mono_s
        before = (cell if cell.finished else replace(cell, ended_mono_s=now) for cell in self.cells)
        begun = (replace(cell, started_mono_s=now) for cell in self.queued[:1])
        return replace(self, cells=(*before, *begun), queued=self.queued[1:])

    @property
    def stopped_early(self) -> bool:
        """Whether it stopped while the kernel ran on: the last cell it knows need not be the last that ran."""
        return self.switched_off or (self.lost_wall_s is not None and self.end is None)

    @property
    def running_cell(self) -> Cell | None:
        """The cell whose end was not recorded; of several beside each other the newest."""
        newest = self.cells[-1] if self.cells else None
        if newest is None or not newest.finished:
            return newest
        return next((cell for cell in reversed(self.cells) if cell.seq in newest.beside and not cell.finished), None)

    def execution(self, seq: int | None) -> Cell | None:
        """The cell of that sequence number; None when there is none, or it is not known which."""
        return None if seq is None else next((cell for cell in reversed(self.cells) if cell.seq == seq), None)

    def wall_s(self, mono_s: float) -> float:
        """The wall-clock time of a monotonic time of this recording."""
        return self.started_wall_s + (mono_s - self.started_mono_s)
