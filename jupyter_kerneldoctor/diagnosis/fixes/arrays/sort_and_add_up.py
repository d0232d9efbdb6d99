import ast

from ...code.calls import plain_names
from ...code.origins import Origins
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.gradients import goes_backward
from ...frameworks.pair_matrices import PairMatrix, pair_matrices, spread, sums_in
from ...frameworks.sorted_sums import sorted_sum
from ...place import grew_in, may_have_run

_STEPS = 3  # from statement to statement
_PART = 8  # of the missing memory: a smaller matrix does not explain it
_COX = (
    "import torch\ndef cox(theta, time, event):\n    R = (time.view(1, -1) >= time.view(-1, 1)).float()\n"
    "    log_risk = torch.log(torch.sum(torch.exp(theta) * R, dim=1))\n"
    "    return -((theta - log_risk) * event).sum()\n"
)
_FIT = "for epoch in range(9):\n    loss = cox(net(X).view(-1), T, E)\n    loss.backward()"
_HARRELL = (
    "import numpy as np\ndef concordance(t, s):\n    ok = t[:, None] < t[None, :]\n"
    "    return (ok & (s[:, None] > s[None, :])).sum() / ok.sum()\n"
)
_BLOCKS = (
    "total = 0\nfor at in range(0, len({a}), 1000):  # a block of rows with all others\n"
    "    part = {part}\n    total = total + …  # the rest of the calculation with this part: a number of each block\n"
)
_RANKS = (
    "\n# or from ranks, with no pairs: sklearn.metrics.roc_auc_score, scipy.stats.kendalltau,\n"
    "# lifelines.utils.concordance_index"
)
_CHECKPOINT = (
    "    # torch.utils.checkpoint.checkpoint around a function of it: a block then keeps nothing for the gradient"
)
_BATCHES = "\n# or mini-batches of some hundred rows: the pairs are those of a batch, and a DataLoader makes them"


class SortAndAddUp(Fix):
    """Sort once and add up along the order, not over a matrix of all pairs.

    What it does: `t[None, :] >= t[:, None]` has an entry for each pair, to add up for each row what belongs to larger
    numbers. In sorted order that is a running sum: `cumsum`, `logcumsumexp` of exponentials, `searchsorted` of counts.

    When it is offered: Memory ran out where such a matrix was made, or multiplied and added up.

    What it costs: Rows with equal numbers need a look: a running sum takes them one after the other.
    """

    id, title, causes = "sort-and-add-up", "Sort once and add up along the order, not over all pairs", OUT_OF_MEMORY

    FIRES = [
        Case(
            _COX,
            _FIT,
            growth="jump",
            line=2,
            says=(
                "torch.argsort(time, descending=True)",
                "torch.logcumsumexp(theta.view(-1)[order], 0)",
                "mini-batches",
            ),
        ),
        Case(
            "import numpy as np\nt, w = np.ones(40_000), np.ones(40_000)",
            "M = t[:, None] >= t[None, :]\nbelow = M @ w",
            line=1,
            says=("np.argsort(t)", "np.cumsum(w[order])", "side='right'", "1.5 GiB"),
        ),
        Case(
            "import numpy as np\nx, grid = np.ones(90_000), np.ones(50_000)",
            "ecdf = (x[:, None] <= grid).mean(axis=0)",
            says=("np.searchsorted(np.sort(x), grid, side='right')",),
        ),
        Case(
            "import numpy as np\nt = np.ones(50_000)",
            "rank = np.less_equal.outer(t, t).sum(0)",
            says=("np.searchsorted(np.sort(t), t, side='right')",),
        ),
        *(  # the weight of each row is the same for all that it adds up, a transposed matrix adds up the columns
            Case(
                "import numpy as np\nt = np.ones(60_000)", f"M = t[:, None] < s[None, :]\n{total}", line=1, says=(says,)
            )
            for total, says in (
                ("n = (w[:, None] * M).sum(axis=1)", "result = w * counts"),
                ("n = (w * M).sum(axis=-2)", "result = w * counts"),
                ("n = M.T @ w", "result = sums[np.searchsorted(t[order], s, side='left')]"),
            )
        ),
        Case(
            "import numpy as np\nt = np.ones(60_000)",
            "later = np.expand_dims(t, 1) < np.expand_dims(t, 0)\nn = later.sum(axis=1)",
            line=1,
            says=("len(t) - np.searchsorted(np.sort(t), t, side='right')",),
        ),
        Case(
            _HARRELL,
            "c = concordance(y, net.predict(x))",
            says=("part = t[at : at + 1000, None] < t", "concordance_index", "block"),
        ),
        Case(  # a loss of the order of two
            "import torch\ndef ranking(s, y):\n    better = y.unsqueeze(1) > y.unsqueeze(0)\n"
            "    gap = s.unsqueeze(1) - s.unsqueeze(0)\n    return (torch.relu(1 - gap) * better).mean()",
            "loss = ranking(net(X), y)\nloss.backward()",
            growth="jump",
            line=1,
            says=("part = y[at : at + 1000, None] > y", "mini-batches"),
        ),
    ]
    SILENT = [
        Case("import torch", "mask = torch.arange(T)[None, :] <= torch.arange(T)[:, None]\nn = mask.sum(1)", line=1),
        Case("import torch\npos = torch.arange(9)", "mask = pos[None] < lengths[:, None]\nn = mask.sum(1)", line=1),
        Case("import numpy as np\nt = np.ones(50)", "M = t[:, None] >= t\nn = M.sum(1)\nload()", line=2),
        Case("import numpy as np\nt = np.ones(100)", "M = t[:, None] >= t\nn = M.sum(1)", line=1),
        Case("import numpy as np\nt = np.ones(40_000)", "M = t[:, None] >= t", line=1),  # the matrix itself is wanted
        Case("import numpy as np\nX = np.ones((4000, 9))", "M = (X[:, None] >= X[None]).all(-1)", line=1),
        Case(_HARRELL, "c = concordance(y, net.predict(x))\nload()", line=2),
        Case("import numpy as np\nt = np.ones(40_000)", "M = t[:, None] >= t\nis_largest = M.all(1)", line=1),
        Case("import numpy as np\nt = np.ones(40_000)", "n = (t[None] >= t[None, :]).sum()", line=1),
    ]

    def propose(self, death: Death) -> Proposals:
        origins, missing = Origins(death.code), death.memory.missing_bytes or 0
        for scope in death.code.running if death.is_of_this_cell else ():
            found = [one for one in pair_matrices(scope, origins) if not _is_too_small(one, death)]
            for one in found:
                made = _made_of(one, scope)
                sums = [*sums_in(scope, made, one.node)]
                if not sums or not _was_running(one, made, death):
                    continue
                rows, columns = (death.values.rows(part, scope) for part in (one.column, one.row))
                takes = None if rows is None or columns is None else rows * columns
                how = "" if takes is None else f": {size(takes)}, and four or eight times that as numbers"
                why = f"{quote(scope.segment(one.node))} has an entry for each pair{how}. "
                if len({scope.segment(part.column) for part in found}) > 1 or _is_subtracted(scope, one, origins):
                    why += "Compare a block of rows with all others at a time, and keep a number of each."
                    title = "Compare a block of rows at a time, or take what needs ranks only"
                    yield Proposal((), why, missing, title, _in_blocks(one, death))
                    return
                why += "In sorted order, what is added up of it is a running sum."
                yield Proposal((), why, missing, snippet=_in_order(one, sums[0], made, death))
                return


def _is_too_small(one: PairMatrix, death: Death) -> bool:
    """Whether the matrix is known not to explain what was missing, or has another form than that of two vectors."""
    values = [death.values.of(part, one.scope) for part in (one.column, one.row)]
    if any(value is not None and len(value.shape) > 1 and 1 not in value.shape for value in values):
        return True
    lengths = [value.shape[0] for value in values if value is not None and value.shape]
    return len(lengths) > 1 and lengths[0] * lengths[1] < (death.memory.missing_bytes or 0) // _PART


def _made_of(one: PairMatrix, scope: Scope) -> set[str]:
    """Return the names that hold the matrix, or what was worked out of it."""
    made = set(scope.assigned_by(one.node))
    for _ in range(_STEPS):
        for node in scope.nodes:
            if isinstance(node, ast.Assign) and plain_names(node.value) & made:
                made |= plain_names(*node.targets)
    return made


def _was_running(one: PairMatrix, made: set[str], death: Death) -> bool:
    """Whether memory may have run out where the matrix was made or used."""
    scope = one.scope
    using = [scope.tree.statements[name] for name in scope.names if isinstance(name, ast.Name) and name.id in made]
    return may_have_run(death, scope) and any(
        death.was_running(node, scope) and grew_in(death, node, scope) is not False
        for node in (scope.tree.statements[one.node], *using)
    )


def _is_subtracted(scope: Scope, one: PairMatrix, origins: Origins) -> bool:
    """Whether differences of all pairs of another vector are made beside it, as a loss of an order does."""
    for node in scope.nodes:
        match node:
            case ast.BinOp(op=ast.Sub(), left=left, right=right) if node is not one.node:
                parts = spread(left, scope, origins), spread(right, scope, origins)
                if None not in parts:
                    return True
    return False


def _in_order(one: PairMatrix, summed: ast.expr, made: set[str], death: Death) -> str:
    trains = goes_backward(death.code)
    is_torch = trains or not death.code.imports("numpy")
    return sorted_sum(one, summed, made, Origins(death.code), is_torch=is_torch) + (_BATCHES if trains else "")


def _in_blocks(one: PairMatrix, death: Death) -> str:
    """Return the comparison of a block of rows with all others; a training takes mini-batches first."""
    a, b = one.scope.operand(one.column), one.scope.segment(one.row)
    sign = ("<" if one.counts_larger else ">") + ("=" if one.has_equal else "")
    blocks = _BLOCKS.format(a=one.scope.segment(one.column), part=f"{a}[at : at + 1000, None] {sign} {b}")
    if not goes_backward(death.code):
        return blocks + _RANKS
    return f"{_BATCHES.strip()}\n\n{blocks}{_CHECKPOINT}".replace("# or mini", "# mini")
