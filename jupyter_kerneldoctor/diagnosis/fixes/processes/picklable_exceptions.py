import ast
from dataclasses import replace
from typing import Any

from ...code.lossy_exceptions import lossy_exception
from ...edits import indent_unit, insert_before
from ...examples.stuck import IN_MAP, frame, look, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_LOOPS = tuple(
    thread(frame("multiprocessing/pool.py", name), waits_in="futex_wait_queue", main=False)
    for name in ("_handle_workers", "_handle_tasks")
)
_MAPS = "pool.map(f, x)"
_STUCK = look(_MAPS, 1, *IN_MAP, waits_in="futex_wait_queue")
_LOST: dict[str, Any] = {"cause": "hang", "line": 1, "stuck": [replace(_STUCK, threads=(*_STUCK.threads, *_LOOPS))]}
_OWN = "class Bad(Exception):\n    def __init__(self, row, why):\n        super().__init__(f'{row}: {why}')"
_WHY = (
    "The pool makes the error of a worker anew from what `super().__init__` was given. {name} takes more than that, so "
    "its thread fails, and the result never comes."
)
_SNIPPET = (
    "class BadRow(Exception):\n    def __init__(self, row, reason):\n        super().__init__(row, reason)\n"
    "        self.row, self.reason = row, reason\n\n"
    "import pickle\npickle.loads(pickle.dumps(BadRow(1, 'empty')))  # tries whether it comes back"
)


class PicklableExceptions(Fix):
    """Hand all arguments of an exception to `super().__init__`, so that it comes back from a worker.

    What it does: An exception is pickled as its class and the arguments that `Exception.__init__` was given. Where its
    own `__init__` needs others, it cannot be made again in the kernel; the thread that takes the results of a
    `multiprocessing.Pool` ends with that error, and the pool never answers. The edit tells pickle what to call it with.

    When it is offered: The kernel waits for a pool whose thread for the results has ended.

    What it costs: Nothing. The worker's error is raised in the kernel then, as it should be.
    """

    id, title, causes = "picklable-exceptions", "Let the exception come back from its worker: __reduce__", ("hang",)

    FIRES = [
        Case(
            _OWN,
            _MAPS,
            **_LOST,
            becomes={
                "    def ": "    def __reduce__(self):\n        return type(self), self._given\n    \n    def ",
                "super": "self._given = (row, why,)\n        super",
            },
        ),
        Case("def f(n): raise lib.Bad(n, 2)", _MAPS, **_LOST, says=("pickle.loads",)),
    ]
    SILENT = [Case(_OWN, "f(x)", line=1), Case(_OWN, _MAPS, line=1, stuck=[_STUCK])]

    def propose(self, death: Death) -> Proposals:
        still, busy = death.stuck_cell, death.busy_cell
        is_lost = still is not None and still.lost_its_results
        if not is_lost and (busy is None or busy.waits_for_idle_workers_s is None):
            return
        if (found := lossy_exception(death.code)) is not None:
            (node, init, module), has_text = found, ast.get_docstring(found.init) is not None
            given = "".join(f"{one.arg}, " for one in init.args.args[1:])
            first = init.body[int(has_text and len(init.body) > 1)]
            edits = insert_before(module, first, f"self._given = ({given.strip()})")
            kept = f"{indent_unit(module, init)}return type(self), self._given"
            edits += insert_before(module, init, "def __reduce__(self):", kept, "")
            yield Proposal(edits, _WHY.format(name=quote(node.name)), snippet=_SNIPPET)
            return
        why = _WHY.format(name="The `__init__` of one of them")
        yield Proposal((), why, title="Let exceptions and results of workers be pickled", snippet=_SNIPPET)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the pool is as it was recorded
        """Whether no exception is left that loses its arguments."""
        return all(one.edits == () for one in self.propose(after))
