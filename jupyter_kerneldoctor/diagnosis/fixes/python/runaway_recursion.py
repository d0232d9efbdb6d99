from ...code.recursion import always_calls_itself, named_functions
from ...code.trees import unparse
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote

_RAISED = "import sys\nsys.setrecursionlimit(10**9)\n"


class RunawayRecursion(Fix):
    """Give the recursion an end.

    What it does: A function that calls itself in every case never returns. Python stops it after 1000 calls with a
    `RecursionError`; where that limit was raised, it goes on until the stack or the memory is used up. The snippet
    begins the function with the case that ends it.

    When it is offered: The stack overflowed, or memory ran out little by little or the cell does not end after the
    limit was raised, and a function that was running calls itself without any condition.

    What it costs: Nothing: such a function can give no result.
    """

    id, title = "runaway-recursion", "Give the recursion an end: a case that returns"
    causes = ("stack-overflow", "hang", "no-death", Family.MEMORY)

    FIRES = [
        Case(
            _RAISED + "def f(n): return f(n + 1) + 1",
            "f(0)",
            says=("`f` calls itself in every case", "def f(n):\n    if …"),
            cause="oom-cgroup",
        ),
        Case(
            _RAISED + "class Node:\n    def __bool__(self): return bool(self.next)\n    def depth(self):\n"
            "        return 1 + self.parent.depth()",
            "Node().depth()",
            says=("`Node.depth`",),
        ),
        Case(
            _RAISED + "f = lambda x: f(grown(x))",
            "f([0.0])",
            says=("`f` calls itself in every case", "def f(x):\n    if …"),
            cause="hang",
        ),
    ]
    SILENT = [
        Case(
            _RAISED + "class A(B):\n    def __init__(self):\n        super().__init__()\n    def fit(self, X):\n"
            "        self.model.fit(X)\n        return self",
            "A().fit(X)",
            cause="oom-cgroup",
        ),
        Case("def f(n): return f(n + 1)", "f(0)", cause="oom-cgroup"),
        Case(_RAISED + "def f(n):\n    if n: return f(n - 1)", "f(10**8)", cause="oom-cgroup"),
        Case(_RAISED + "def f(n): return n and f(n - 1)", "f(10**8)", cause="oom-cgroup"),
        Case("import sys\ndef f(n): return f(n + 1)", "x = [0] * 10**10", cause="oom-cgroup"),
        Case("import sys\ndef f(n): return f(n + 1)", "f(0)", cause="segfault"),
        Case("def f(n): return g(f, n)", "f(1)"),
    ]

    def propose(self, death: Death) -> Proposals:
        is_raised = any(death.code.calls("sys.setrecursionlimit"))
        is_stopped = death.causes[0].id != "stack-overflow" and not is_raised  # by Python, after 1000 calls
        if is_stopped or (death.is_about_memory and not death.memory.grew_here):
            return
        for scope, name in named_functions(death.code):
            if always_calls_itself(scope, name) and death.was_running(scope.calls[0], scope):
                yield Proposal(
                    (),
                    f"{quote(scope.name if scope.function else name)} calls itself in every case, so that it never "
                    "returns. A higher recursion limit only makes it die later.",
                    death.memory.ramp_bytes if death.is_about_memory else None,
                    snippet=f"def {name}({unparse(scope.arguments)}):\n    if …:  # the case that needs no further "
                    "call\n        return …",
                )
