import ast
from collections.abc import Iterator

from ...code.calls import last_name
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_LCS = (
    "def lcs(a, b):\n    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]\n    for i in range(len(a)):\n"
    "        for j in range(len(b)):\n            dp[i + 1][j + 1] = max(dp[i][j + 1], dp[i + 1][j]) + (a[i] == b[j])\n"
    "    return dp[-1][-1]"
)
_WARP = (
    "import numpy as np\nD = np.full((len(a) + 1, len(b) + 1), np.inf)\nD[0, 0] = 0\nfor i in range(1, len(a) + 1):\n"
    "    for j in range(1, len(b) + 1):\n        D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], D[i, j - 1])\n"
    "print(D[len(a), len(b)])"
)
_WAY = "\nwhile i and j:\n    i, j = step(D[i, j], i, j)"
_SNIPPET = (
    "before = [0] * width  # the row before, as long as a row of {table}, in place of all of it\n"
    "for {row} in ...:  # as now\n"
    "    new = before[:]  # or as a row of {table} begins\n"
    "    ...  # as now, with `new[...]` in place of {stored}[...], and `before[...]` of {read}[...]\n"
    "    before = new\n\n"
    "before[-1]  # in place of {table}[-1][-1]"
)


class TwoRowsOfATable(Fix):
    """Keep the last two rows of a table that is filled row by row.

    What it does: The table of an edit distance, a longest common part, a knapsack or a time warp needs for each row
    only the one before. Two rows give the same last number as all of them.

    When it is offered: Memory ran out where such a table was made or filled, and each row is worked out of the row
    before.

    What it costs: The way through the table is not known in the end, only its last row.
    """

    id, title = "two-rows-of-a-table", "Keep the last two rows only: the previous one and the new one"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(_LCS, "lcs(x, y)", says=("`dp`", "of dp[i][...]")),
        Case(_WARP, line=2, says=("new[...]` in place of D[i][...]",)),
        Case(
            "f = [[1]]\nfor n in range(9**9):\n    f = [0] * 9",
            "K = [[0] * (W + 1) for _ in range(n + 1)]\n"
            "for i in range(1, n + 1):\n    for w in range(W + 1):\n        K[i][w] = max(K[i - 1][w], v[i - 1])",
            line=1,
        ),
    ]
    SILENT = [
        Case(_WARP + _WAY, line=2),  # goes back through all rows
        Case(_WARP.replace("print(D[len(a), len(b)])", "show(D)"), line=2),
        Case(
            "grid = [[0] * n for _ in range(n)]\nfor i in xs:\n    for j in xs:\n        grid[i][j] = f(i, j)",
            line=1,
        ),
        Case(_WARP.replace("D[i - 1, j]", "D[i - k, j]"), line=2),
        Case(_WARP + "\nbig = [0] * 10**10", line=8),
    ]

    def propose(self, death: Death) -> Proposals:
        for scope in death.code.running if death.is_of_this_cell else ():
            for made, table in _tables(scope):
                found = _row_by_row(table, scope)
                filled = [made, *(one for one in scope.nodes if isinstance(one, ast.Assign | ast.AugAssign))]
                if found is None or all(
                    grew_in(death, one, scope) is False for one in filled if _is_of(one, table, made)
                ):
                    continue
                if not any(death.was_running(one, scope) for one in filled if _is_of(one, table, made)):
                    continue
                row, stored, read = found
                named = {"table": table, "row": row, "stored": stored, "read": read}
                why = f"{quote(table)} keeps all rows, and each row is worked out of the one before."
                snippet = _SNIPPET.format(**named)
                yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
                return


def _is_of(node: ast.stmt, table: str, made: ast.stmt) -> bool:
    """Whether a statement makes a table, or puts something into it."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return node is made or any(isinstance(one, ast.Subscript) and _table_of(one)[0] == table for one in targets)


def _tables(scope: Scope) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the tables that are made whole, with their statement: `[[0] * m for _ in range(n)]`, `np.zeros((n, m))`."""
    for node in scope.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.BinOp(op=ast.Mult()) | ast.ListComp())
            ):
                yield node, name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Tuple(elts=[_, _]), *_]) as made):
                if last_name(made.func) in ("zeros", "ones", "full", "empty"):
                    yield node, name


def _table_of(node: ast.Subscript) -> tuple[str, ast.expr | None]:
    """Return the table that an entry is of, and the index of its row: `dp[i][j]`, `D[i, j]`, `dp[i]`."""
    match node:
        case ast.Subscript(value=ast.Subscript(value=ast.Name(id=table), slice=row)):
            return table, row
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Tuple(elts=[row, _]) | row):
            return table, row
    return "", None


def _row_by_row(table: str, scope: Scope) -> tuple[str, str, str] | None:
    """Return the name that counts rows, and the rows that are stored and read; None where another row is needed."""
    names = [one for one in scope.nodes if isinstance(one, ast.Name) and one.id == table]
    entries = [one for one in scope.nodes if isinstance(one, ast.Subscript) and _table_of(one)[0] == table]
    entered = {id(inner) for one in entries for inner in walk(one.value)}
    if any(id(one) not in entered and isinstance(one.ctx, ast.Load) for one in names):
        return None  # the table itself is used
    stored, read, counted = set[str](), set[str](), set[str]()
    for one in entries:
        loops = scope.loops_around(one)
        if any(isinstance(loop, ast.While) for loop in loops):
            return None
        row, text = _table_of(one)[1], " ".join(scope.segment(_table_of(one)[1] or one).split())
        targets = [inner for loop in loops if isinstance(loop, ast.For) for inner in walk(loop.target)]
        counters = {inner.id for inner in targets if isinstance(inner, ast.Name)}
        match row:
            case ast.Name(id=name) | ast.BinOp(left=ast.Name(id=name), right=ast.Constant(value=1)) if name in counters:
                counted.add(name)
                (stored if isinstance(one.ctx, ast.Store) else read).add(text)
            case _ if loops and not (isinstance(row, ast.Constant) or isinstance(one.ctx, ast.Store)):
                return None
    others = read - stored
    if len(stored) != 1 or len(others) != 1:
        return None
    (new,), (old,) = stored, others
    row_name = min(new.split()[0], old.split()[0])
    return (row_name, f"{table}[{new}]", f"{table}[{old}]") if row_name in counted else None
