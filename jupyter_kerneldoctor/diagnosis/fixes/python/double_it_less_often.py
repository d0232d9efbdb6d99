import ast

from ...code.literals import number
from ...code.scopes import Loop
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...place import guilty_place

_MANY, _MOST = 16, 64
_SUBSETS = (
    "from itertools import chain, combinations\n\n"
    "subsets = chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))\n"
    "for one in subsets:  # one at a time: 40 items have 1,099,511,627,776 of them\n    ..."
)


class DoubleItLessOften(Fix):
    """Double a text, a list or a table fewer times.

    What it does: `text += text` makes a text twice as long. Done again and again, the last round takes as much as all
    before it together: one round less is half of the memory. A size that is checked before each round ends the loop in
    time.

    When it is offered: Memory ran out in a loop whose statement adds something to itself.

    What it costs: What is made is smaller.
    """

    id, title, causes = "double-it-less-often", "Double it less often: one round less is half", (Family.MEMORY,)

    FIRES = [
        Case("text = 'x' * 9", "while len(text) < 1 << 36:\n    text += text", line=2, says=("64.0 GiB", "`text`")),
        Case(
            "out = [[]]", "for x in items:\n    out += [one + [x] for one in out]", line=2, says=("combinations(items",)
        ),
        Case(
            "import pandas as pd\ndf = pd.read_csv(p)",
            "for _ in range(30):\n    df = pd.concat([df, df])",
            line=2,
            says=("1,073,741,824 times", "len(df)"),
        ),
    ]
    SILENT = [
        Case("rows = []", "while True:\n    rows += load()", line=2),
        Case("text = 'x' * 9", "text += text", line=1),
        Case("import numpy as np\nx = np.ones(9)", "for _ in range(9):\n    x += x", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        place = guilty_place(death)
        name = None if place is None else _doubled(place.node)
        loops = () if place is None else place.scope.loops_around(place.node)
        if place is None or name is None or not loops:
            return
        target = place.node.target if isinstance(place.node, ast.AugAssign) else None
        known = None if target is None else death.values.of(target, place.scope)
        if known is not None and known.dtype is not None:
            return  # the numbers of an array are doubled, not the array
        where = death.code.cell_name(place.scope.cell)
        until = _until(loops[0], place.scope, death)
        why = f"{quote(place.text)} ({where}) makes `{name}` twice as large in each round{until}."
        title = f"Double `{name}` less often: one round less is half"
        snippet = f"while len({name}) < 1_000_000:  # as many as are needed, or fewer rounds\n    {place.text}"
        if _of_each_item(place.node, name):
            title, snippet = "Take one after the other: itertools, no list of all", _SUBSETS
        yield Proposal((), why, death.memory.missing_bytes, title, snippet)


def _of_each_item(node: ast.stmt, name: str) -> bool:
    """Whether a new item is made of each that there is, and put beside them."""
    made = (one.generators[0].iter for one in walk(node) if isinstance(one, ast.ListComp | ast.GeneratorExp))
    return any(isinstance(one, ast.Name) and one.id == name for one in made)


def _doubled(node: ast.stmt) -> str | None:
    """Return the name of what a statement adds to itself; None where it does not."""
    match node:
        case (
            ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=added)
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[added]))
        ):
            before = name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(ast.Name(id=before), ast.Add(), added)):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_])
        ):
            same = [isinstance(one, ast.Name) and one.id == name for one in parts]
            return name if len(same) > 1 and all(same) else None
        case _:
            return None
    is_same = isinstance(added, ast.Name) and added.id == name
    return name if before == name and (is_same or _of_each_item(node, name)) else None


def _until(loop: Loop, scope: Scope, death: Death) -> str:
    """Say how far a loop goes, where that is written."""
    match loop:
        case ast.While(test=ast.Compare(left=ast.Call(func=ast.Name(id="len")), comparators=[end])):
            most = number(end) or death.values.number(end, scope)
            return "" if most is None else f", until its length is {most:,} (for a text {size(most)})"
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[rounds])):
            count = death.values.number(rounds, scope)
            return "" if count is None or not _MANY < count < _MOST else f": {2**count:,} times as large in the end"
    return ""
