"""Recordings of kernels that are stuck, in a few lines, for the examples of the rules and for tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jupyter_kerneldoctor.recording.events import Child, ChildState, Frame, Stack, Stuck, ThreadStack
from jupyter_kerneldoctor.recording.model import Recording

from . import MIB, PID, cell_file, recording


def frame(file: str, function: str, line: int = 100, *, library: bool = False) -> Frame:
    """Make a function of the standard library, or of an installed library, in a stack."""
    return Frame(f"/usr/lib/python3.11/{'site-packages/' if library else ''}{file}", line, function)


def own_frame(source: str, line: int, function: str = "<module>") -> Frame:
    """Make a function of the cell `source` in a stack."""
    return Frame(cell_file(source), line, function)


def thread(*frames: Frame, waits_in: str | None = None, state: str = "S", main: bool = True) -> ThreadStack:
    """Make a thread, its frames innermost first."""
    return ThreadStack(frames, 4242 if main else 4300, main, None, state, waits_in)


def child_state(
    pid: int, *stack: Frame, forked: bool = True, name: str = "python3", waits_in: str | None = None
) -> ChildState:
    """Make a living child process."""
    return ChildState(pid, name, "S", waits_in, 50 * MIB, 0.5, forked, stack)


def child(pid: int, *, signal: str | None = None, **more: Any) -> Child:
    """Make a child process that ended badly."""
    return Child(pid, -8.0, "python3", PID, kind="signal" if signal else "exit", signal=signal, **more)


def look(
    source: str,
    line: int,
    *inner: Frame,
    waits_in: str | None = None,
    state: str = "S",
    threads: Sequence[ThreadStack] = (),
    children: Sequence[ChildState] = (),
) -> Stuck:
    """Make the record of a cell that has done nothing for 30 s; see `stuck_in`."""
    main = thread(*inner, own_frame(source, line), waits_in=waits_in, state=state)
    heart = thread(frame("ipykernel/heartbeat.py", "run", library=True), waits_in="do_poll", main=False)
    return Stuck(-0.1, -30.1, tuple(children), (main, heart, *threads))


def stuck_in(
    source: str,
    line: int,
    *inner: Frame,
    waits_in: str | None = None,
    state: str = "S",
    threads: Sequence[ThreadStack] = (),
    children: Sequence[ChildState] = (),
    gone: Sequence[Child] = (),
    over: bool = False,
    faults_per_s: float | None = None,
    **more: Any,
) -> Recording:
    """Make a recording of a living kernel whose cell `source` has done nothing for 30 s.

    It is at `line`, within the functions `inner` (innermost first), where the kernel function is `waits_in`.
    """
    event = look(source, line, *inner, waits_in=waits_in, state=state, threads=threads, children=children)
    event = replace(event, over=over, faults_per_s=faults_per_s)
    return recording(source, alive=True, stuck=[event], children=gone, **more)


def at_work(
    source: str,
    line: int,
    *inner: Frame,
    children: Sequence[ChildState] = (),
    state: str = "R",
    waits_in: str | None = None,
    rounds: Sequence[Sequence[int]] = (),
) -> list[Stack]:
    """Make the looks at a cell that has been at the same work, within the functions `inner`, for eight seconds.

    `rounds` are the lines, outermost frame first, at which it was in turn each half millisecond after a look.
    """
    main = thread(*inner, own_frame(source, line), state=state, waits_in=waits_in)
    glances = tuple(map(tuple, rounds)) * 10
    took_s = len(glances) / 2000 or None
    return [Stack(-ago, "busy", (main,), tuple(children), glances, took_s) for ago in (9, 5, 1)]


IN_MAP = (frame("threading.py", "wait"), frame("multiprocessing/pool.py", "get"))
"""`pool.map(f, x)`, innermost function first."""
IN_RUN = (frame("subprocess.py", "_try_wait"), frame("subprocess.py", "wait"))
"""`subprocess.run(command)`."""
IN_JOIN = (frame("multiprocessing/popen_fork.py", "poll"), frame("multiprocessing/process.py", "join"))
"""`process.join()`."""
