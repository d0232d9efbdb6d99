import ast

from ...code.arrays import Value
from ...edits import import_as, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.plain_lists import PlainList, is_of_truths, repeated_list, stores_in

_SIEVE = (
    "sieve = [True] * (n + 1)\nfor i in range(2, n):\n    sieve[i * i :: i] = [False] * len(range(i * i, n + 1, i))"
)
_TABLE = (
    "def lcs(a, b):\n    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]\n    for i in range(len(a)):\n"
    "        for j in range(len(b)):\n            dp[i + 1][j + 1] = max(dp[i][j + 1], dp[i + 1][j]) + (a[i] == b[j])\n"
    "    return dp[-1][-1]"
)


class NumbersInAnArray(Fix):
    """Keep whole numbers in an array, not in a list.

    What it does: A list has 8 bytes for each item, and a number above 256 is an object of 28 bytes besides. In a
    `bytearray` a truth value takes 1 byte, in an `array("i")` a whole number takes 4. Both have indices and slices as a
    list has.

    When it is offered: Memory ran out where a list was made by repeating a number, `[0] * n`, or while it was filled,
    and all that is put into it is surely whole numbers.

    What it costs: Truth values come back as 0 and 1. A number beyond two billion raises an `OverflowError`.
    """

    id, title, causes = "numbers-in-an-array", "Keep the numbers in an array, not in a list", (Family.MEMORY,)

    FIRES = [
        Case(_SIEVE, becomes=_SIEVE.replace("[True] *", "bytearray([True]) *", 1), line=1),
        Case(
            _TABLE,
            "lcs(x, y)",
            says=("4 bytes", 'array("i", [0])'),
        ),
        Case(
            "n = 300_000_000\nsteps = [0] * n\nfor i in range(2, n):\n    steps[i] = 1",
            line=2,
            becomes='from array import array\nn = 300_000_000\nsteps = array("i", [0]) * n\n'
            "for i in range(2, n):\n    steps[i] = 1",
        ),
    ]
    SILENT = [
        Case("sieve = [True] * n\nbig = load()", line=2),
        Case("best = [0] * n\nfor i, x in enumerate(xs):\n    best[i] = score(x)", line=1),
        Case("best = [0] * n\nfor i in range(n):\n    best[i] = best[i - 1] / 2", line=1),
        Case("kept = [False] * n\nkept[3] = None", line=1),
        Case("rows = [0] * n\nrows.append('x')", line=1),
        Case("f = [0] * n\nfor i in range(2, n):\n    f[i] = f[i - 1] + f[i - 2]", line=1),  # no bound
        Case("f = [0] * n\nfor i in range(2, n):\n    f[i] += f[i - 1]", line=1),
        Case("import json\nf = [0] * n\njson.dumps(f[:9])", line=2),
        Case("g = [[0] * n for _ in range(n)]\nsame = g[0] == [0] * n", line=1),
        Case("def f(n):\n    p = [0] * n\n    return p", "print(f(10**9) + [1])"),
        Case("rows = [0] * n\nprint(rows + [1])", line=1),
        Case("big = [0] * 10**10"),
        Case("s = 'a' * n"),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in death.code.running.nodes(ast.AST) if death.is_of_this_cell else ():
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (made := repeated_list(value)) is not None:
                    stores = [one for one in scope.nodes if isinstance(one, ast.stmt) and stores_in(one, name)]
                    if not any(death.was_running(one, scope) for one in (node, *stores)):
                        continue
                    found = PlainList(name, scope, death.code)
                    known = death.values.of(made, scope) if made is value else None
                    if not _may_fit(known, is_of_truths(made), death):
                        continue
                    if found.is_like_an_array and all(map(found.holds, stores)):
                        yield _proposal(made, known, scope, death)


def _may_fit(value: Value | None, are_truths: bool, death: Death) -> bool:
    """Whether the array is small enough, as far as its length is known."""
    count = (value and value.rows) or 0
    return death.safe_headroom_bytes is None or count * (1 if are_truths else 4) <= death.safe_headroom_bytes


def _proposal(made: ast.BinOp, value: Value | None, scope: Scope, death: Death) -> Proposal:
    """Say what the list takes, and what an array does."""
    items, whole = scope.segment(made.left), quote(scope.segment(made))
    if is_of_truths(made):
        edits, takes = replace(scope, made.left, f"bytearray({items})"), "In a `bytearray` each takes 1 byte."
    else:
        name, imported = import_as(scope, death.code, "array.array", "array")
        edits = imported + replace(scope, made.left, f'{name}("i", {items})')
        takes = 'In an `array("i")` each takes 4 bytes.'
    why = f"{whole} has 8 bytes for each item, and more for the numbers that are put there. {takes}"
    missing = death.memory.missing_bytes or 0
    if value is None and not is_of_truths(made):
        return Proposal(edits, why, missing // 2)  # of pointers to the same zero: how many were to come is not known
    return Proposal(edits, why, missing)
