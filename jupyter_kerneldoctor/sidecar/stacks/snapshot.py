"""Describes what the kernel's threads and child processes are doing, as events record it (`recording.events`)."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...recording.user_files import is_cell_file, is_user_file
from ..meters.procfs import list_directory, read_file
from .memory import Memory, UnreadableError
from .page_faults import PageFaults
from .reader import Reading, StackReader
from .system_calls import call_facts, reads_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .layout import Layout, Runtime
    from .reader import RawFrame

INNERMOST = 30
"""How many frames of a stack are kept in any case; further out only the cells' own frames are."""

_GLANCES_S = 30.0
"""How long a full reading is trusted: code that is freed may be another's place a moment later."""

_MOST_COMPARED = 32
"""Of many threads the newest: looking at all of them would take longer than memory takes to grow."""
_MOST_GREW = 3
"""Of the threads in which memory grew: the first may be between two tasks just now, in no code of the user's."""

_MOST_THREADS = 64
_MOST_CHILDREN = 64
_STACKS_OF_CHILDREN = 16
_PF_FORKNOEXEC = 0x40  # of the flags in proc_pid_stat(5), include/linux/sched.h: forked, and has not called exec

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Stacks:
    """The Python stacks of the kernel and of its forks, where they can be read."""

    def __init__(self, pid: int, layout: Layout, runtime: Runtime) -> None:
        """Open the kernel's memory. Raises OSError: PermissionError where attaching to the kernel is not permitted."""
        self._pid = pid
        self._layout = layout
        self._runtime = runtime
        self._memory = Memory(pid)
        self._reader = StackReader(self._memory, layout, runtime)
        self._last: tuple[int, Reading] | None = None
        self._read_mono_s = 0.0
        self._faults = PageFaults(pid)

    def main(self) -> list[dict[str, Any]]:
        """Return the frames of the main thread, innermost first. Raises UnreadableError.

        Of a stack that changes too fast to be read whole, as while modules are imported, the cell's own part is enough.
        """
        try:
            self._last = _read_main(self._reader, self._pid)
        except UnreadableError:
            frames = self.glance()
            if frames is None:
                raise
            return frames
        self._read_mono_s = time.monotonic()
        return relevant_frames(self._last[1].frames)

    def glance(self) -> list[dict[str, Any]] | None:
        """Return the same at a small part of the cost, or None where the last reading does not help."""
        if self._last is None or time.monotonic() - self._read_mono_s > _GLANCES_S:
            return None
        thread, last = self._last
        try:
            reading = self._reader.glance(thread, last, max(0, _outermost_cell(last.frames)))
        except UnreadableError:
            return None
        if reading is None:
            return None
        self._last = thread, reading
        return relevant_frames(reading.frames)

    def of_other_threads(self, grown_bytes: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the frames of the threads in which memory grew, if it was not the main one: the most first."""
        states: dict[int, int] = {}

        def others() -> dict[int, int]:
            with suppress(UnreadableError):
                states.update(islice(self._reader.threads().items(), _MOST_COMPARED))
            return states

        for thread in self._faults.other_threads(grown_bytes, others)[:_MOST_GREW]:
            yield _frames(self._reader, states[thread])

    def forget(self) -> None:
        """Drop what was read of a cell, as another one runs from now on."""
        if self._last is not None:
            thread, last = self._last
            around = _outermost_cell(last.frames) + 1
            codes = {at: code for at, code in last.codes.items() if not is_user_file(code.file)}
            self._last = thread, Reading(last.links[around:], last.frames[around:], codes)

    def threads(self) -> list[dict[str, Any]]:
        """Return all threads, the main one first, those that Python does not know last."""
        reader = self._reader
        try:
            states = reader.threads()
        except UnreadableError:
            states = {}
        return _threads(self._pid, lambda thread: _frames(reader, states.get(thread)))

    def of_fork(self, pid: int) -> list[dict[str, Any]]:
        """Return the frames of the main thread of a fork of the kernel; none where they cannot be read."""
        try:
            memory = Memory(pid)
        except OSError:
            return []
        try:
            return relevant_frames(_read_main(StackReader(memory, self._layout, self._runtime), pid)[1].frames)
        except UnreadableError:
            return []
        finally:
            memory.close()

    def close(self) -> None:
        """Close the kernel's memory."""
        self._memory.close()
        self._faults.close()


def threads_without_stacks(pid: int) -> list[dict[str, Any]]:
    """Return the same as `Stacks.threads` where no stack can be read."""
    return _threads(pid, lambda _: [])


def _threads(pid: int, frames_of: Callable[[int], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    found = [
        {**thread_facts(pid, thread), "main": thread == pid, "frames": frames_of(thread)}
        for thread in native_threads(pid)
    ]
    found.sort(key=lambda thread: (not thread["main"], not thread["frames"]))
    return found[:_MOST_THREADS]


def _read_main(reader: StackReader, pid: int) -> tuple[int, Reading]:
    """Return the main thread's state and stack. Raises UnreadableError."""
    states = reader.threads()
    # Where another thread of the kernel forked, only that thread runs in the child.
    state = states.get(pid) or (next(iter(states.values())) if len(states) == 1 else None)
    if state is None:
        raise UnreadableError
    return state, reader.read(state)


def _frames(reader: StackReader, state: int | None) -> list[dict[str, Any]]:
    try:
        return [] if state is None else relevant_frames(reader.stack(state))
    except UnreadableError:
        return []


def relevant_frames(frames: list[RawFrame]) -> list[dict[str, Any]]:
    """Return the inner frames and the cells', without the kernel's own that run a cell."""
    inner = frames[: _outermost_cell(frames) + 1] or frames
    kept = inner[:INNERMOST] + [frame for frame in inner[INNERMOST:] if is_cell_file(frame.file)][-INNERMOST:]
    return [{"file": file, "line": line, "function": function} for file, line, function in kept]


def _outermost_cell(frames: list[RawFrame]) -> int:
    """Return the number of the outermost frame of a cell; -1 where there is none."""
    return next((at for at in reversed(range(len(frames))) if is_cell_file(frames[at].file)), -1)


def native_threads(pid: int) -> list[int]:
    """Return the ids of all threads of a process."""
    return sorted(int(name) for name in list_directory(f"/proc/{pid}/task") if name.isdigit())


def thread_facts(pid: int, thread: int) -> dict[str, Any]:
    """Return what a thread is called, and what it waits in and for."""
    at = f"/proc/{pid}/task/{thread}"
    stat = read_file(f"{at}/stat")
    name = _name(stat) or ""
    return {
        "thread_id": thread,
        # Threads without a name of their own have the process's.
        "name": name if stat and (thread == pid or name != _name(read_file(f"/proc/{pid}/stat"))) else None,
        "state": _fields(stat)[0] if stat else None,
        "waits_in": _wchan(at),
        **call_facts(pid, thread, wakers=not name.startswith("ZMQ")),
    }


def child_states(pid: int, stacks: Stacks | None) -> list[dict[str, Any]]:
    """Return the processes below the kernel, 64 at most, as `recording.events.ChildState`."""
    found: list[dict[str, Any]] = []
    for child, forked in descendants(pid):
        stat = read_file(f"/proc/{child}/stat")
        if not stat or len(found) >= _MOST_CHILDREN:
            continue
        fields = _fields(stat)
        found.append(
            {
                "pid": child,
                "name": _name(stat),
                "state": fields[0],
                "waits_in": _wchan(f"/proc/{child}"),
                "rss_bytes": int(fields[21]) * _PAGE_BYTES,
                "cpu_s": round((int(fields[11]) + int(fields[12])) * _TICK_S, 2),
                "forked": forked,
                "stack": stacks.of_fork(child) if stacks and forked and len(found) < _STACKS_OF_CHILDREN else [],
                **({"reads_terminal": True} if reads_terminal(child) else {}),
            }
        )
    return found


def descendants(pid: int, *, forks: bool = True) -> Iterator[tuple[int, bool]]:
    """Yield the processes below one, each with whether it is a fork of it that has not called exec."""
    for thread in list_directory(f"/proc/{pid}/task"):
        for word in read_file(f"/proc/{pid}/task/{thread}/children").split():
            child = int(word)
            stat = read_file(f"/proc/{child}/stat")
            if stat:
                forked = forks and bool(int(_fields(stat)[6]) & _PF_FORKNOEXEC)
                yield child, forked
                yield from descendants(child, forks=forked)


def _wchan(at: str) -> str | None:
    name = read_file(f"{at}/wchan").decode("ascii", "replace").strip()
    return name if name not in ("", "0") else None


def _name(stat: bytes) -> str | None:
    return stat[stat.find(b"(") + 1 : stat.rfind(b")")].decode("utf-8", "replace") if stat else None


def _fields(stat: bytes) -> list[str]:
    """Return the fields from the third on, as `recording.processes.stat_fields`."""
    return stat[stat.rfind(b")") + 1 :].decode("ascii", "replace").split()
