import ast
from collections.abc import Iterator

from ...calls import calls_at
from ...code.notebook import Call
from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal
from ...units import quote

_LAZY = tuple(
    f"itertools.{name}" for name in ("product", "combinations", "permutations", "combinations_with_replacement")
)
_ONCE = ("min", "max", "sum", "any", "all", "enumerate", "iter", "map", "filter", "zip", "islice", "next")
"""Functions that take one item after the other."""


class LazyProduct(Fix):
    """Take one combination after the other, not a list of all.

    What it does: `itertools.product` makes each combination when it is asked for. `list(...)` around it makes all of
    them at once: 40 values in 5 places are 102,400,000 tuples.

    When it is offered: Memory ran out on a line that makes such a list, and the cell goes through it no more than once.

    What it costs: It can be gone through once; it has no length, and no combination has a number. To try only some of
    them, draw them at random: `RandomizedSearchCV` does so for parameters.
    """

    id, title, causes = "lazy-product", "Take one combination after the other, not a list of all", (Family.MEMORY,)

    FIRES = [
        Case(
            "from itertools import product",
            "for a, b in list(product(xs, ys)):  # all\n    f(a, b)",
            becomes="for a, b in product(xs, ys):  # all\n    f(a, b)",
        ),
        Case(
            "import itertools as it",
            "tours = list(it.permutations(cities))\nbest = min(tours, key=lambda t: cost(t))",
            becomes="tours = it.permutations(cities)\nbest = min(tours, key=lambda t: cost(t))",
        ),
    ]
    SILENT = [
        Case("from itertools import product", "pairs = list(product(xs, ys))\nprint(len(pairs))"),
        Case("from itertools import product", "pairs = list(product(xs, ys))\nfor p in pairs: f(p)\nmin(pairs)"),
        Case("from itertools import product", "pairs = list(product(xs, ys))\nbig = [0] * 10**10", line=2),
        Case("from itertools import product", "pairs = list(product(xs, ys))\ndef n(): return len(pairs)"),
        Case("product = zip", "for a, b in list(product(xs, ys)): f(a, b)"),
        Case("from itertools import product", "for t in ts:\n    random.shuffle(list(product(xs, ys)))"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Take the list away from around the combinations."""
        for call in calls_at(death, "builtins.list"):
            match call.node.args:
                case [ast.Call() as inner] if death.code.qualified(inner.func, call.scope) in _LAZY:
                    if _is_gone_through_once(call):
                        yield Proposal(
                            replace(call.scope, call.node, call.scope.segment(inner)),
                            f"{quote(call.text)} makes all combinations before the first is used. Without `list` there "
                            "is one at a time.",
                            explains=death.memory.missing_bytes,
                        )


def _is_gone_through_once(call: Call) -> bool:
    scope = call.scope
    match call.statement:
        case ast.For(iter=whole) if whole is call.node:
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            inner = [one for part in scope.tree.scopes if part is not scope for one in part.names]
            if any(isinstance(one, ast.Name) and one.id == name for one in inner):
                return False
            uses = [one for one in scope.names if isinstance(one, ast.Name) and one.id == name]
            uses = [one for one in uses if isinstance(one.ctx, ast.Load)]
            return len(uses) <= 1 and all(_takes_one_by_one(use, scope.nodes) for use in uses)
    return False


def _takes_one_by_one(use: ast.Name, nodes: list[ast.AST]) -> bool:
    for node in nodes:
        match node:
            case ast.For(iter=taken) | ast.comprehension(iter=taken) if taken is use:
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=given) if name in _ONCE:
                if any(one is use for one in given):
                    return True
    return False
