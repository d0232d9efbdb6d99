"""Defines what was recorded of stacks: of the kernel, its threads and its children."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal


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
        libraries = [number for number, part in enumerate(parts[:-1]) if re.fullmatch(r"python\d+(\.\d+t?)?", part)]
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
    """Who can end a wait on descriptors or a file's lock: "10.0.0.1:443", "a pipe"; none: only the process itself.

    None: not known.
    """


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
class Stack:
    """The stacks of the kernel, read from outside (event `stack`)."""

    mono_s: float
    reason: Literal["near_limit", "climbing", "busy", "stuck", "asked", "end"]
    threads: tuple[ThreadStack, ...] = ()
    """The thread that runs the cells first; only that one unless the kernel is stuck or somebody asked."""
    children: tuple[ChildState, ...] = ()
    """The processes below the kernel; only if somebody asked."""
    glances: tuple[tuple[int, ...], ...] = ()
    """At which lines the cells' frames were some dozen times right afterwards, the outermost frame first."""
    glances_s: float | None = None
    """In which time that was."""


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
