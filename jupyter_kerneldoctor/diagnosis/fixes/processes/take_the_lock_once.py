import ast
from collections.abc import Sequence
from typing import Any

from jupyter_kerneldoctor.recording.events import Frame

from ...code.trees import unparse
from ...edits import remove
from ...examples.stuck import own_frame
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote, stuck

_ADD = "def add(x):\n    lock.acquire()\n    xs.add(x)\n    lock.acquire()\n    print(xs)\n    lock.release()\nadd(1)"


def _hangs(*cells: str, line: int, inner: Sequence[Frame] = (), **becomes: Any) -> Case:
    return stuck("import threading\nlock = threading.Lock()", *cells, line=line, inner=inner, **becomes)


class TakeTheLockOnce(Fix):
    """Take the lock once.

    What it does: A `Lock` that is taken is waited for by everybody, also by the function that has it. The edit leaves
    out the second `acquire()`.

    When it is offered: The kernel waits in `acquire()` of a lock that the same function took before, and the function
    gives it back one time less than it takes it.

    What it costs: Nothing.
    """

    id, title, causes = "take-the-lock-once", "Take the lock once: leave out the second acquire()", ("hang",)

    FIRES = [
        _hangs(
            _ADD,
            line=7,
            inner=[own_frame(_ADD, 4, "add")],
            becomes={2: _ADD.replace("(x)\n    lock.acquire()\n", "(x)\n")},
        ),
        _hangs("lock.acquire()\nx = 1\nlock.acquire()", line=3, becomes={2: "lock.acquire()\nx = 1\n"}),
    ]
    SILENT = [
        _hangs("lock.acquire()\nx = 1\nlock.release()\nlock.acquire()", line=4),
        _hangs("lock.acquire()\nlock.acquire()\nlock.release()\nlock.release()", line=2),
        _hangs("with lock: pass\nlock.acquire()", line=2),
        _hangs("lock.acquire()\nif x:\n    lock.acquire()", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or "already holds" not in (still.holder or ""):
            return
        for scope in death.code.running:
            for node in scope.nodes:
                if isinstance(node, ast.Expr) and death.code.is_at_line(node.value, scope) and _is_second(node, scope):
                    lock = unparse(node).removesuffix(".acquire()")
                    why = f"{quote(unparse(node))} waits for {quote(lock)}, and has it: {still.holder}."
                    yield Proposal(remove(scope, node), why)
                    return


def _is_second(waits: ast.Expr, scope: Scope) -> bool:
    """Whether a statement takes a lock again in the block in which it was taken, and it is given back once less."""
    text = unparse(waits)
    if not text.endswith(".acquire()"):
        return False
    own = [one for one in scope.nodes if isinstance(one, ast.Expr)]
    takes = [one for one in own if unparse(one) == text]
    gives = [one for one in own if unparse(one) == text.replace(".acquire()", ".release()")]
    earlier = [one for one in takes if one.lineno < waits.lineno and scope.tree.outer[one] is scope.tree.outer[waits]]
    between = any(earlier[-1].lineno < one.lineno < waits.lineno for one in gives) if earlier else True
    return not between and len(gives) < len(takes)
