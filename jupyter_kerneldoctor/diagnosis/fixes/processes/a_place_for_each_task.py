from typing import Any

from jupyter_kerneldoctor.recording.events import Frame

from ...code.literals import number
from ...edits import replace
from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck
from ...frameworks.pool_places import FullPool, full_pool

_TASKS = "def read(q):\n    x = q.get()\ndef fill(q):\n    for x in xs: q.put(x)\n"
_POOL = "with ThreadPoolExecutor(max_workers=3) as pool:\n"
_READS = f"{_POOL}    jobs = [pool.submit(read, q) for _ in range(3)]\n"
_RUN = f"{_READS}    pool.submit(fill, q)"
_GET = frame("queue.py", "get")
_INNER = "def part(x): return x\ndef whole(x):\n    return pool.submit(part, x).result()\npool = ThreadPoolExecutor(2)"
_RESULT = frame("concurrent/futures/_base.py", "result")


def _full(
    tasks: str, *cells: str, at: Frame = _GET, line: int = 2, many: int = 3, name: str = "read", **more: Any
) -> Case:
    waits = thread(at, own_frame(tasks, line, name), waits_in="futex_wait_queue", main=False)
    return stuck(tasks, *cells, inner=[frame("threading.py", "join")], threads=[waits] * many, **more)


class APlaceForEachTask(Fix):
    """Give a pool a place for the task that the others wait for.

    What it does: A pool runs as many tasks at a time as it has workers; what is submitted after them waits until one of
    them ends. Where these wait for the very task that found no place, none of them ever does. The edit gives the pool
    one worker more. To submit that task first does the same, and so does a thread of its own.

    When it is offered: The kernel is stuck, as many threads as the pool has workers wait in its tasks, and another task
    was submitted after them, or by them.

    What it costs: One thread more.
    """

    id, title, causes = (
        "a-place-for-each-task",
        "Give the pool one more worker: its tasks wait for one that has none",
        ("hang",),
    )

    FIRES = [
        _full(
            _TASKS,
            _RUN,
            becomes=_RUN.replace("=3", "=4"),
            says=("`fill`", "All 3 workers", "pool.submit(fill, q)  # before `read`", "fill, args=(q,))"),
        ),
        _full(_TASKS, "n = 3", _RUN.replace("=3", "=n"), becomes=_RUN.replace("=3", "=n + 1")),
        _full(
            _TASKS.replace("q.get()", "ready.wait()"),
            "pool = ThreadPoolExecutor(3)",
            "for _ in range(3): pool.submit(read, 1)\ndone = pool.submit(fill, 1)\ndone.result()",
            at=frame("threading.py", "wait"),
            becomes={2: "pool = ThreadPoolExecutor(4)"},
        ),
        _full(  # several come after them
            _TASKS,
            f"{_READS}    for x in xs: pool.submit(fill, x)",
            says=("before `read`",),
        ),
        _full(
            _TASKS,
            f"{_POOL}    for q in qs: pool.submit(read, q)\n    pool.submit(fill, q)",
            says=("Submit fill first",),
        ),
        _full(
            _INNER,
            "list(pool.map(whole, xs))",
            at=_RESULT,
            line=3,
            many=2,
            name="whole",
            says=("`whole`", "inner = ThreadPoolExecutor(2)", "inner.submit(part, x)"),
        ),
        _full(
            _INNER.replace("pool.submit(part, x)", "loop.run_in_executor(pool, part, x)"),
            "list(pool.map(whole, xs))",
            at=_RESULT,
            line=3,
            many=2,
            name="whole",
            says=("loop.run_in_executor(inner, part, x)",),
        ),
    ]
    SILENT = [
        _full(_TASKS, _RUN, many=2),  # one of them has ended, and made room
        _full(_TASKS, f"{_POOL}    pool.submit(fill, q)\n    for _ in range(3): pool.submit(read, q)"),
        _full(_TASKS, _READS),
        _full(_TASKS, "ts = [Thread(target=read, args=(q,)) for _ in range(3)]\nfor t in ts: t.start()\nt.join()"),
        _full(_TASKS, _RUN.replace("max_workers=3", "")),
        _full(_TASKS, f"{_READS}    with ThreadPoolExecutor(1) as other: other.submit(fill, q)"),
        stuck(_TASKS, _RUN),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        full = None if still is None else full_pool(still, death.code, death.values)
        if full is not None:
            yield _nested(full) if full.is_nested else _more(full)


def _more(full: FullPool) -> Proposal:
    later, scope = full.later, full.later.made_in
    names = " and ".join(map(quote, full.waiting))
    wait = f"All {full.many} workers of the pool wait" if full.many > 1 else "The only worker of the pool waits"
    why = (
        f"{wait} in {names}, as at {quote(full.line)}. "
        f"{quote(later.function)} was submitted after them, and does not begin before one of them ends."
    )
    call, given = later.scope.segment(later.call), [later.scope.segment(one) for one in later.given]
    arguments = f", args=({', '.join(given)}{',' * (len(given) == 1)})" if given else ""
    thread = f"threading.Thread(target={later.scope.segment(later.target)}{arguments}).start()"
    snippet = f"{call}  # before {names}: then it has a worker\n\nimport threading\n{thread}  # or in its own thread"
    if not full.has_one_too_few:
        title = f"Submit {later.function} first, or run it in a thread of its own"
        return Proposal((), why, title=title, snippet=snippet)
    written = number(full.places)
    more = f"{scope.operand(full.places)} + 1" if written is None else str(written + 1)
    return Proposal(replace(scope, full.places, more), why, snippet=snippet)


def _nested(full: FullPool) -> Proposal:
    later = full.later
    task, inner = quote(full.waiting[0]), later.scope.segment(later.call)
    made = later.made_in.segment(later.made)
    why = (
        f"{task} has all {full.many} workers of the pool, and waits at {quote(full.line)} for {quote(later.function)}, "
        "which it has submitted to the same pool: no worker is left for that."
    )
    inner = inner.replace(later.scope.segment(later.pool), "inner", 1)
    snippet = f"inner = {made}  # a second pool, only for {quote(later.function)}\n{inner}"
    return Proposal((), why, title="Let no task wait for a task of the same pool: a second pool", snippet=snippet)
