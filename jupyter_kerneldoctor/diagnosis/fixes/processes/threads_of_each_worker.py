from typing import Any

from ...edits import set_argument
from ...examples.stuck import child_state, frame, look, own_frame
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_LOADERS = ("torch.utils.data.DataLoader",)
_READ = (
    "class Tiles:\n    def __init__(self): self.pool = ThreadPoolExecutor(4)\n"
    "    def __getitem__(self, i): return self.pool.submit(read, i).result()"
)
_IMPORTED = "from concurrent.futures import ThreadPoolExecutor\nfrom torch.utils.data import DataLoader"
_LOOP = "for x in DataLoader(Tiles(), num_workers=2): pass"
_WAITS = (frame("threading.py", "wait"), frame("concurrent/futures/_base.py", "result"))
_SNIPPET = (
    "import os\n\ndef threads(self):  # in place of {made} in __init__\n"
    "    if getattr(self, '_of', None) != os.getpid():  # another process: it has none of the threads\n"
    "        self._of, self._threads = os.getpid(), {made}\n"
    "    return self._threads  # self.threads().submit(...)"
)


def _stuck() -> Case:
    child = child_state(900, *_WAITS, own_frame(_READ, 3, "__getitem__"), waits_in="futex_wait_queue")
    state: dict[str, Any] = {"cause": "fork-unsafe", "line": 1}
    stuck = look(_LOOP, 1, frame("selectors.py", "select"), waits_in="do_poll", children=[child])
    return Case(
        _IMPORTED,
        _READ,
        _LOOP,
        **state,
        stuck=[stuck],
        becomes="for x in DataLoader(Tiles(), num_workers=0): pass",
        says=("os.getpid()", "ThreadPoolExecutor(4)"),
    )


class ThreadsOfEachWorker(Fix):
    """Make a pool of threads in each worker process, and not before the fork.

    What it does: A worker that was forked has a copy of the pool, and none of its threads: a task that is submitted
    there is never run. Without workers (`num_workers=0`) the loader reads in the kernel, whose pool works. Or the pool
    is made when a worker first needs it; the snippet shows how.

    When it is offered: Forked workers wait for a task of a `ThreadPoolExecutor`.

    What it costs: Without workers one item is read after the other; the pool of threads still reads its parts at once.
    """

    id, title = "threads-of-each-worker", "Make the pool of threads in each worker, not before the fork"
    causes = ("fork-unsafe", "hang")

    FIRES = [_stuck()]
    SILENT = [Case(_IMPORTED, _LOOP, line=1), Case(_IMPORTED, _READ, _LOOP, cause="oom-cgroup")]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        waiting = [one.waiting for one in still.blocked_forks] if still is not None else []
        if not any(one.waits_for_threads for one in waiting):
            return
        pool = next(death.code.calls("concurrent.futures.ThreadPoolExecutor"), None)
        loaders = [one for one in death.code.calls(*_LOADERS) if one.argument("num_workers", 5) is not None]
        if pool is None or any(getattr(one.argument("num_workers", 5), "value", None) == 0 for one in loaders):
            return
        edits = set_argument(loaders[0], "num_workers", "0", 5) if len(loaders) == 1 else ()
        why = f"{quote(pool.text)} starts threads, and a forked worker has none of them: what it submits is never run."
        title = "Load in the kernel (num_workers=0), or make the pool of threads in each worker"
        yield Proposal(edits, why, title=title if edits else None, snippet=_SNIPPET.format(made=pool.text))
