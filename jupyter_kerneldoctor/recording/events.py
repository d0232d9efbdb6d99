"""Defines what a recording holds beside cells, samples and the end: a class for each kind of event, or part of one.

As in `model`: bytes are `int` and named `*_bytes`, `*_s` are seconds, None means "not known", never zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal


@dataclass(frozen=True)
class Output:
    """Some text that the process, native code included, wrote to its file descriptor 1 or 2 (`output-*.jsonl`)."""

    mono_s: float
    fd: Literal[1, 2]
    text: str
    """What Python code prints is not in it: in a kernel that reaches the notebook without a file descriptor."""


@dataclass(frozen=True)
class Frame:
    """One Python function call of a stack."""

    file: str
    line: int | None
    function: str

    @property
    def module(self) -> str | None:
        """The module the file belongs to as one would name it: "numpy", "ctypes"; None when it is no library's."""
        parts = self._within_library
        return parts[0].partition(".")[0] if parts else None

    @property
    def short_file(self) -> str:
        """The file as one would name it: a library's from the library on, "ctypes/__init__.py"."""
        return "/".join(self._within_library) or self.file

    @property
    def _within_library(self) -> tuple[str, ...]:
        parts = PurePosixPath(self.file.replace("\\", "/")).parts
        for place in ("site-packages", "dist-packages"):
            if place in parts[:-1]:
                return parts[parts.index(place) + 1 :]
        libraries = [number for number, part in enumerate(parts[:-1]) if re.fullmatch(r"python\d+(\.\d+)?", part)]
        return parts[libraries[-1] + 1 :] if libraries else ()


@dataclass(frozen=True)
class ThreadStack:
    """What one thread was doing: its frames, innermost first."""

    frames: tuple[Frame, ...]
    thread_id: int | None = None
    """As `threading.get_native_id()` returns it."""
    main: bool = False
    """Whether this is the thread that runs the cells."""
    name: str | None = None
    state: str | None = None
    """`R` running, `S` waiting, `D` waiting for a disk (proc_pid_stat(5))."""
    waits_in: str | None = None
    """The function of Linux it waits in (/proc/PID/task/TID/wchan), such as `futex_wait_queue`."""
    has_limit: bool | None = None
    """Whether the system call it waits in ends by itself after a time; None where that is not known."""
    wakers: tuple[str, ...] | None = None
    """Who can end a wait on descriptors: "10.0.0.1:443", "a pipe"; none: only the process itself. None: not known."""


@dataclass(frozen=True)
class Stack:
    """The stacks of the kernel, read from outside (event `stack`)."""

    mono_s: float
    reason: Literal["near_limit", "climbing", "busy", "stuck", "asked", "end"]
    threads: tuple[ThreadStack, ...] = ()
    """The thread that runs the cells first; only that one unless the kernel is stuck or somebody asked."""
    children: tuple[ChildState, ...] = ()
    """The processes below the kernel; only if somebody asked."""


@dataclass(frozen=True)
class Rlimit:
    """A resource limit of the process (getrlimit(2)); None: unlimited."""

    soft: int | None = None
    hard: int | None = None


@dataclass(frozen=True)
class FileSystem:
    """A file system that the kernel uses."""

    path: str
    """The mount point."""
    kind: str | None = None
    """`tmpfs`, `ext4`, ..."""
    total_bytes: int | None = None
    free_bytes: int | None = None
    """Available to this user."""
    roles: tuple[str, ...] = ()
    """Why it is listed: `shm` (/dev/shm), `tmp`, `cwd`, `mapped` (a file on it is mapped), `open` (a file is open)."""
    shrunk_files: tuple[str, ...] = ()
    """Mapped files on it that are shorter than their mapping: touching the rest raises a bus error."""
    mapped_bytes: int | None = None
    """The size up to which its files are mapped, added up. More than the file system's size can never be written."""


@dataclass(frozen=True)
class Neighbour:
    """Another process of this user that shares the kernel's nearest memory limit, or the machine's memory."""

    pid: int
    name: str | None = None
    rss_bytes: int | None = None
    notebook: str | None = None
    """Of a kernel that is recorded, too: its notebook's path."""


@dataclass(frozen=True)
class SystemState:
    """The machine and the process at one moment (event `surroundings`)."""

    mono_s: float
    when: Literal["start", "changed", "stuck", "incident", "end"]
    rlimits: dict[str, Rlimit] = field(default_factory=dict)
    """By their names without `RLIMIT_`: `AS`, `DATA`, `CPU`, `NOFILE`, `NPROC`, `STACK`, `FSIZE`."""
    threads: int | None = None
    open_files: int | None = None
    address_space_bytes: int | None = None
    """VmSize, what RLIMIT_AS counts."""
    data_bytes: int | None = None
    """VmData, what RLIMIT_DATA counts."""
    cpu_s: float | None = None
    """CPU time of the process so far, what RLIMIT_CPU counts."""
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    commit_limit_bytes: int | None = None
    committed_bytes: int | None = None
    overcommit_mode: int | None = None
    """/proc/sys/vm/overcommit_memory: 0 heuristic, 1 always, 2 never."""
    pressure_some: float | None = None
    pressure_full: float | None = None
    """Percent of the last 10 s in which some or all processes waited for memory (PSI: /proc/pressure/memory)."""
    pids_current: int | None = None
    pids_limit: int | None = None
    """The limit of processes of the nearest control group that has one."""
    under_oom: bool | None = None
    """Whether the memory limit is reached and nobody is killed (memory.oom_control of version 1, killer disabled)."""
    oom_killer_disabled: bool | None = None
    display: str | None = None
    """DISPLAY or WAYLAND_DISPLAY of the process; empty if neither is set."""
    filesystems: tuple[FileSystem, ...] = ()
    libraries: tuple[str, ...] = ()
    """Native libraries of interest that are mapped: OpenMP runtimes, BLAS, CUDA, GUI toolkits."""
    neighbours: tuple[Neighbour, ...] = ()
    """At most 5, largest first; at the end, at an incident and when stuck."""
    cpu_flags: tuple[str, ...] = ()
    """Which of the newer instruction sets the processor has: `avx`, `avx2`, `avx512f`."""


@dataclass(frozen=True)
class Child:
    """A process below the kernel that ended (event `child_end`)."""

    pid: int
    mono_s: float
    name: str | None = None
    """The process's name, without arguments."""
    parent_pid: int | None = None
    started_mono_s: float | None = None
    kind: Literal["signal", "exit", "unknown"] = "unknown"
    signal: str | None = None
    exit_code: int | None = None
    peak_bytes: int | None = None
    """The highest resident memory seen."""
    oom_kills: int | None = None
    """How much the control group's count of memory kills rose around its end."""


@dataclass(frozen=True)
class ChildState:
    """A living process below the kernel, in a `stuck` or `stack` event."""

    pid: int
    name: str | None = None
    state: str | None = None
    waits_in: str | None = None
    rss_bytes: int | None = None
    cpu_s: float | None = None
    forked: bool | None = None
    """Whether it is a fork of the kernel that has not called exec."""
    stack: tuple[Frame, ...] = ()
    """The frames of its main thread, innermost first, where they could be read."""
    reads_terminal: bool = False
    """Whether it waits for a key to be pressed."""


@dataclass(frozen=True)
class Stuck:
    """The running cell did nothing for a while: no CPU time in its processes, no output (event `stuck`)."""

    mono_s: float
    since_mono_s: float
    children: tuple[ChildState, ...] = ()
    threads: tuple[ThreadStack, ...] = ()
    """All threads of the kernel, the one that runs the cells first."""
    over: bool = False
    """Whether it went on afterwards; such an event has no stacks."""
    faults_per_s: float | None = None
    """Major page faults a second; thrashing on swap causes many."""
    lock_files: tuple[str, ...] | None = None
    """The lock files that other processes had open while the cell slept, as one does that waits for such a file."""


@dataclass(frozen=True)
class Incident:
    """An exception that shows a near-death of the kernel (event `incident`)."""

    kind: str
    """`memory-error`, `torch-out-of-memory`, `tf-resource-exhausted`, `jax-out-of-memory`, `cupy-out-of-memory`,
    `cuda-error`, `worker-killed`, `no-space`, `too-many-files`, `no-threads`, `no-memory-for-process`, `recursion`,
    `interrupted-by-openblas`, `binary-mismatch`, `broken-pool`."""
    mono_s: float
    error: str
    """The name of the exception's type, with its module."""
    cell_seq: int | None = None
    frames: tuple[Frame, ...] = ()
    """Where it was raised, innermost first."""
    asked_bytes: int | None = None
    """How much was asked for, where the exception says so."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Further numbers from its text: `total_bytes`, `free_bytes`, `allocated_bytes`, `reserved_bytes`,
    `unallocated_bytes` (reserved, and not allocated), `process_bytes` (all of this process on the card),
    `others_bytes` (of other processes on it), `allowed_bytes`, `gpu` (its index), `pid`, `exit_code`, `errno`."""
    signature: str | None = None
    """The library's own words without any value of the user's: "CUDA error: device-side assert triggered"."""
    rss_bytes: int | None = None
    surroundings: SystemState | None = None


@dataclass(frozen=True)
class NamedObject:
    """One of the biggest objects that the user's variables hold, without its value."""

    name: str
    """`df`, `losses`, `Out[3]`, `_`, `open figures`, `the last traceback`."""
    type: str
    bytes: int
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    items: int | None = None
    """How many items a list, dict or the like has."""
    item_type: str | None = None
    hidden: bool = False
    """Whether IPython or a library keeps it, not a variable of the user's: the Out cache, open figures, a traceback."""
    device: str | None = None
    """`cuda:0` for an object on a card."""
    with_graph: bool = False
    """Whether it is a PyTorch tensor, or holds some, with the graph for its gradient; `bytes` is without the graph."""
    unmeasured: bool = False
    """Whether it is a small container that gains items, and these keep memory of a library's own, which `bytes` lacks;
    only in a `held` event."""
    grew_bytes: int | None = None
    """How much it has grown since it was seen first while this cell ran; only in a `held` event, as are the fields
    below."""
    items_before: int | None = None
    """How many items it had then."""
    file: str | None = None
    """The file of the function whose local variable it is; None for a global one."""
    function: str | None = None
    """That function."""


@dataclass(frozen=True)
class Namespace:
    """The biggest objects at the end of a cell (event `namespace`), biggest first."""

    mono_s: float
    cell_seq: int | None = None
    objects: tuple[NamedObject, ...] = ()
    complete: bool = True
    """False if there was no time to examine all."""


@dataclass(frozen=True)
class Held:
    """The biggest objects in the middle of a cell that grows, also those in its functions (event `held`).

    Names are as the user would write them: `kept`, `self.seen`, `losses`.
    """

    mono_s: float
    cell_seq: int | None = None
    objects: tuple[NamedObject, ...] = ()
    complete: bool = True
    """False if there was no time to examine all."""
    took_s: float | None = None
    """How long the examination took."""


@dataclass(frozen=True)
class StatementGrowth:
    """How much memory grew while one statement ran."""

    frames: tuple[Frame, ...]
    """The stack of that statement, innermost first."""
    bytes: int
    reads: int | None = None
    """How many stacks showed it."""


@dataclass(frozen=True)
class Growth:
    """Which statements a cell's memory grew in, by stacks read from outside (event `growth`).

    A newer one of the same cell takes the place of the earlier one.
    """

    mono_s: float
    cell_seq: int | None = None
    grew_bytes: int | None = None
    """All growth while stacks were read."""
    unknown_bytes: int | None = None
    """The part of it for which no stack could be read."""
    reads: int | None = None
    """How many stacks were read."""
    statements: tuple[StatementGrowth, ...] = ()
    """At most 12, most bytes first."""


@dataclass(frozen=True)
class Framework:
    """A deep-learning library that the user imported, and its allocator (event `framework`)."""

    name: str
    """`torch`, `tensorflow`, `jax`."""
    mono_s: float
    version: str | None = None
    built_for: dict[str, str] = field(default_factory=dict)
    """`cuda`, `cudnn`, `rocm`: the versions it was built for."""
    cell_seq: int | None = None
    device: str | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_bytes: int | None = None
    total_bytes: int | None = None
    asked_bytes: int | None = None
    """How much was asked for when the card's memory was full; only in an event about such a moment."""
    free_bytes: int | None = None
    """How much of the card's memory was free at that moment."""


@dataclass(frozen=True)
class Gpu:
    """A card (event `gpus`, once and when it changes)."""

    index: int
    name: str | None = None
    uuid: str | None = None
    total_bytes: int | None = None


@dataclass(frozen=True)
class GpuDriver:
    """The driver, or why it cannot be used (event `gpus`)."""

    version: str | None = None
    cuda: str | None = None
    """The newest CUDA version the driver supports, as "12.4"."""
    error: str | None = None
    """NVML's error: "Driver/library version mismatch"."""


@dataclass(frozen=True)
class GpuProcess:
    """Another process that uses a card."""

    pid: int
    bytes: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class GpuSample:
    """One card at one moment (`gpu-0.jsonl`, `gpu-1.jsonl`)."""

    mono_s: float
    index: int
    used_bytes: int | None = None
    own_bytes: int | None = None
    """The memory of the kernel and its children."""
    utilisation: int | None = None
    """Percent."""
    temperature_c: int | None = None
    power_w: float | None = None
    throttle: tuple[str, ...] = ()
    """Why the clocks are slowed down: `thermal`, `power-brake`, `hw-slowdown`, `power-cap`."""
    ecc_uncorrected: int | None = None
    others: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True)
class Xid:
    """An error event of a card (event `xid`)."""

    mono_s: float
    code: int
    index: int | None = None
