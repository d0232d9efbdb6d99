import ast
from collections.abc import Iterator

from ...calls import makers
from ...code.origins import Origins
from ...edits import replace, set_argument
from ...examples import MIB, Group
from ...examples.stuck import IN_MAP, child
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size, stuck
from ...workers import killed_workers, workers_bytes, workers_that_fit

_MAKERS = {
    "joblib.Parallel": ("n_jobs", 0),
    "multiprocessing.Pool": ("processes", 0),
    "torch.multiprocessing.Pool": ("processes", 0),
    "concurrent.futures.ProcessPoolExecutor": ("max_workers", 0),
    "concurrent.futures.process.ProcessPoolExecutor": ("max_workers", 0),
}
"""What starts processes, and how it is told how many."""
_COUNTS = (".cpu_count", ".process_cpu_count")
_USUAL = 2
_COPIES = 3  # in each process: the rows of a fold, what the steps before make of them, and what the model does


_KILLED = [child(pid, signal="SIGKILL", peak_bytes=200 * MIB, oom_kills=1) for pid in (901, 902, 903)]
_FAILED = [child(901, exit_code=1)]
_FULL = [Group(500 * MIB, oom_kills=(0, 3), usage_bytes=100 * MIB)]


class LimitParallelJobs(Fix):
    """Let fewer processes work at a time.

    What it does: Each process of joblib or of a pool has its own interpreter and imports, and its own copy of what it
    is given. NumPy arrays are shared by joblib; lists, dicts and data frames are copied into each.

    When it is offered: Memory ran out while the kernel's child processes held a good part of it, and the cell starts
    more than one; or the kernel waits for workers that Linux killed for memory.

    What it costs: Time, if the processor has nothing else to do.
    """

    id, title, causes = "limit-parallel-jobs", "Let fewer processes work at a time", (Family.MEMORY, "hang")
    edits_cure = True  # a smaller number is still a number

    FIRES = [
        Case(
            "from joblib import Parallel, delayed",
            "r = Parallel(n_jobs=8)(delayed(f)(x) for x in xs)",
            children_mib=1500,
            becomes="r = Parallel(n_jobs=2)(delayed(f)(x) for x in xs)",
        ),
        Case(
            "from joblib import Parallel, delayed\nJOBS = -1\ndef run(xs):\n"
            "    return Parallel(JOBS)(delayed(f)(x) for x in xs)",
            "run(xs)",
            children_mib=1500,
            becomes={"JOBS = -1": "JOBS = 2"},
        ),
        Case(
            "import multiprocessing as mp",
            "with mp.Pool() as pool: pool.map(f, xs)",
            children_mib=1500,
            becomes="with mp.Pool(processes=2) as pool: pool.map(f, xs)",
        ),
        Case(
            "import os\nfrom concurrent.futures import ProcessPoolExecutor",
            "with ProcessPoolExecutor(max_workers=os.cpu_count()) as ex: r = list(ex.map(f, xs))",
            children_mib=1500,
            becomes={"os.cpu_count()": "2"},
        ),
        Case(
            "from sklearn.model_selection import GridSearchCV\ngrid = GridSearchCV(model, p, n_jobs=-1)",
            "grid.fit(X, y)",
            children_mib=1500,
            becomes={"n_jobs=-1": "n_jobs=2"},
        ),
        stuck(
            "from multiprocessing import Pool",
            "with Pool(4) as pool:\n    r = pool.map(f, xs)",
            cause="hang",
            inner=IN_MAP,
            children=_KILLED,
            groups=_FULL,
            memory=(60 * MIB,) * 3,
            says=("Linux killed 3 workers for memory", "200 MiB"),
            becomes={"Pool(4)": "Pool(1)"},
        ),
    ]
    SILENT = [
        stuck("from multiprocessing import Pool", "Pool(4).map(f, xs)", cause="hang", inner=IN_MAP, children=_FAILED),
        Case("from joblib import Parallel", "Parallel(n_jobs=8)(tasks)"),
        Case("from joblib import Parallel", "Parallel(n_jobs=1)(tasks)", children_mib=1500),
        Case("from joblib import Parallel", "Parallel(n_jobs=8, prefer='threads')(tasks)", children_mib=1500),
    ]

    def propose(self, death: Death) -> Proposals:
        held, origins = workers_bytes(death), Origins(death.code)
        for call, word, position in _starting(death) if held else ():
            given = call.argument(word) if position is None else call.argument(word, position)
            found = None if given is None else origins.number(given, call.scope)
            counts = isinstance(given, ast.Call) and (death.code.qualified(given.func, call.scope) or "").endswith(
                _COUNTS
            )
            started = -1 if found is None else found[0]
            if started in (0, 1) or (given is not None and found is None and not counts):
                continue
            killed = killed_workers(death)
            fit = _USUAL if started < 0 and not killed else workers_that_fit(death, max(started, _USUAL + 1))
            if fit is None:
                continue
            fewer = max(1, min(_USUAL, fit, _with_data(death, call)))
            edits = set_argument(call, word, str(fewer), position) if found is None else ()
            edits += () if found is None else replace(found[1].scope, found[1].node, str(fewer))
            many = f"{started} processes" if started > 0 else "a process for each processor"
            why = (
                f"{quote(call.text)} starts {many}. The kernel's child processes held {size(held or 0)} at the end. "
                "joblib shares NumPy arrays; of lists, dicts and data frames each process gets a copy."
            )
            if killed:
                why = (
                    f"{quote(call.text)} starts {many}, and Linux killed {len(killed)} workers for "
                    f"memory: one held {size(max(one.peak_bytes or 0 for one in killed))}, and may have needed more. "
                    "`multiprocessing.Pool` does not say so and waits for ever; `ProcessPoolExecutor` raises an error."
                )
            yield Proposal(edits, why, held, f"{self.title}: {fewer}")
            return


def _with_data(death: Death, call: Call) -> int:
    """Return how many processes fit that work on the rows they are given, of scikit-learn; many, if that is unknown."""
    for _, used in makers(death, call.name):
        data = used.argument("X", 0)
        value = None if data is None else death.values.of(data, used.scope)
        if value is not None and value.bytes and death.safe_headroom_bytes:
            return death.safe_headroom_bytes // (_COPIES * value.bytes)
    return _USUAL


def _starting(death: Death) -> Iterator[tuple[Call, str, int | None]]:
    """Yield the calls that start processes, with the argument that says how many: estimators may stand in any cell."""
    for call in death.code.running.calls(*_MAKERS):
        lasts = not call.name.startswith("joblib.")  # a pool is at work in later lines
        if (lasts or death.code.is_at_line(call.node, call.scope)) and call.argument("prefer", "require") is None:
            yield call, *_MAKERS[call.name]
    for call in death.code.calls("sklearn.*"):
        if call.argument("n_jobs") is not None:
            yield call, "n_jobs", None
