"""`thread-unsafe`: two threads in a library that allows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cause import Cause
from ..certainty import certainty
from ..examples import cell_file, crash_report, recording
from ..postmortem import CauseFinding, Evidence
from ..telling import exclusions, proofs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..facts import Facts
    from ..signs.traceback import Thread

_ONE_AT_A_TIME = frozenset(
    {"netCDF4", "tables", "pyhdf", "tkinter", "osgeo", "fiona", "vtk", "vtkmodules", "pyvista", "pygame", "wx"}
    | {"PyQt5", "PyQt6", "PySide2", "PySide6"}
)
"""Libraries whose documentation allows one thread at a time: netCDF-C, HDF5 without its thread-safe build, GDAL's
datasets, GUI toolkits."""


class ThreadUnsafe(Cause):
    """A library that may be used by one thread at a time was used by two.

    What it means
    -------------
    Not every library protects its data against threads that work on it at the same time. Thread pools are easy to come
    by without noticing: a `ThreadPoolExecutor`, `joblib` with threads, dask, a server in the background, a figure
    that is drawn outside of the main thread.

    How it is recognised
    --------------------
    By the last words: numba's "Concurrent access has been detected" (its workqueue threading layer), Tcl's "async
    handler deleted by the wrong thread", Xlib's "XInitThreads has not been called". With less certainty: it crashed
    while two threads were inside of the same library, one of those whose documentation allows one thread only (netCDF,
    HDF5, GDAL, GUI toolkits).

    What to do
    ----------
    Let one thread do all the calls into this library, or hold a `threading.Lock` around them. For numba install `tbb`
    or use the `omp` threading layer. For matplotlib in threads use the Agg backend. Processes in place of threads help
    as well.

    Example
    -------
    Reading two netCDF files in a `ThreadPoolExecutor`.
    """

    id = "thread-unsafe"
    title = "Two threads in a library for one"

    def judge(self, facts: Facts) -> CauseFinding | None:
        """See the class's page."""
        if not facts.is_unasked_end:
            return None
        words, module = facts.said(self.id), _shared_module(facts)
        if words is None and module is None:
            return None
        library = "A library" if module is None else f"The library {module}"
        return CauseFinding(
            self.id,
            self.title,
            certainty(facts, 0.95 if words is not None else 0.75),
            f"{library} that works for one thread at a time was used by several {facts.where()}.",
            evidence=(
                *proofs.exit_status(facts),
                *(() if words is None else (words.evidence,)),
                *_threads(facts, module),
                *proofs.crash_report(facts),
                *proofs.running_cell(facts),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(facts), exclusions.not_asked_for(facts)),
            line=facts.line,
            summary="Ended: two threads in a library for one",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """numba, Tcl, X, and a crash with two threads in netCDF."""
        cell = "list(pool.map(f, parts))"
        report = crash_report("Aborted", (cell_file(cell), 1, "<module>"))
        numba = "Terminating: Numba workqueue threading layer is terminating: Concurrent access has been detected.\n"
        yield recording(cell, signal="SIGABRT", output=numba, crash=report)
        yield recording(
            "gc.collect()", signal="SIGABRT", output="Tcl_AsyncDelete: async handler deleted by the wrong thread\n"
        )
        xcb = (
            "[xcb] Most likely this is a multi-threaded client and XInitThreads has not been called\n"
            "python: xcb_io.c:263: poll_for_event: Assertion `!xcb_xlib_threads_sequence_lost' failed.\n"
        )
        yield recording("show()", signal="SIGABRT", output=xcb, server="watched")
        yield recording(cell, signal="SIGSEGV", crash=_two_threads_in("netCDF4/utils.py"))

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Two threads in a library that is made for it, and one thread in one that is not."""
        yield recording("f()", signal="SIGSEGV", crash=_two_threads_in("numpy/_core/_methods.py"))
        one = ("/env/lib/python3.11/site-packages/netCDF4/utils.py", 40, "read")
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault", one))


def _shared_module(facts: Facts) -> str | None:
    """The library for one thread in which two threads were when it crashed."""
    if facts.signal not in ("SIGSEGV", "SIGABRT", "SIGBUS") or facts.traceback is None:
        return None
    modules = [_module(thread) for thread in facts.traceback.threads if thread.frames]
    crashed_in = _module(facts.traceback.current)
    return crashed_in if crashed_in in _ONE_AT_A_TIME and modules.count(crashed_in) > 1 else None


def _module(thread: Thread) -> str | None:
    return thread.frames[0].module if thread.frames else None


def _threads(facts: Facts, module: str | None) -> Iterator[Evidence]:
    if module is None or facts.traceback is None:
        return
    inside = sum(_module(thread) == module for thread in facts.traceback.threads)
    yield Evidence(
        f"{inside} threads were inside of {module} at that moment; its documentation allows one.",
        inside,
        "threads",
        "crash report of Python's faulthandler",
    )


def _two_threads_in(file: str) -> str:
    """A crash report with two threads in a library, as examples need."""
    frame = f'  File "/env/lib/python3.11/site-packages/{file}", line 40 in read\n'
    cell = f'  File "{cell_file("list(pool.map(f, parts))")}", line 1 in <module>\n'
    header = "0x00007f97affff6c0 (most recent call first):\n"
    main = f'Thread {header}  File "/usr/lib/python3.11/threading.py", line 320 in wait\n{cell}'
    return f"Fatal Python error: Segmentation fault\n\nCurrent thread {header}{frame}\nThread {header}{frame}\n{main}"
