"""Defines what was recorded of the machine, the process and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


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
