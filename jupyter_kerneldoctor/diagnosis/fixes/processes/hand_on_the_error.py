from collections.abc import Iterator
from typing import Any

from jupyter_kerneldoctor.recording.events import ThreadError

from ...examples.stuck import frame, look, own_frame
from ...fix import Case, Death, Fix, Proposal
from ...units import quote

_TO_A_QUEUE = (
    "def {function}(*given):\n    try:\n        ...\n    except Exception as error:\n        {awaited}.put(error)\n\n"
    "item = {awaited}.get()\nif isinstance(item, Exception):\n    raise item  # the thread's error, where it is seen"
)
_AS_A_RESULT = (
    "from concurrent.futures import ThreadPoolExecutor\n\npool = ThreadPoolExecutor()\n"
    "task = pool.submit({function}, ...)  # in place of Thread(target={function}).start()\n"
    "value = task.result()  # waits for the thread, and raises its error"
)
_READS = "def read():\n    q.put(float(x))\nThread(target=read).start()\nrow = q.get()"
_LOADS = "def load():\n    get()\n    done.set()\nThread(target=load).start()\ndone.wait()"


def _case(source: str, failed_at: int, *inner: Any, failed: bool = True, **more: Any) -> Case:
    error = ThreadError(-40.0, "ValueError", (own_frame(source, failed_at, source[4:8]),))
    line = source.count("\n") + 1
    stuck = look(source, line, *inner, waits_in="futex_wait_queue")
    return Case(source, cause="hang", line=line, stuck=[stuck], thread_errors=[error] if failed else [], **more)


class HandOnTheError(Fix):
    """Hand the error of a thread on to whoever waits for the thread.

    What it does: An error ends a thread, and is printed somewhere; the cell that waits for what the thread was to bring
    never hears of it. The snippet puts the error into the queue, or has `result()` raise it in the cell.

    When it is offered: The cell waits for what a thread was to bring, and that thread has ended with an error.

    What it costs: Nothing. The error itself is still to be mended: it stands in the output of the cell.
    """

    id, title, causes = "hand-on-the-error", "Have the thread hand its error on to whoever waits", ("hang",)

    unless_offered = frozenset({"hold-the-lock-with"})

    FIRES = [
        _case(_READS, 2, frame("threading.py", "wait"), frame("queue.py", "get"), says=("q.put(error)", "ValueError")),
        _case(_LOADS, 2, frame("threading.py", "wait"), says=("pool.submit(load", "task.result()")),
    ]
    SILENT = [_case(_READS, 2, frame("threading.py", "wait"), frame("queue.py", "get"), failed=False)]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Show the two ways, for a queue and for all else."""
        failed, still = death.failed_thread, death.stuck_cell
        if failed is None or still is None:
            return
        names = {"function": failed.started_with.frame.function, "awaited": failed.awaited or ""}
        is_queue = any(one.short_file == "queue.py" for one in still.main.frames)
        gone = f"The thread of {failed.told(still.frames)}"
        why = f"{gone}, and whoever waits for {quote(names['awaited'])} never hears of it."
        yield Proposal((), why, snippet=(_TO_A_QUEUE if is_queue else _AS_A_RESULT).format(**names))
