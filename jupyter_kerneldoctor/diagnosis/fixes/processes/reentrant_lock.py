import ast
import re
from collections.abc import Iterator

from ...code.trees import unparse
from ...edits import import_as, replace
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck

_TAKEN = re.compile(r"\bwith\s+([\w.]+)\s*[:,]|(?<![\w.])([\w.]+)\.acquire\(")
_LOCKED = "import threading\nlock = threading.Lock()\n"
_PAIR = "import threading\nlock, rows = threading.Lock(), {}"
_TWICE = "with lock:\n    with lock: pass"


def _hangs(*cells: str, becomes: str = "") -> Case:
    return stuck(*cells, becomes={1: becomes} if becomes else {})


class ReentrantLock(Fix):
    """Let the thread that holds a lock take it again.

    What it does: A `Lock` can be taken once, also by the thread that holds it: a method that holds it and calls another
    that takes it waits for itself. An `RLock` lets its owner in again, and is free when it was released as often as it
    was taken.

    When it is offered: The kernel waits for a `threading.Lock` that the same thread has taken in a function that is
    still running.

    What it costs: Some nanoseconds for each time it is taken. Another thread can no longer release it.
    """

    id, title, causes = "reentrant-lock", "Let its owner take the lock again: RLock", ("hang",)
    unless_offered = frozenset({"take-the-lock-once"})

    FIRES = [
        _hangs(_LOCKED, _TWICE, becomes=_LOCKED.replace("Lock()", "RLock()")),
        _hangs(
            "from threading import Lock\nlock = Lock()",
            _TWICE,
            becomes="from threading import RLock\nfrom threading import Lock\nlock = RLock()",
        ),
        _hangs(_PAIR, _TWICE, becomes=_PAIR.replace("Lock()", "RLock()")),
    ]
    SILENT = [
        _hangs(_LOCKED, "with lock: pass"),
        _hangs(_LOCKED + "lock.acquire()", "with lock: pass"),  # it was never released
        _hangs(_LOCKED.replace("Lock", "RLock"), _TWICE),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or still.holder is None or "already holds" not in still.holder:
            return
        names = {one for found in _TAKEN.findall(still.main.code) for one in found if one}
        for call in death.code.calls("threading.Lock"):
            if all(unparse(target) not in names for target, made in _assigned(call.statement) if made is call.node):
                continue
            function = call.node.func
            if isinstance(function, ast.Attribute):
                edits = replace(call.scope, function, f"{call.scope.segment(function.value)}.RLock")
            else:
                name, edits = import_as(call.scope, death.code, "threading.RLock", "RLock")
                edits += replace(call.scope, function, name)
            holds = still.holder[0].upper() + still.holder[1:]
            yield Proposal(edits, f"{holds}, and {quote(still.main.code.strip())} waits for it.")
            return


def _assigned(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield each name or attribute that a statement assigns to, with what it is given."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            yield from zip(targets, values, strict=False)
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            yield target, statement.value
