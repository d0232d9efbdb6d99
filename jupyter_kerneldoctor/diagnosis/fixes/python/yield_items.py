import ast

from ...code.origins import Origins
from ...code.trees import waits, walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.gone_through_once import instead_of_list, is_gone_through_once, is_result_gone_through_once, yielded
from ...frameworks.small_values import is_small
from ...frameworks.torch import Tensors

_GIVE = ("builtins.map", "builtins.filter", "builtins.zip", "builtins.enumerate", "csv.reader", "csv.DictReader")
_GIVE_BY_METHOD = ("itertuples", "iterrows", "iter_rows", "finditer", "iterdir")
_READ = "def rows(p):\n    found = []\n    for line in open(p):\n        found.append(line.split())\n    return found"
_COUNT = "n = 0\nfor row in rows('a.csv'):\n    n += int(row[2])"


class YieldItems(Fix):
    """Hand out one item after the other: `yield`, no list of all.

    What it does: A function that puts items into a list and returns it holds all of them before the first is used.
    With `yield` in place of `append` it makes each when the loop that called it asks for the next. The same holds
    for a list that is made in brackets, or by `list(...)`, on another line than the loop that goes through it.

    When it is offered: Memory ran out where such a list was made, and all that any cell does with it is go through
    it once, keeping no item.

    What it costs: The items can be gone through once: there is no `len`, no second loop, and no item has a number.
    What the function does, it does while the loop runs, not before.
    """

    id, title, causes = "yield-items", "Hand out one item after the other: no list of all", (Family.MEMORY,)
    unless_offered = frozenset({"generator-instead-of-list"})

    FIRES = [
        Case(
            _READ, _COUNT, becomes={1: "def rows(p):\n    for line in open(p):\n        yield line.split()\n"}, line=2
        ),
        Case(  # another `found` than that of the function
            _READ,
            "found = rows('a.csv')\nfor row in found:\n    print(row[2])",
            becomes={1: "def rows(p):\n    for line in open(p):\n        yield line.split()\n"},
            line=1,
        ),
        Case(
            "from statistics import mean\n" + _READ,
            "found = rows('a.csv')\nprint(mean(float(row[2]) for row in found))",
            becomes={
                1: "from statistics import mean\ndef rows(p):\n    for line in open(p):\n        yield line.split()\n"
            },
            line=1,
        ),
        Case(
            "def total(docs): return sum(d['n'] for d in docs)",
            "import json\ndocs = [json.loads(line) for line in f]\nprint(total(docs))",
            becomes="import json\ndocs = (json.loads(line) for line in f)\nprint(total(docs))",
            line=2,
        ),
        Case(
            "import json\ndef load(path):\n    with open(path) as f:\n        return [json.loads(line) for line in f]",
            "for doc in load('a'):\n    print(doc['id'])",
            becomes={
                1: "import json\ndef load(path):\n    with open(path) as f:\n"
                "        yield from (json.loads(line) for line in f)"
            },
        ),
        Case("rows = list(map(parse, lines))\nbest = max(rows)", becomes="rows = map(parse, lines)\nbest = max(rows)"),
    ]
    SILENT = [
        Case(_READ + "\ndef show():\n    print(found)", "found = rows('a.csv')\nfor row in found:\n    print(row)"),
        Case(_READ, "kept = rows('a.csv')\nprint(len(kept))"),
        Case(_READ, "kept = rows('a.csv')", "for row in kept:\n    print(row)"),
        Case(_READ, "for _ in range(2):\n    for row in rows('a.csv'):\n        print(row)\nn = len(rows('b.csv'))"),
        Case(_READ, "by = {}\nfor row in rows('a.csv'):\n    by.setdefault(row[0], []).append(row)"),
        Case(_READ, "read = rows\nfor row in rows('a.csv'): print(row)"),
        Case(_READ.replace("return found", "found.sort()\n    return found"), _COUNT),
        Case("with open(p) as f:\n    docs = [g(line) for line in f]\nfor d in docs:\n    print(d)"),
        Case("docs = [g(x) for x in xs]\nfor d in docs:\n    print(d)\nbig = [0] * 10**10", line=4),
        Case("docs = [g(x) for x in xs]\nfor epoch in range(3):\n    for d in docs:\n        print(d)"),
        Case("def g(x): return float(f(x))\nys = [g(x) for x in xs]\nprint(max(ys))", line=2),
        Case("for key in list(table.keys()):\n    del table[key]"),
        Case("docs = [await g(x) for x in xs]\nfor d in docs:\n    print(d)", line=1),
        Case(_READ, _COUNT, cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.is_of_this_cell:
            return
        code, missing = death.code, death.memory.missing_bytes
        for scope in code.running:
            ran = isinstance(scope.node, ast.FunctionDef) and death.was_running(scope.node, scope)
            if ran and (changes := yielded(scope)) and is_result_gone_through_once(scope, code):
                why = f"{quote(scope.name)} holds all items before the first is used. With `yield` it makes each when "
                yield Proposal(changes, why + "the loop asks for it; they can be gone through once.", missing)
            for node in scope.nodes:
                if not isinstance(node, ast.ListComp | ast.Call) or not death.was_running(node, scope):
                    continue
                if (
                    (lazy := _lazily(node, scope, death))
                    and _may_be_large(node, scope, death)
                    and is_gone_through_once(node, scope, code)
                ):
                    why = f"{quote(scope.segment(node))} holds all items before the first is used. Without the list "
                    why += "each is made when the loop asks for it; they can be gone through once."
                    yield Proposal(instead_of_list(node, scope, lazy), why, missing)


def _may_be_large(node: ast.ListComp | ast.Call, scope: Scope, death: Death) -> bool:
    """Whether it can be the list that took the memory: its items are no numbers, and nothing else is known to have."""
    tensors, grew = Tensors(death.code), death.growth.container
    items = [(node.elt, scope)] if isinstance(node, ast.ListComp) else []
    if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Call):
        items += Origins(death.code).returned(node.elt, scope)
    is_it = grew is None or any(isinstance(one, ast.Name) and one.id == grew.name for one in walk(node))
    return is_it and not (items and any(is_small(one, where, tensors) for one, where in items))


def _lazily(node: ast.ListComp | ast.Call, scope: Scope, death: Death) -> str | None:
    """Return what gives the items of a list one by one; None for what is no such list."""
    match node:
        case ast.ListComp() if not waits(node):
            return f"({scope.segment(node)[1:-1]})"
        case ast.Call(func=ast.Name(id="list"), args=[ast.Call(func=function) as inner], keywords=[]):
            name = death.code.qualified(function, scope)
            makes = Origins(death.code).called(function, scope)
            is_generator = makes is not None and any(isinstance(one, ast.Yield | ast.YieldFrom) for one in makes.nodes)
            if is_generator or name in _GIVE or getattr(function, "attr", "") in _GIVE_BY_METHOD:
                return scope.segment(inner)
    return None
