"""The fix `generator-instead-of-list`."""

import ast
from collections.abc import Iterator

from ..calls import calls_at
from ..case import Case
from ..death import Death
from ..edits import replace
from ..family import Family
from ..fix import Fix, Proposal
from ..units import quote

_CONSUMERS = tuple(f"builtins.{name}" for name in ("sum", "min", "max", "any", "all", "set", "dict", "frozenset"))


class GeneratorInsteadOfList(Fix):
    """Work out one value after the other, not a list of all.

    What it does
    ------------
    `sum([f(x) for x in xs])` makes the list of all values first. Without the brackets each value is used as soon as it
    is there.

    When it is offered
    ------------------
    Memory ran out on a line with such a list that `sum`, `min`, `max` or the like alone uses.

    What it costs
    -------------
    `any` and `all` stop at the first value that decides; the others are not worked out then.
    """

    id, title, causes = "generator-instead-of-list", "Leave out the brackets: one value at a time", (Family.MEMORY,)

    FIRES = [
        Case(
            "total = sum([score(i) for i in range(10**9)])",
            becomes="total = sum(score(i) for i in range(10**9))",
        ),
        Case(
            "best = max([f(x) for x in xs if x], default=0)",
            becomes="best = max((f(x) for x in xs if x), default=0)",
        ),
    ]
    SILENT = [
        Case("import numpy as np", "total = np.sum([f(i) for i in xs])"),
        Case("total = sum(f(i) for i in xs)"),
        Case("total = sum([f(i) for i in xs])\nbig = [0] * 10**10", line=2),
        Case("def sum(x): return x[0]", "total = sum([f(i) for i in xs])"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Take the brackets away."""
        for call in calls_at(death, *_CONSUMERS):
            match call.node.args:
                case [ast.ListComp() as made]:
                    inner = call.scope.segment(made)[1:-1]
                    alone = not call.node.keywords
                    yield Proposal(
                        replace(call.scope, made, inner if alone else f"({inner})"),
                        f"{quote(call.scope.segment(made))} holds all values at once. Without the brackets each is "
                        "used as soon as it is there.",
                        death.memory.missing_bytes,
                        applicability="safe" if call.name.rpartition(".")[2] in ("sum", "min", "max") else "suggested",
                    )
