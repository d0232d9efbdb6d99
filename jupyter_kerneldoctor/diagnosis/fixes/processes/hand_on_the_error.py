from typing import Any

from jupyter_kerneldoctor.recording.events import ThreadError

from ...code.calls import last_name
from ...examples.stuck import frame, own_frame
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck

_TO_A_QUEUE = (
    "def {function}({own}*given):\n    try:\n        ...\n    except Exception as error:\n"
    "        {awaited}.put(error)\n\n"
    "item = {awaited}.get()\nif isinstance(item, Exception):\n    raise item  # the thread's error, where it is seen"
)
_AS_A_RESULT = (
    "from concurrent.futures import ThreadPoolExecutor\n\npool = ThreadPoolExecutor()\n"
    "task = pool.submit({called}, ...)  # in place of Thread(target={called}).start()\n"
    "value = task.result()  # waits for the thread, and raises its error"
)
_READS = "def read():\n    q.put(float(x))\nThread(target=read).start()\nrow = q.get()"
_LOADS = "def load():\n    get()\n    done.set()\nThread(target=load).start()\ndone.wait()"

_OF_A_CLASS = (
    "from threading import Thread\nclass B:\n    def load(self):\n        get()\n        done.set()\n"
    "b = B()\nThread(target=b.load).start()\ndone.wait()"
)


def _case(source: str, failed_at: int, *inner: Any, failed: bool = True, **more: Any) -> Case:
    error = ThreadError(-40.0, "ValueError", (own_frame(source, failed_at, source.partition("def ")[2][:4]),))
    return stuck(source, inner=inner, thread_errors=[error] if failed else [], **more)


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
        _case(_OF_A_CLASS, 4, frame("threading.py", "wait"), says=("submit(b.load, ...)", "target=b.load)")),
    ]
    SILENT = [_case(_READS, 2, frame("threading.py", "wait"), frame("queue.py", "get"), failed=False)]

    def propose(self, death: Death) -> Proposals:
        failed, still = death.failed_thread, death.stuck_cell
        if failed is None or still is None:
            return
        function = failed.started_with.frame.function.rpartition(".")[2]
        is_method = any(one.owner for one in death.code.functions_named(function))
        names = {"function": function, "awaited": failed.awaited or "", "own": "self, " if is_method else ""}
        targets = [(one.argument("target", 1), one.scope) for one in death.code.calls("threading.Thread")]
        given = [scope.segment(one) for one, scope in targets if one is not None and last_name(one) == function]
        names["called"] = next(iter(given), f"self.{function}" if is_method else function)
        is_queue = any(one.short_file == "queue.py" for one in still.main.frames)
        gone = f"The thread of {failed.told(still.frames)}"
        why = f"{gone}, and whoever waits for {quote(names['awaited'])} never hears of it."
        yield Proposal((), why, snippet=(_TO_A_QUEUE if is_queue else _AS_A_RESULT).format(**names))
