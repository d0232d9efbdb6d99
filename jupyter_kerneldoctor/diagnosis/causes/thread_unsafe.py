import ast
import re
from collections.abc import Iterable, Iterator

from jupyter_kerneldoctor.recording.model import Cell
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..analysis.traceback import Thread
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..code.notebook import Notebook
from ..conflicts import by_words
from ..examples import cell_file, crash_in, crash_report, recording

_ONE_AT_A_TIME = frozenset(
    {"netCDF4", "h5netcdf", "tables", "pyhdf", "osgeo", "fiona", "vtk", "vtkmodules", "pyvista"}
    | {"matplotlib", "tkinter", "pygame", "wx", "PyQt5", "PyQt6", "PySide2", "PySide6"}
)
"""Libraries whose documentation allows one thread at a time: netCDF-C, HDF5 without its thread-safe build, GDAL's
datasets, GUI toolkits; Matplotlib's figures and its font cache."""

_USED_BY = {
    "xarray/backends/netCDF4_.py": "netCDF4",
    "xarray/backends/h5netcdf_.py": "h5netcdf",
    "xarray/backends/api.py": "netCDF4",
}
"""Of whose functions a crash report shows the caller only, as they are compiled, or none, as the memory is damaged."""

_SHARED_DATABASE = re.compile(r"\bcheck_same_thread\s*=\s*False\b")
_ASKS_A_DATABASE = re.compile(r"\.(?:execute\w*|fetch\w+|cursor|commit|rollback)\(")
"""sqlite3 lets a second thread use a connection only where it is told to, and the calls are then one's own to order."""

_NAMES = "|".join(sorted(_ONE_AT_A_TIME))
_IMPORTED = re.compile(rf"^[ \t]*(?:import[ \t].*?|from[ \t]+)\b({_NAMES})\b", re.MULTILINE)
_POOLS = {"concurrent/futures/thread.py", "multiprocessing/pool.py", "dask/threaded.py", "joblib/parallel.py"}
_SUMMARY = "Ended: two threads in a library that allows one"
_THREADS = ("concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool", "threading.Thread")
_CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS")
_IN_THREADS = "from multiprocessing.pool import ThreadPool\nwith ThreadPool(8) as pool: pool.map(read, paths)"
_READ = "def read(n):\n    return nc.Dataset(n)['t'][:]"


class ThreadUnsafe(Cause):
    """A library that may be used by one thread at a time was used by two.

    What it means: Not every library protects its data against threads that work on it at the same time. Threads are
    easy to come by without noticing: a `ThreadPoolExecutor`, `joblib` with threads, dask, a server in the background, a
    figure that is drawn outside the main thread.

    How it is recognised: By the last words: numba's "Concurrent access has been detected" (its workqueue threading
    layer), Tcl's "async handler deleted by the wrong thread", Xlib's "XInitThreads has not been called". With less
    certainty: it crashed while two threads were in the same library, one of those whose documentation allows one thread
    only (netCDF, HDF5, GDAL, GUI toolkits), or in a background thread, below a function of a cell that uses one of
    these, or a connection of sqlite3 that was made with `check_same_thread=False`; or it crashed too fast for a report,
    and threads of the cell run such a function without a lock.

    What to do: Let one thread do all the calls into this library, or hold a `threading.Lock` around them. For numba
    install `tbb` or use the `omp` threading layer. For matplotlib in threads use the Agg backend. Processes in place of
    threads help as well.

    Example: Reading two netCDF files in a `ThreadPoolExecutor`.
    """

    id, title, family = "thread-unsafe", "Two threads in a library that allows one", Family.NATIVE_CRASH
    last_words = (
        r"Concurrent access has been detected",
        r"Tcl_AsyncDelete: async handler deleted by the wrong thread",
        r"xcb_xlib_threads_sequence_lost|XInitThreads has not been called",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end:
            return None
        words, shared = death.said(self.id), _shared_module(death)
        module = shared or _called_from_a_cell(death)
        if words is None and module is None:
            return self._of_opened_in_threads(death) or self._of_its_code(death)
        together = death.traceback is not None and death.traceback.crashed_together
        is_seen = words is not None or shared is not None
        at_work = Certainty.LIKELY if is_seen or together else Certainty.POSSIBLE
        crashed = at_work if module is not None else Certainty.WEAK
        return self.finding(
            death,
            crashed if words is None else by_words(death, Certainty.STRONG, crashed),
            f"Several threads {'' if is_seen else 'probably '}used "
            f"{'a library that' if module is None else f'{module}, which'} allows one at a time; "
            f"the kernel died {_where(death)}.",
            (*_together(together), *_threads(death, shared), *_in_the_background(death, None if is_seen else module)),
            summary=_SUMMARY,
        )

    def _of_opened_in_threads(self, death: Death) -> CauseFinding | None:
        """Judge a crash in a pool's thread, in a library for one thread, in which no other was at that moment."""
        if death.background is None or death.signal not in _CRASHES or death.traceback is None:
            return None
        module, files = _module(death.traceback.current), {one.short_file for one in death.traceback.current.frames}
        if module is None or not files & _POOLS:
            return None
        return self._probably_used(death, module, _in_the_background(death, module))

    def _of_its_code(self, death: Death) -> CauseFinding | None:
        """Judge a crash that left no report, in a cell whose threads run a function that uses such a library."""
        if death.traceback is not None or death.signal not in _CRASHES:
            return None
        module = death.find(_used_in_threads)
        if not module:
            return None
        shown = Evidence(f"Threads of this cell run a function that uses {module}.", source="cell source")
        return self._probably_used(death, module, (shown,))

    def _probably_used(self, death: Death, module: str, evidence: Iterable[Evidence]) -> CauseFinding:
        told = f"Several threads probably used {module}, which allows one at a time; the kernel died {_where(death)}."
        return self.finding(death, Certainty.LIKELY, told, evidence, summary=_SUMMARY)

    def fires_on(self) -> Recordings:
        """numba, Tcl, X, and a crash with two threads in netCDF."""
        cell = "list(pool.map(f, parts))"
        numba = "Terminating: Numba workqueue threading layer is terminating: Concurrent access has been detected.\n"
        yield recording(cell, signal="SIGABRT", output=numba, crash=crash_in(cell, message="Aborted"))
        tcl = "Tcl_AsyncDelete: async handler deleted by the wrong thread\n"
        yield recording("gc.collect()", signal="SIGABRT", output=tcl)
        xcb = (
            "[xcb] Most likely this is a multi-threaded client and XInitThreads has not been called\n"
            "python: xcb_io.c:263: poll_for_event: Assertion `!xcb_xlib_threads_sequence_lost' failed.\n"
        )
        yield recording("show()", signal="SIGABRT", output=xcb, server="watched")
        yield recording(cell, signal="SIGSEGV", crash=_two_threads_in("netCDF4/utils.py"))
        yield recording("import netCDF4 as nc", _READ, cell, signal="SIGSEGV", crash=_in_a_thread(_READ))
        yield recording(cell, signal="SIGSEGV", crash=_two_threads_in("xarray/backends/netCDF4_.py"))
        database = "import sqlite3\ndb = sqlite3.connect(p, check_same_thread=False)"
        asks = "def read(n):\n    return db.execute(q, (n,)).fetchall()"
        yield recording(database, asks, cell, signal="SIGSEGV", crash=_in_a_thread(asks))
        opened = ("/env/lib/python3.11/site-packages/xarray/backends/api.py", 625, "open_dataset")
        pool = ("/usr/lib/python3.11/concurrent/futures/thread.py", 58, "run")
        started = ("/usr/lib/python3.11/threading.py", 1002, "_bootstrap")
        frames = ("/usr/lib/python3.11/importlib/metadata/__init__.py", 476, "load"), opened, pool, started
        crash = crash_report("Segmentation fault", *frames)
        yield recording("ds = xr.open_mfdataset(paths, parallel=True)", signal="SIGSEGV", crash=crash)
        yield recording(cell, signal="SIGSEGV", crash=_two_threads_in("matplotlib/text.py"))
        yield recording("import netCDF4 as nc", _READ, _IN_THREADS, signal="SIGSEGV")  # too fast for a report
        both = _in_a_thread(_READ).replace("Segmentation fault", "Fatal Python error: Bus errorSegmentation fault")
        yield recording("import netCDF4 as nc", _READ, cell, signal="SIGBUS", crash=both)

    def silent_on(self) -> Recordings:
        """Two threads in a library that is made for it, one thread in one that is not, and another process's words."""
        yield recording("f()", signal="SIGSEGV", crash=_two_threads_in("numpy/_core/_methods.py"))
        one = ("/env/lib/python3.11/site-packages/netCDF4/utils.py", 40, "read")
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault", one))
        # A variable that is called like such a library, and the library in the thread that runs the cells.
        variable = "def read(n):\n    return tables[n]"
        yield recording(variable, "list(pool.map(read, parts))", signal="SIGSEGV", crash=_in_a_thread(variable))
        asks = "def read(n):\n    return db.execute(q, (n,)).fetchall()"  # a connection of the thread that made it
        own = "import sqlite3\ndb = sqlite3.connect(p)"
        yield recording(own, asks, "f()", signal="SIGSEGV", crash=_in_a_thread(asks))
        crash = crash_in("read(1)", (cell_file(_READ), 2, "read"))
        yield recording("import netCDF4 as nc", _READ, "read(1)", signal="SIGSEGV", crash=crash)
        yield recording("import netCDF4 as nc", _READ, "read(1)", signal="SIGSEGV")
        locked = _READ.replace("    return", "    with lock: return")
        yield recording(
            "import netCDF4 as nc, threading\nlock = threading.Lock()", locked, _IN_THREADS, signal="SIGSEGV"
        )
        # A worker process said so: numba aborts then.
        said = "Numba workqueue threading layer is terminating: Concurrent access has been detected.\n"
        yield recording("f()", signal="SIGSEGV", crash=crash_in("f()"), output=said)


def _where(death: Death) -> str:
    """Return the place without the words that it is in a thread, as several were named before, or of Python's own."""
    where = death.where().removeprefix("in a background thread, ")
    _, found, beside = where.partition(", while ")
    is_known = death.background is None or death.background.module is None
    return where if is_known or not found else f"while {beside}"


def _module(thread: Thread) -> str | None:
    """Return the library for one thread that a thread is in, also below the frames of what that calls."""
    for frame in thread.frames:
        if is_cell_file(frame.file):
            return None
        used = _USED_BY.get(frame.short_file, frame.module)
        if used in _ONE_AT_A_TIME:
            return used
    return None


def _used_in_threads(code: Notebook) -> str | None:
    """Return the library for one thread that a function uses, where the running code starts threads without a lock."""
    if not any(code.running.calls(*_THREADS)) or code.has_text("Lock("):
        return None
    functions = [scope for scope in code.running if not scope.is_cell]
    used = (code.qualified(call.func, scope) or "" for scope in functions for call in scope.calls)
    return next((name for one in used if (name := one.partition(".")[0]) in _ONE_AT_A_TIME), None)


def _shared_module(death: Death) -> str | None:
    """Return the library for one thread in which two threads were when it crashed."""
    if death.signal not in _CRASHES or death.traceback is None:
        return None
    crashed_in = _module(death.traceback.current)
    return crashed_in if crashed_in is not None and _inside(death, crashed_in) > 1 else None


def _inside(death: Death, module: str | None) -> int:
    """Return how many threads were in a library."""
    threads = death.traceback.threads if death.traceback is not None else ()
    return sum(_module(thread) == module for thread in threads)


def _called_from_a_cell(death: Death) -> str | None:
    """The library for one thread that a function of a cell uses, where this function crashed in a background thread.

    Most of these libraries are compiled: of them faulthandler shows no function, but the one that called them.
    """
    frame = death.background
    if frame is None or frame is not death.innermost or death.signal not in _CRASHES:
        return None
    if _asks_a_shared_database(death):
        return "sqlite3"
    owner, imported = death.frames.cell_of(frame), _imported(death)
    if owner is None or not imported:
        return None
    return death.find(lambda code: _used(code, owner, frame.function, imported))


def _asks_a_shared_database(death: Death) -> bool:
    at = next(iter(death.user_frames), None)
    code = "" if at is None or at.cell is None else at.cell.source.split("\n")[at.line - 1]
    asks = _ASKS_A_DATABASE.search(code) is not None
    return asks and any(_SHARED_DATABASE.search(cell.source) for cell in death.recording.cells)


def _used(code: Notebook, cell: Cell, function: str, imported: set[str]) -> str | None:
    """The first of the imported libraries that a function of a cell uses."""
    scopes = code.scopes(code.index(cell))
    scopes = [scope for scope in scopes if scope.function == function] or scopes
    names = (code.described(node, scope) for scope in scopes for node in scope.names if isinstance(node, ast.Name))
    tops = (name.partition(".")[0] for name in names if name is not None)
    return next((top for top in tops if top in imported), None)


def _imported(death: Death) -> set[str]:
    return {found[1] for cell in death.recording.cells for found in _IMPORTED.finditer(cell.source)}


def _together(together: bool) -> Iterator[Evidence]:
    if together:
        yield Evidence("Several threads crashed at the same moment.", source="crash report of Python's faulthandler")


def _threads(death: Death, module: str | None) -> Iterator[Evidence]:
    if module is not None:
        count = _inside(death, module)
        told = f"{count} threads were in {module} at that moment; its documentation allows one."
        yield Evidence(told, count, "threads", "crash report of Python's faulthandler")


def _in_the_background(death: Death, module: str | None) -> Iterator[Evidence]:
    if module is not None and death.background is not None:
        place = death.frames.name(death.background)
        told = f"A background thread used {module} in {place}; its documentation allows one thread at a time."
        yield Evidence(told, source="crash report of Python's faulthandler")


def _in_a_thread(source: str) -> str:
    """A crash report of a thread that ran a function of a cell."""
    pool = ("/usr/lib/python3.11/concurrent/futures/thread.py", 58, "run")
    frames = ((cell_file(source), 2, "read"), pool, ("/usr/lib/python3.11/threading.py", 1002, "_bootstrap"))
    return crash_report("Segmentation fault", *frames)


def _two_threads_in(file: str) -> str:
    """A crash report with two threads in a library, as examples need."""
    frame = f'  File "/env/lib/python3.11/site-packages/{file}", line 40 in read\n'
    cell = f'  File "{cell_file("list(pool.map(f, parts))")}", line 1 in <module>\n'
    header = "0x00007f97affff6c0 (most recent call first):\n"
    main = f'Thread {header}  File "/usr/lib/python3.11/threading.py", line 320 in wait\n{cell}'
    return f"Fatal Python error: Segmentation fault\n\nCurrent thread {header}{frame}\nThread {header}{frame}\n{main}"
