import re

from ...fix import Advice, Case, Death, quote

_LOCK = (
    "import threading\nlock = threading.Lock()\n\nwith lock:  # around each use of {library}, in every thread\n    ..."
)
_TBB = """# before numba is imported; needs: %pip install tbb
import os
os.environ['NUMBA_THREADING_LAYER'] = 'tbb'
# or @njit(parallel=False) for what runs in threads of your own"""
_AGG = """import matplotlib
matplotlib.use('Agg')  # before matplotlib.pyplot is imported: draws without windows
# and make, use and drop each figure in one thread, best the main thread"""
_CONNECTIONS = """import sqlite3, threading
mine = threading.local()

def connection():  # one for each thread, in place of check_same_thread=False
    if not hasattr(mine, 'db'):
        mine.db = sqlite3.connect(path)
    return mine.db

# or, for a database in memory, in each thread: with lock: rows = cursor.execute(...).fetchall()"""
_FORMS = {
    "sqlite3": ("A connection and its cursors may be used by one thread at a time. ", _CONNECTIONS),
    "numba": ("Numba's workqueue threads may be started from one thread at a time. ", _TBB),
    "tk": ("Windows of Tk belong to the thread that made them, also those that matplotlib makes by itself. ", _AGG),
    "library": ("It may be used by one thread at a time. ", _LOCK),
}


class OneThreadPerLibrary(Advice):
    """Use the library from one thread at a time.

    What it does: Some libraries do not protect their data against two threads at once. A lock around each use,
    processes in place of threads, or a setting of the library keeps them apart; the snippet shows what fits here.

    When it is offered: The kernel died in a library that two threads used.

    What it costs: What waits for the lock does not run at the same time.
    """

    id, title, causes = "one-thread-per-library", "Let one thread at a time use the library", ("thread-unsafe",)
    why = "Several threads used {library} at once. {rule}Hold a lock around each use, or let processes do the work."
    snippet = "{code_}"

    FIRES = [
        Case(
            "from concurrent.futures import ThreadPoolExecutor as T\nimport netCDF4\n"
            "def read(p):\n    with netCDF4.Dataset(p) as d: return d['v'][:]",
            "with T(8) as pool: list(pool.map(read, paths))",
            says=("`netCDF4`", "threading.Lock()"),
        ),
        Case("import sqlite3", "x()", says=("`sqlite3`", "threading.local()", "with lock")),
        Case(
            "x()",
            output="Tcl_AsyncDelete: async handler deleted by the wrong thread\n",
            says=("'Agg'", "main thread"),
        ),
        Case("x()", output="Concurrent access has been detected.\n", says=("LAYER", "tbb")),
    ]
    SILENT = [Case("import netCDF4", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str]:
        """Choose what fits: numba's threading layer, drawing without windows, or a lock."""
        if re.search("Concurrent access has been detected", death.text):
            kind, library = "numba", "numba's parallel functions"
        elif re.search("Tcl_AsyncDelete|XInitThreads|xcb_xlib", death.text):
            kind, library = "tk", "a library that draws windows"
        else:
            names = ("netCDF4", "h5py", "tables", "osgeo", "xarray", "rasterio", "cv2", "sqlite3")
            known = next((name for name in names if death.code.imports(name)), "")
            kind, library = known if known in _FORMS else "library", quote(known) if known else "a library"
        rule, code = _FORMS[kind]
        return {"library": library, "rule": rule, "code_": code.replace("{library}", library.strip("`"))}
