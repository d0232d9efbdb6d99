import re

from ...analysis.last_look import written
from ...analysis.stuck_cell import StuckCell
from ...examples.stuck import frame
from ...fix import Death, Fix, Proposal, Proposals, quote, stuck
from ...frameworks.queue_readers import goes_on_after_an_error

_AWAITED = re.compile(r"await\s+([\w.]+)\.join\(\)")
_JOINED = re.compile(r"(?<![\w.])([\w.]+)\.join\(")
_FAILED = re.compile(r"^(\w{1,60}(?:Error|Exception): .{0,100})$", re.MULTILINE)
_JOINS = frozenset({("queue.py", "join"), ("multiprocessing/queues.py", "join")})
_SNIPPET = (
    "item = {0}.get()\ntry:\n    ...\nexcept Exception:\n    traceback.print_exc()\nfinally:\n    {1}.task_done()"
)
_WORK = "def work():\n    while True:\n        n = q.get()\n        "
_IN_JOIN = frame("queue.py", "join")


class TaskDoneForEachItem(Fix):
    """Say of each item that it is done, also after an error.

    What it does: `join()` of a queue waits until `task_done()` was called as often as `put()`. A reader that ends with
    an error, or leaves it out, never says so. The edit goes on after an error, shows it, and calls `task_done()` in
    `finally`.

    When it is offered: The kernel waits in `join()` of a queue, and nobody is left to work on its items.

    What it costs: Nothing. Items that failed are missing in the result, as they were before; their errors are shown.
    """

    id, title, causes = "task-done-for-each-item", "Call task_done() for each item, also after an error", ("hang",)

    FIRES = [
        stuck(
            f"import traceback\n{_WORK}done.append(f(n))\n        q.task_done()",
            "q.join()",
            inner=[_IN_JOIN],
            becomes={
                1: f"import traceback\n{_WORK}try:\n            done.append(f(n))\n        except Exception:\n"
                "            traceback.print_exc()  # and on to the next item\n        finally:\n"
                "            q.task_done()"
            },
            says=("`q.join()`",),
        ),
        stuck(
            f"import traceback\n{_WORK}print(f(n))",
            "q.join()",
            inner=[_IN_JOIN],
            becomes={
                1: f"import traceback\n{_WORK}try:\n            print(f(n))\n        except Exception:\n"
                "            traceback.print_exc()  # and on to the next item\n        finally:\n"
                "            q.task_done()"
            },
        ),
        stuck("q = asyncio.Queue()", "await q.join()", waits_in=None, says=("await q.get()",)),
    ]
    SILENT = [
        stuck("q.join()", inner=[frame("threading.py", "join")], waits_in=None),
        stuck("q = queue.Queue()", "q.join()", waits_in=None),
        stuck("q.get()", inner=[frame("queue.py", "get")], waits_in=None),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        joined = None if still is None else _joined(still)
        if still is None or joined is None:
            return
        failed = _FAILED.findall(written(still.recording))
        why = f"`{joined}.join()` waits until `task_done()` was called as often as `put()`, also for items that failed."
        why += f" A thread or task ended with {quote(failed[-1])}." if failed else ""
        is_async = _AWAITED.search(_texts(still)) is not None
        owner = joined.rpartition(".")[2]
        snippet = _SNIPPET.format(f"await {owner}" if is_async else owner, owner)
        yield Proposal(goes_on_after_an_error(death.code, owner), why, snippet=snippet)

    def is_cured(self, before: Death, after: Death) -> bool:
        """Whether there is nothing more to edit."""
        return not any(one.edits for one in self.propose(after)) and before.cell is not None


def _joined(still: StuckCell) -> str | None:
    """Return the queue whose `join()` the cell waits in, as the code names it."""
    if any((one.short_file, one.function) in _JOINS for one in still.main.frames):
        found = _JOINED.search(still.main.code)
    else:
        cell = still.recording.running_cell
        texts = _texts(still)
        sources = (cell.source if cell is not None else "", texts) if "asyncio.Queue(" in texts else ()
        found = next(filter(None, map(_AWAITED.search, sources)), None)
    return None if found is None else found[1]


def _texts(still: StuckCell) -> str:
    return "\n".join(cell.source for cell in still.recording.cells)
