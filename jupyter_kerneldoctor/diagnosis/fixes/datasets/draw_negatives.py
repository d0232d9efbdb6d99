import ast

from ...code.origins import all_origins
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_SETS = ("set", "frozenset")
_RATED = "import random\nseen = load()\npool = set(range(8000))"
_DRAW = (
    "import random\n\nitems = list({pool})  # once\n\n"
    "def draw({key}, n):  # n of those that are not among its own, when they are needed: nothing is kept\n"
    "    found = set()\n    while len(found) < min(n, len(items) - len({own})):\n        one = random.choice(items)\n"
    "        if one not in {own}:\n            found.add(one)\n    return found"
)


class DrawNegatives(Fix):
    """Draw what is not in a set when it is needed, without a set of all the rest for each.

    What it does: A set of all items that a user never rated has nearly all items, for each user. One item at random is
    nearly always such a one: draw again where it is not, and nothing has to be kept.

    When it is offered: Memory ran out where a loop or a comprehension kept, for each key, a set of everything without
    a few: `pool - seen[user]`.

    What it costs: Now and then a second draw.
    """

    id, title = "draw-negatives", "Draw when needed what is not in the set: keep no set of the rest"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _RATED,
            "negatives = {u: pool - seen[u] for u in seen}",
            says=(
                "`pool - seen[u]`",
                "if one not in seen[u]:",
                "def draw(u, n)",
                "items = list(pool)",
                "min(n, len(items) - len(seen[u]))",
            ),
        ),
        Case(
            _RATED,
            "for u, own in seen.items():\n    rest[u] = list(pool.difference(own))",
            says=("if one not in own:",),
        ),
    ]
    SILENT = [
        Case(_RATED, "rest = pool - seen[3]"),
        Case("import numpy as np\nbase = np.ones(9)", "d = {u: base - x[u] for u in x}"),
        Case(_RATED, "n = {u: len(pool - seen[u]) for u in seen}"),
        Case(_RATED, "x = {u: pool - seen[u] for u in seen}\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in death.code.running.nodes(ast.AST) if death.is_of_this_cell else ():
            match node:
                case ast.DictComp(value=value, generators=[loop]) | ast.ListComp(elt=value, generators=[loop]):
                    target = loop.target
                case ast.For(target=target, body=[*_, ast.Assign(targets=[ast.Subscript()], value=value)]):
                    pass
                case _:
                    continue
            rest = _rest(value)
            if rest is None or not death.was_running(node, scope) or grew_in(death, node, scope) is False:
                continue
            pool, own = rest
            names = {one.id for one in walk(target) if isinstance(one, ast.Name)}
            if _named(pool) & names or not _named(own) & names or not _is_set(pool, scope, death):
                continue
            segment = scope.segment
            why = f"{quote(segment(value))} is kept for each {quote(segment(target))}: nearly all of "
            why += f"{quote(segment(pool))}, again and again. One item at random is nearly always not among its own."
            key = min(names & _named(own))
            snippet = _DRAW.format(key=key, pool=segment(pool), own=segment(own))
            yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
            return


def _rest(value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return what is left of what: `pool` and `own` of `pool - own`, also within `list(...)`."""
    match value:
        case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple" | "set"), args=[inner]):
            return _rest(inner)
        case ast.BinOp(left=pool, op=ast.Sub(), right=own):
            return pool, own
        case ast.Call(func=ast.Attribute(attr="difference", value=pool), args=[own]):
            return pool, own
    return None


def _named(node: ast.expr) -> set[str]:
    return {one.id for one in walk(node) if isinstance(one, ast.Name)}


def _is_set(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether an expression surely is a set."""
    for one, where in all_origins(node, scope, death.code):
        match one:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Call(func=ast.Name(id=name)) if name in _SETS:
                return death.code.qualified(one.func, where) in (None, f"builtins.{name}")
    return False
