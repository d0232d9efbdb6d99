"""The fix `limit-threads`."""

from typing import Any

from jupyter_kerneldoctor.recording.events import SystemState

from ..case import Case
from ..death import Death
from ..fix import Advice

_LOOP = "import threading\nfor u in urls: threading.Thread(target=get, args=(u,)).start()"
_POOL = (
    "from concurrent.futures import ThreadPoolExecutor\n\n"
    "with ThreadPoolExecutor(max_workers=8) as pool:  # 8 threads take all of the work, one piece after the other\n"
    "    results = list(pool.map(work, items))"
)
_VARIABLES = {"polars": "POLARS_MAX_THREADS", "numba": "NUMBA_NUM_THREADS", "torch": "OMP_NUM_THREADS"}
_ALIVE: dict[str, Any] = {"cause": "thread-limit", "alive": True, "end": "not-seen"}


class LimitThreads(Advice):
    """Start fewer threads: a pool of a fixed size, or a variable that limits a library.

    What it does
    ------------
    Each process and container may have only so many threads. A pool works off any number of tasks with a few of them.
    OpenBLAS, OpenMP and Polars start one for each processor of the machine, however few a container may use; a variable
    that is set before they are imported limits that.

    When it is offered
    ------------------
    No more threads could be started.

    What it costs
    -------------
    Fewer things run at the same time.
    """

    id, title, causes = "limit-threads", "Start fewer threads: max_workers, OPENBLAS_NUM_THREADS", ("thread-limit",)
    why = "No more threads could be started {where}{counted}. {advice}"
    snippet = "{code_}"

    FIRES = [
        Case(
            _LOOP,
            system_states=[SystemState(-1, "end", threads=58, pids_limit=60)],
            **_ALIVE,
            says=("max_workers=8", "at most 60"),
        ),
        Case("import numpy as np\nnp.linalg.inv(a)", **_ALIVE, says=("OPENBLAS_NUM_THREADS", "ulimit -u")),
        Case("import polars as pl\npl.read_csv(f)", **_ALIVE, says=("POLARS_MAX_THREADS",)),
    ]
    SILENT = [Case(_LOOP, cause="fd-limit")]

    def facts(self, death: Death) -> dict[str, str]:
        """Choose between a pool for threads of one's own, and the variable of a library."""
        code, known = death.code, death.environment.known
        limit = known.pids_limit or death.environment.soft_limit("NPROC")
        counted = f": at most {limit:,} may run here" if limit else ""
        if any(True for _ in code.running.calls("threading.Thread", "_thread.start_new_thread")):
            advice = "A pool does the same work with a few threads, and waits for them. Or let the limit be raised."
            return {"counted": counted, "advice": advice, "code_": _POOL}
        names = [variable for package, variable in _VARIABLES.items() if code.imports(package)]
        names = names or ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"]
        lines = "\n".join(f"os.environ['{name}'] = '4'" for name in names)
        first = f"import os\n{lines}  # in the first cell, before anything else is imported; restart first"
        advice = "Libraries start one for each processor; set how many. Or let the limit be raised (`ulimit -u`)."
        return {"counted": counted, "advice": advice, "code_": first}
