import ast

from ...calls import calls_at
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.gone_through_once import instead_of_list, is_gone_through_once

_LAZY = tuple(
    f"itertools.{name}" for name in ("product", "combinations", "permutations", "combinations_with_replacement")
)


class LazyProduct(Fix):
    """Take one combination after the other, not a list of all.

    What it does: `itertools.product` makes each combination when it is asked for. `list(...)` around it makes all of
    them at once: 40 values in 5 places are 102,400,000 tuples.

    When it is offered: Memory ran out on a line that makes such a list, and all that any cell does with it is go
    through it once.

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
        Case("import itertools", "c = list(itertools.product(xs))", becomes="c = itertools.product(xs)"),
        Case(
            "import itertools\ndef tours(n):\n    return list(itertools.permutations(range(n)))",
            "best = min(tours(11), key=cost)",
            becomes={1: "import itertools\ndef tours(n):\n    return itertools.permutations(range(n))"},
        ),
        Case(
            "from itertools import combinations",
            "teams = list(combinations(players, 11))\nfair = [team for team in teams if cost(team) < 100]",
            line=1,
            says=("teams = combinations(players, 11)", "that pass the `if`"),
        ),
    ]
    SILENT = [
        Case("from itertools import product", "pairs = list(product(xs, ys))\nfew = [f(p) for p in pairs]"),
        Case("from itertools import product", "ps = list(product(xs, ys))\nfew = [p for p in ps if p[0]]\nn = len(ps)"),
        Case("from itertools import product", "pairs = list(product(xs, ys))\nprint(len(pairs))"),
        Case("from itertools import product", "pairs = list(product(xs, ys))\nfor p in pairs: f(p)\nmin(pairs)"),
        Case("from itertools import product", "pairs = list(product(xs, ys))\nbig = [0] * 10**10", line=2),
        Case("from itertools import product", "pairs = list(product(xs, ys))\ndef n(): return len(pairs)"),
        Case("product = zip", "for a, b in list(product(xs, ys)): f(a, b)"),
        Case("from itertools import product", "for t in ts:\n    random.shuffle(list(product(xs, ys)))"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "builtins.list"):
            match call.node.args:
                case [ast.Call() as inner] if death.code.qualified(inner.func, call.scope) in _LAZY:
                    if _is_unused(call) or is_gone_through_once(call.node, call.scope, death.code):
                        yield Proposal(
                            instead_of_list(call.node, call.scope, call.scope.segment(inner)),
                            f"{quote(call.text)} makes all combinations before the first is used. Without `list` there "
                            "is one at a time.",
                            explains=death.memory.missing_bytes,
                        )
                    elif name := _chosen_from(call):
                        yield Proposal(
                            (),
                            f"{quote(call.text)} makes all combinations, of which only those are kept that pass the "
                            "`if`. Without `list` there is one at a time.",
                            explains=death.memory.missing_bytes,
                            snippet=f"{name} = {call.scope.segment(inner)}  # without list(...): one at a time\n"
                            f"# gone through once, by the line with `if`: an iterator is used up then",
                        )


def _chosen_from(call: Call) -> str | None:
    """Return the name of a list from which some are chosen, `[c for c in all if good(c)]`, and nothing else is done."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            uses = [one for one in call.scope.named(name) if isinstance(one.ctx, ast.Load)]
            lists = (one for one in call.scope.nodes if isinstance(one, ast.ListComp))
            chosen = [one.generators[0].iter for one in lists if one.generators[0].ifs]
            return name if len(uses) == 1 and uses[0] in chosen else None
    return None


def _is_unused(call: Call) -> bool:
    """Whether no line of its cell does anything with the list yet."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            named = [one for scope in call.scope.tree.scopes for one in scope.names if isinstance(one, ast.Name)]
            return sum(one.id == name for one in named) == 1
    return False
