import ast
import re
from functools import partial

from ...code.taken_locks import taken_and_given_back
from ...code.trees import unparse, walk
from ...edits import Changes, indent, remove, replace
from ...fix import Death, Fix, Proposal, Proposals, Scope, quote, stuck

_TAKES = re.compile(r"^(?:([\w.]+)\.acquire\(\)$|with ([\w.]+)(?=:))")
_PAY = (
    "class Account:\n    def pay(self, n):\n        self.lock.acquire()\n        if n > self.rest:\n"
    "            raise ValueError(n)\n        self.rest -= n\n        self.lock.release()"
)
_case = partial(stuck, line=3)


class HoldTheLockWith(Fix):
    """Hold the lock in a with block, which gives it back whatever happens.

    What it does: Between `acquire()` and `release()` an error or a `return` leaves the lock taken, and whoever asks for
    it next waits for ever. The edit puts what is between them into a `with` block.

    When it is offered: The kernel, or a thread that it waits for, waits in `acquire()` of a lock, and a function of a
    cell takes and gives back a lock of that name, with statements in between that may be left early.

    What it costs: Nothing.
    """

    id, title, causes = "hold-the-lock-with", "Give the lock back whatever happens: with", ("hang",)

    FIRES = [
        _case(
            _PAY,
            becomes="class Account:\n    def pay(self, n):\n        with self.lock:\n            if n > self.rest:\n"
            "                raise ValueError(n)\n            self.rest -= n\n",
            says=("`self.lock.acquire()`",),
        ),
    ]
    SILENT = [
        _case("with lock:\n    x = 1\nwith lock: pass"),
        _case("lock = threading.Lock()\nlock.acquire()\nlock.acquire()"),
        _case("lock.acquire()\nf(x)\nwith lock: pass\nlock.release()"),  # the block would wait for itself
        _case("lock.acquire()\nf(x)\nlock.acquire()\ng()\nlock.release()"),
        _case("lock.acquire()\nif bad:\n    lock.release()\n    stop()\nf(x)\nlock.release()\nlock.acquire()", line=7),
        _case("class A:\n    def f(self):\n        self.lock.acquire()\n        self.lock.release()"),
        _case(_PAY.replace("self.lock.acquire()", "q.get()")),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        waits = () if still is None else (one for one in (still.main, *still.others) if one.kind == "lock")
        found = next((found for one in waits if (found := _TAKES.match(one.code.strip()))), None)
        if found is None:
            return
        name = (found[1] or found[2]).rpartition(".")[2]
        for scope in death.code.scopes_mentioning("acquire"):
            for taken, between, given in taken_and_given_back(scope, name):
                lock = unparse(taken).removesuffix(".acquire()")
                if any(_takes_again(one, lock) for one in between):
                    continue
                why = (
                    f"{quote(found[0])} waits for a lock that nobody gives back. An error or a `return` between "
                    "`acquire()` and `release()` keeps it taken."
                )
                yield Proposal(_held(scope, lock, taken, between, given), why)


def _takes_again(statement: ast.stmt, lock: str) -> bool:
    """Whether a statement takes the lock that is held around it."""
    for node in walk(statement):
        taken = [one.context_expr for one in node.items] if isinstance(node, ast.With) else []
        if isinstance(node, ast.Attribute) and node.attr == "acquire":
            taken.append(node.value)
        if any(unparse(one) == lock for one in taken):
            return True
    return False


def _held(scope: Scope, lock: str, taken: ast.stmt, between: list[ast.stmt], given: ast.stmt) -> Changes:
    return replace(scope, taken, f"with {lock}:") + indent(scope, between) + remove(scope, given)
