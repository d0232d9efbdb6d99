"""The fix `runaway-recursion`."""

import ast
from collections.abc import Iterator

from ..case import Case
from ..code.scopes import Scope
from ..death import Death
from ..family import Family
from ..fix import Fix, Proposal
from ..units import quote

_DECIDES = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.While, ast.For, ast.Try, ast.comprehension, ast.Raise)
_RAISED = "import sys\nsys.setrecursionlimit(10**9)\n"


class RunawayRecursion(Fix):
    """Give the recursion an end.

    What it does
    ------------
    A function that calls itself in every case never returns. Python stops it after 1000 calls with a `RecursionError`;
    where that limit was raised, it goes on until the stack or the memory is used up. The snippet begins the function
    with the case that ends it.

    When it is offered
    ------------------
    The stack overflowed, or memory ran out little by little, and a function that was running calls itself without any
    condition.

    What it costs
    -------------
    Nothing: such a function can give no result.
    """

    id, title = "runaway-recursion", "Give the recursion an end: a case that returns"
    causes = ("stack-overflow", Family.MEMORY)

    FIRES = [
        Case(
            _RAISED + "def f(n): return f(n + 1) + 1",
            "f(0)",
            says=("`f` calls itself in every case", "def f(n):\n    if …"),
        ),
        Case(
            _RAISED + "class Node:\n    def __bool__(self): return bool(self.next)\n    def depth(self):\n"
            "        return 1 + self.parent.depth()",
            "Node().depth()",
            says=("`Node.depth`",),
            cause="stack-overflow",
        ),
    ]
    SILENT = [
        Case(_RAISED + "def f(n):\n    if n: return f(n - 1)", "f(10**8)"),
        Case(_RAISED + "def f(n): return n and f(n - 1)", "f(10**8)"),
        Case("import sys\ndef f(n): return f(n + 1)", "x = [0] * 10**10"),
        Case("import sys\ndef f(n): return f(n + 1)", "f(0)", cause="segfault"),
        Case("def f(n): return g(f, n)", "f(1)", cause="stack-overflow"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Show where the end belongs."""
        if death.is_about_memory and not death.memory.grew_here:
            return
        for scope in death.code.running.functions:
            if scope.function and _always_calls_itself(scope) and death.was_running(scope.calls[0], scope):
                head = f"def {scope.function}({ast.unparse(scope.arguments)}):"
                yield Proposal(
                    (),
                    f"{quote(scope.name)} calls itself in every case, so that it never returns. A higher recursion "
                    "limit only makes it die later.",
                    death.memory.ramp_bytes if death.is_about_memory else None,
                    snippet=f"{head}\n    if …:  # the case that needs no further call\n        return …",
                )


def _always_calls_itself(scope: Scope) -> bool:
    """Whether a function calls itself and decides nothing."""
    if any(isinstance(node, _DECIDES) for node in scope.nodes):
        return False
    called = [getattr(call.func, "attr" if scope.owner else "id", None) for call in scope.calls]
    return scope.function in called
