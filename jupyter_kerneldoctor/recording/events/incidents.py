"""Defines what was recorded on the way to the end: output, ended children, exceptions that were survived."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .stacks import Frame  # noqa: TC001 - `decode` reads the annotations
from .system_state import SystemState  # noqa: TC001 - `decode` reads the annotations


@dataclass(frozen=True)
class Output:
    """Some text that the process, native code included, wrote to its file descriptor 1 or 2 (`output-*.jsonl`)."""

    mono_s: float
    fd: Literal[1, 2]
    text: str
    """What Python code prints is not in it: in a kernel that reaches the notebook without a file descriptor."""


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
class ThreadError:
    """An exception that ended a thread of the user's (event `thread_error`)."""

    mono_s: float
    error: str
    """The name of the exception's type, with its module."""
    frames: tuple[Frame, ...] = ()
    """Where it was raised, innermost first."""
