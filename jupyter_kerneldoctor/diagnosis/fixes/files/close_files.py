import ast
from collections.abc import Iterator
from typing import Any

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ...fix import Advice, Call, Case, Death, quote

_FULL = SystemState(-1, "end", rlimits={"NOFILE": Rlimit(1024, 4096)}, open_files=1024)
_ALIVE: dict[str, Any] = {"cause": "fd-limit", "alive": True}
_OPENERS = (
    *("builtins.open", "io.open", "gzip.open", "h5py.File", "socket.socket", "tempfile.TemporaryFile"),
    *("socket.create_connection", "socket.socketpair", "subprocess.Popen", "multiprocessing.Pool"),
    *("multiprocessing.Pipe", "sqlite3.connect", "os.open", "os.pipe", "PIL.Image.open"),
    *("tempfile.mkstemp", "tempfile.NamedTemporaryFile", "bz2.open", "lzma.open", "asyncio.new_event_loop"),
    *("psycopg2.connect", "pymysql.connect", "duckdb.connect", "zipfile.ZipFile", "tarfile.open", "shelve.open"),
    *("rasterio.open", "fiona.open", "netCDF4.Dataset", "xarray.open_dataset", "urllib.request.urlopen"),
    *("multiprocessing.Queue", "multiprocessing.SimpleQueue"),
    *("requests.Session", "pathlib.Path.open", "soundfile.SoundFile", "tifffile.TiffFile"),
)
_LATER = (
    "logging.FileHandler",
    "logging.handlers.RotatingFileHandler",
    "logging.handlers.TimedRotatingFileHandler",
    "numpy.load",
    "numpy.memmap",
)
"""What a notebook often leaves open on purpose: it is named where nothing else is."""

_HANDLER = "logger.removeHandler(handler)\nhandler.close()  # when its work is done; or one logger for all of it"
_OF_HANDLER = "A handler keeps its file open until `close()`."
_ARRAYS = "with np.load(path) as arrays:\n    values = arrays[name]"
_MAP = "Map fewer files at a time: each map keeps its file open"
_OF_A_MAP = "A map keeps its file open until nothing uses it any more, and `with` does not end that."
_MAPPED = "part = np.array({call}[rows])  # a copy of what is needed: the map ends with this line"
_QUEUE = "queue.close()  # each that is done; or one queue for all\nqueue.join_thread()"
_FILE = "with open(path) as file:\n    text = file.read()"
_WITH = "with {call} as file:\n    ..."
_BOTH_ENDS = "receiver.close()\nsender.close()  # both ends: the kernel keeps its copies\nworker.join()\nworker.close()"
_CLOSING = (
    "from contextlib import closing\n\ncon = {call}  # or one for all queries, opened before the loop\n\n"
    "with closing({call}) as con:  # a cursor keeps it open: take all rows\n    rows = con.execute(query).fetchall()"
)
_CONNECTION = "Keep one connection open for all queries, or close each after use: closing, fetchall()"
_SESSION = "with requests.Session() as session:\n    for url in urls:\n        text = session.get(url).text"
_RAISE = (
    "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # as `ulimit -n`: more, until the next restart"
)
_HIGHEST = "# the limit is as high as this process may set it: who runs the machine can allow more (ulimit -Hn)"
_WITH_ENDS = "`with` closes a file at the end of its block."
_ENDS = {
    "numpy.memmap": _OF_A_MAP,
    **dict.fromkeys(("multiprocessing.Queue", "multiprocessing.SimpleQueue"), "A queue has a pipe of two ends."),
}
_WAYS = (
    ("logging.", "Close each log handler after use: removeHandler, close()", _HANDLER),
    ("numpy.memmap", _MAP, _MAPPED),
    ("numpy.", "Close each .npz file after use: with np.load(...)", _ARRAYS),
    ("multiprocessing.Pipe", "Close both ends of each pipe, and each worker", _BOTH_ENDS),
    ("multiprocessing.Queue", "Use one queue for all, or close each that is done: close()", _QUEUE),
    ("multiprocessing.SimpleQueue", "Use one queue for all, or close each that is done: close()", "queue.close()"),
    ("multiprocessing.Process", "Close each worker that is done", "worker.join()\nworker.close()"),
    ("socket.", "Close each connection after use: with", "with socket.create_connection(address) as one:\n    ..."),
    ("subprocess.", "Wait for each program: with Popen(...)", "with subprocess.Popen(command) as program:\n    ..."),
    ("multiprocessing.", "End each pool, pipe and queue: with", "with multiprocessing.Pool(2) as pool:\n    ..."),
    (
        "asyncio.",
        "Close each event loop after use: asyncio.run does",
        "result = asyncio.run(work())  # in a thread; or loop.close() in finally",
    ),
    *((f"{one}.", _CONNECTION, _CLOSING) for one in ("sqlite3", "psycopg2", "pymysql", "duckdb")),
    ("requests.", "Make one session for all requests, before the loop", _SESSION),
    ("os.", "Close each descriptor after use: os.close", "try:\n    ...\nfinally:\n    os.close(descriptor)"),
    (
        "PIL.",
        "Close each picture after use: with",
        "with Image.open(path) as picture:\n    values = np.asarray(picture)",
    ),
    (
        "tempfile.mkstemp",
        "Close each descriptor that mkstemp has opened: os.close, os.fdopen",
        "descriptor, path = tempfile.mkstemp()\nwith os.fdopen(descriptor, 'w') as file:\n    ...",
    ),
    ("tempfile.", "Close each file after use: with", "with tempfile.TemporaryFile() as file:\n    ..."),
)


class CloseFiles(Advice):
    """Close each file when it has been read: with open(...).

    What it does: A process may have so many files open at once, 1024 as a rule; sockets and pipes count as well. A file
    that is opened by `with` is closed at the end of the block. The lines below that show what is open now, and raise
    the limit for this kernel where that is allowed.

    When it is offered: Too many files were open.

    What it costs: Nothing.
    """

    id, title, causes = "close-files", "Close each file after use: with open(...)", ("fd-limit",)
    headline = "{title_}"
    why = "{counted}{opened}{ends}"
    snippet = "{closes}  # closed from here on\n\n!ls -l /proc/{pid}/fd | tail -30  # what is open now\n{more}"

    FIRES = [
        Case(
            "fs = []\nfor p in paths: fs.append(open(p))",
            system_states=[_FULL],
            **_ALIVE,
            says=("1,024 open files are allowed", "`open(p)`", "ulimit -n"),
        ),
        Case(
            "import sqlite3\ndbs = [sqlite3.connect(p) for p in paths]",
            system_states=[SystemState(-1, "end", rlimits={"NOFILE": Rlimit(64, 64)}, open_files=64)],
            **_ALIVE,
            says=("from contextlib import closing", "ulimit -Hn", "with closing(sqlite3.connect(p)) as con"),
        ),
        Case(  # where a library says nothing of it
            "import sqlite3\ndef ask(q):\n    con = sqlite3.connect(DB)\n    return con.execute(q)",
            "all = {q: ask(q) for q in qs}",
            **_ALIVE,
            says=("con.execute(query).fetchall()", "one for all queries", "`sqlite3.connect(DB)`"),
        ),
        Case("import h5py\nfs = [h5py.File(p) for p in paths]", **_ALIVE, says=("with h5py.File(p) as file:",)),
        Case("import requests\ns = [requests.Session() for u in us]", **_ALIVE, says=("session.get(url)",)),
        Case("import socket\ns = [socket.socket() for _ in hosts]", **_ALIVE, says=("with socket.create_connection",)),
        Case("import asyncio\nloop = asyncio.new_event_loop()", **_ALIVE, says=("asyncio.run", "event loop after use")),
        Case("import tempfile\n_, path = tempfile.mkstemp()", **_ALIVE, says=("os.fdopen(descriptor, 'w')",)),
        Case("work()", **_ALIVE, says=("with open(path)",)),
        Case(
            "import logging",
            "for run in runs:\n    log = logging.getLogger(run)\n    log.addHandler(logging.FileHandler(run))",
            **_ALIVE,
            says=("log handler", "removeHandler(handler)", "`logging.FileHandler(run)`"),
        ),
        Case("import numpy as np\nall = [np.load(p) for p in paths]", **_ALIVE, says=("with np.load", "`np.load(p)`")),
        Case(
            "import numpy as np\nall = [np.load(p, mmap_mode='r') for p in paths]",
            **_ALIVE,
            says=("A map keeps its file open", "np.array(np.load(p, mmap_mode='r')[rows])"),
        ),
        Case(
            "import multiprocessing as mp\nqs = [mp.Queue() for _ in jobs]", **_ALIVE, says=("queue.close()", "a pipe")
        ),
        Case(
            "import numpy as np\nimport logging\nlogging.getLogger().addHandler(logging.FileHandler('a'))",
            "fs = [open(p) for p in paths]",
            **_ALIVE,
            says=("`open(p)`", "with open"),
        ),
        Case(
            "import multiprocessing as mp\nctx = mp.get_context('fork')",
            "for n in range(400):\n    ends.append(ctx.Pipe())",
            **_ALIVE,
            says=("both ends", "sender.close()"),
        ),
    ]
    SILENT = [Case("open(p)", cause="disk-full")]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the call that opens without closing."""
        limit, hard = (
            death.environment.soft_limit("NOFILE"),
            death.environment.known.rlimits.get("NOFILE", Rlimit()).hard,
        )
        opened, kind, text = "", "", ""
        for call in (*death.code.calls(*_OPENERS), *_of_contexts(death), *death.code.calls(*_LATER)):
            around = (call.statement, *call.scope.around(call.node))
            if not any(isinstance(one, ast.With | ast.AsyncWith) for one in around):
                is_map = call.name == "numpy.load" and call.argument("mmap_mode", 1) is not None
                kind, text = "numpy.memmap" if is_map else call.name, " ".join(call.text.split())
                opened = f"Nothing here closes what {quote(call.text)} opens. "
                break
        way, closes = next(
            (told for part, *told in _WAYS if kind.startswith(part)), (self.title, _WITH if kind else _FILE)
        )
        return {
            "title_": way,
            "closes": closes.replace("{call}", text),
            "ends": _ENDS.get(kind, _OF_HANDLER if kind.startswith("logging.") else _WITH_ENDS),
            "more": _HIGHEST if limit is not None and limit == hard else _RAISE,
            "counted": f"{limit:,} open files are allowed at once. " if limit else "",
            "opened": opened,
        }


def _of_contexts(death: Death) -> Iterator[Call]:
    """Yield the calls of a context of multiprocessing, which has the functions of the module: `ctx.Pipe()`."""
    for node, scope in death.code.running.nodes(ast.Call):
        owner, _, name = (death.code.described(node.func, scope) or "").rpartition(".")
        if owner.startswith("multiprocessing.get_context") and f"multiprocessing.{name}" in _OPENERS:
            yield Call(node, scope, f"multiprocessing.{name}")
