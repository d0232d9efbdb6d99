import ast
from dataclasses import replace as with_
from typing import Any

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ...code.origins import Origins
from ...edits import Changes, replace
from ...fix import Advice, Call, Case, Death, Proposals, size

_LOOP = "import threading\nfor u in urls: threading.Thread(target=get, args=(u,)).start()"
_POOL = (
    "from concurrent.futures import ThreadPoolExecutor\n\n"
    "with ThreadPoolExecutor(max_workers=8) as pool:  # 8 threads take all of the work, one piece after the other\n"
    "    results = list(pool.map(work, items))"
)
_POOLS = ("concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool")
_TIMERS = (
    "{timer}.cancel()  # when its work is done: a timer is a thread until then, or until its time has come\n\n"
    "# or one thread for all: keep the times in a list, and look through it every few seconds"
)
_STACKS = (
    "import threading\n\nthreading.stack_size(1 << 20)  # 1 MiB for each new thread: before they are started\n"
    "# and fewer of them, ThreadPoolExecutor(max_workers=8), or a higher limit (`ulimit -v`, `ulimit -d`)"
)
_VARIABLES = {"polars": "POLARS_MAX_THREADS", "numba": "NUMBA_NUM_THREADS", "torch": "OMP_NUM_THREADS"}
_FEW, _FEW_WORKERS = 4, 8
_ALIVE: dict[str, Any] = {"cause": "thread-limit", "alive": True}
_FULL = [SystemState(-1, "end", threads=33, pids_current=34, pids_limit=34)]


class LimitThreads(Advice):
    """Start fewer threads: a pool of a fixed size, or a variable that limits a library.

    What it does: Each process and container may have only so many threads. A pool works off any number of tasks with a
    few of them. OpenBLAS, OpenMP and Polars start one for each processor of the machine, however few a container may
    use; a variable that is set before they are imported limits that.

    When it is offered: No more threads could be started, for their number or for want of memory for their stacks.

    What it costs: Fewer things run at the same time.
    """

    id, title = "limit-threads", "Start fewer threads: max_workers, OPENBLAS_NUM_THREADS"
    causes = ("thread-limit", "allocation-refused")
    unless_offered = frozenset({"wait-for-programs"})
    headline = "{title_}"
    why = "{counted}{advice}"
    snippet = "{code_}"

    FIRES = [
        Case(
            _LOOP,
            system_states=[SystemState(-1, "end", threads=58, pids_limit=60)],
            **_ALIVE,
            says=("max_workers=8", "At most 60"),
        ),
        Case(
            "import threading\nclass S:\n    def __init__(self):\n        self.end = threading.Timer(900, self.stop)\n"
            "        self.end.start()",
            "open_now = [S() for _ in range(300)]",
            system_states=_FULL,
            **_ALIVE,
            says=("self.end.cancel()", "until it is cancelled"),
        ),
        Case(
            "from concurrent.futures import ThreadPoolExecutor as Pool",
            "with Pool(32) as pool: list(pool.map(get, urls))",
            system_states=[SystemState(-1, "end", rlimits={"AS": Rlimit(1 << 30, 1 << 30)}, threads=9)],
            **_ALIVE,
            says=("stack_size(1 << 20)", "1.0 GiB"),
        ),
        Case("import numpy as np\nnp.linalg.inv(a)", **_ALIVE, says=("OPENBLAS_NUM_THREADS", "ulimit -u")),
        Case("import polars as pl\npl.read_csv(f)", **_ALIVE, says=("POLARS_MAX_THREADS",)),
        Case(
            "import os\nos.environ['POLARS_MAX_THREADS'] = '64'\nimport polars as pl",
            "pl.read_csv(f)",
            system_states=_FULL,
            **_ALIVE,
            becomes={"'64'": "'4'"},
            says=("Restart", "64"),
        ),
        Case(
            "from concurrent.futures import ThreadPoolExecutor as Pool\nWORKERS = 500",
            "with Pool(max_workers=WORKERS) as pool: list(pool.map(get, urls))",
            system_states=_FULL,
            **_ALIVE,
            becomes={"500": "8"},
        ),
        Case(
            "from concurrent.futures import ThreadPoolExecutor as Pool\ndef fetch(urls, workers=1000):\n"
            "    with Pool(max_workers=workers) as pool: return list(pool.map(get, urls))",
            "pages = fetch(urls)",
            system_states=_FULL,
            **_ALIVE,
            becomes={"1000": "8"},
            says=("max_workers=8", "asks for 1000"),
        ),
    ]
    SILENT = [Case(_LOOP, cause="fd-limit"), Case(_LOOP, cause="allocation-refused")]

    def propose(self, death: Death) -> Proposals:
        lacks_stack = death.incident is not None and death.incident.kind == "no-threads"
        if not lacks_stack and "thread-limit" not in death.likely_causes:
            return
        edits, said = _fewer(death)
        for one in super().propose(death):
            yield with_(one, edits=edits, why=f"{one.why}{said}")

    def saves(self, death: Death) -> int | None:
        """Count all that was missing: it is room for stacks, which the cell's memory does not show."""
        return death.memory.missing_bytes or 1

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the number is what counts
        """Whether no cell asks for so many any more."""
        return not _fewer(after)[0]

    def facts(self, death: Death) -> dict[str, str]:
        """Choose between a pool for threads of one's own, and the variable of a library."""
        code, known = death.code, death.environment.known
        limit = known.pids_limit or death.environment.soft_limit("NPROC")
        counted = f"At most {limit:,} threads may run here. " if limit else ""
        if (timer := next(iter(code.running.calls("threading.Timer")), None)) is not None:
            advice = "Each `Timer` is a thread from `start()` on, until its time has come or until it is cancelled."
            title, code_ = "Cancel each timer that is no longer needed: cancel()", _TIMERS.format(timer=_name(timer))
            return {"title_": title, "counted": counted, "advice": advice, "code_": code_}
        space = death.environment.soft_limit("AS") or death.environment.soft_limit("DATA")
        if not _is_full(death) and space:
            advice = "Each thread reserves room for its stack, and none is left below the limit of "
            advice += f"{size(space)} on the process's memory. A smaller stack is enough for most work."
            title = "Give threads smaller stacks, or start fewer: threading.stack_size"
            return {"title_": title, "counted": "", "advice": advice, "code_": _STACKS}
        if any(code.running.calls("threading.Thread", "_thread.start_new_thread", *_POOLS)):
            advice = (
                "A pool does the same work with a few threads, one piece after the other. Or let the limit be raised."
            )
            title = "Start fewer threads: a pool with max_workers=8"
            return {"title_": title, "counted": counted, "advice": advice, "code_": _POOL}
        names = [variable for package, variable in _VARIABLES.items() if code.imports(package)]
        names = names or ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"]
        lines = "\n".join(f"os.environ['{name}'] = '4'" for name in names)
        first = f"import os\n{lines}  # in the first cell, before anything else is imported; restart first"
        advice = "Libraries start one for each processor; set how many. Or let the limit be raised (`ulimit -u`)."
        return {"title_": self.title, "counted": counted, "advice": advice, "code_": first}


def _name(timer: Call) -> str:
    """Return what a timer is called, as the statement that makes it says."""
    match timer.statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as name]):
            return timer.scope.segment(name)
    return "timer"


def _is_full(death: Death) -> bool:
    """Whether about as many threads were there as may be."""
    known, most = death.environment.known, death.environment.soft_limit("NPROC")
    counted = ((known.pids_current, known.pids_limit), (known.threads, known.pids_limit), (known.threads, most))
    return any(n is not None and limit and n >= limit * 0.9 for n, limit in counted)


def _fewer(death: Death) -> tuple[Changes, str]:
    """Return the edits of the numbers of threads that cells ask for and that are as many as may run here."""
    code, most = death.code, death.environment.known.pids_limit or death.environment.soft_limit("NPROC") or 0
    for top in code.mentioning("environ"):
        for node in top.nodes:
            match node:
                case ast.Assign(
                    targets=[ast.Subscript(slice=ast.Constant(value=str(name)))],
                    value=ast.Constant(value=str(asked)) as given,
                ) if name.endswith("_THREADS") and asked.isdigit() and int(asked) >= most > _FEW:
                    said = f" A cell asks for {asked}. Restart the kernel first: the number is read once."
                    return replace(top, given, repr(str(_FEW))), said
    for call in code.running.calls(*_POOLS):
        workers = call.argument("max_workers", "processes", 0)
        found = Origins(code).number(workers, call.scope) if workers is not None else None
        if found is not None and found[0] >= most > _FEW_WORKERS:
            return replace(found[1].scope, found[1].node, str(_FEW_WORKERS)), f" The pool asks for {found[0]}."
    return (), ""
