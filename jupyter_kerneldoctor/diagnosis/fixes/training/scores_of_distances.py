from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.pair_vectors import PairVectors, pair_vectors
from ...frameworks.torch import Tensors
from ...place import grew_in, may_have_run

_PART = 8  # of the missing memory: fewer numbers do not explain it
_FLOAT_BYTES = 4
_NET = (
    "import torch\nfrom torch import nn\nclass Attention(nn.Module):\n    def __init__(self, n=2048):\n"
    "        super().__init__()\n        self.rel = nn.Embedding(2 * n - 1, 64)\n{}"
    "    def forward(self, q, k):\n        T = q.shape[2]\n        pos = torch.arange(T)\n        {}\n"
    "        return q @ k.mT + torch.einsum('bhid,ijd->bhij', q, r)"
)
_RUN = "net = Attention()\nout = net(q, k)"
_LESS = (
    "# or one number for each head in place of a vector, as in T5: nn.Embedding(rows, heads), added to the scores;\n"
    "# rotary positions or ALiBi have no table at all; half of the sequence length takes a quarter"
)


class ScoresOfDistances(Fix):
    """Score the distances, not a vector for each pair of positions.

    What it does: A sequence of T steps has T * T pairs, but only 2 * T - 1 distances. Queries times the vector of each
    distance are one number a distance; `gather` then picks that of each pair, and no vector is copied.

    When it is offered: Memory ran out where vectors were looked up, or worked out, by the difference of all pairs of
    positions, or where these were used.

    What it costs: Nothing: the scores are the same. A bias for each head, rotary positions or ALiBi train another
    network.
    """

    id, title = "scores-of-distances", "Score each distance, not a vector for each pair of positions: gather"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET.format("", "r = self.rel(pos[None, :] - pos[:, None] + T - 1)"),
            _RUN,
            growth="jump",
            line=2,
            says=(
                "q @ self.rel.weight.T",
                "gather(-1, (pos[None, :] - pos[:, None] + T - 1)",
                "1.0 GiB",
                "T5",
                "ALiBi",
            ),
        ),
        Case(  # clipped, in a method of its own
            _NET.format(
                "    def index(self, n):\n        d = torch.arange(n).view(1, -1) - torch.arange(n).view(-1, 1)\n"
                "        return d.clamp(-16, 16) + 16\n",
                "r = self.rel(self.index(T))",
            ),
            _RUN,
            growth="jump",
            says=("gather(-1, self.index(T)",),
        ),
        Case(  # kept as a buffer, and a table of parameters
            _NET.format(
                "        self.table = nn.Parameter(torch.randn(2 * n - 1, 64))\n"
                "        d = torch.arange(n)\n        self.register_buffer('d', d[:, None] - d[None, :] + n - 1)\n",
                "r = self.table[self.d[:T, :T]]",
            ),
            _RUN,
            growth="jump",
            says=("q @ self.table.T", "gather(-1, self.d[:T, :T]"),
        ),
        Case(
            _NET.format("", "r = nn.functional.embedding(pos.unsqueeze(0) - pos.unsqueeze(1), self.rel.weight)"),
            _RUN,
            growth="jump",
            says=("q @ self.rel.weight.T",),
        ),
        Case(  # a network for the distance of each pair
            _NET.format(
                "        self.mlp = nn.Linear(1, 64)\n",
                "r = self.mlp((pos[:, None] - pos[None, :]).unsqueeze(-1).float())",
            ),
            _RUN,
            growth="jump",
            says=("torch.arange(-T + 1, T)", "self.mlp"),
        ),
    ]
    SILENT = [
        Case(_NET.format("", "r = self.rel(pos)"), _RUN, growth="jump"),
        Case(_NET.format("", "r = self.rel(pos[:, None])"), _RUN, growth="jump"),
        Case(_NET.format("", "r = self.rel(pos[None, :] - pos[:, None])"), _RUN + "\nload()", growth="jump", line=3),
        Case(  # few positions
            _NET.format("", "r = self.rel(pos[None, :] - pos[:, None] + T - 1)").replace("2048", "64"),
            _RUN,
            growth="jump",
        ),
        Case(  # a number for each head, added as it is
            _NET.format("", "r = self.rel(pos[None, :] - pos[:, None] + T - 1)").replace(
                "torch.einsum('bhid,ijd->bhij', q, r)", "r.permute(2, 0, 1)"
            ),
            _RUN,
            growth="jump",
        ),
        Case(  # a sum of the vectors, by weights
            _NET.format("", "r = self.rel(pos[None, :] - pos[:, None])").replace("bhid,ijd->bhij", "bhij,ijd->bhid"),
            _RUN,
            growth="jump",
        ),
        Case(  # distances of points, no positions
            _NET.format("        self.mlp = nn.Linear(1, 64)\n", "r = self.mlp(q[:, None] - q[None])"),
            _RUN,
            growth="jump",
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        tensors, missing = Tensors(death.code), death.memory.missing_bytes or 0
        for scope in death.code.running if tensors.in_use and death.is_of_this_cell else ():
            for found in pair_vectors(scope, tensors):
                takes = _bytes(found, death)
                if not _was_running(found, death) or (takes is not None and takes < missing // _PART):
                    continue
                how = "" if takes is None else f": {size(takes)}, more where gradients are kept"
                why = (
                    f"{quote(' '.join(scope.segment(found.node).split()))} gives a vector for each pair of positions"
                    f"{how}. There are only as many distances as two sequences are long."
                )
                yield Proposal((), why, missing, snippet=_snippet(found))
                return


def _was_running(found: PairVectors, death: Death) -> bool:
    """Whether memory may have run out where the vectors were made, or used."""
    scope = found.scope
    made = scope.assigned_by(found.node)
    using = [one for one in scope.names if getattr(one, "id", None) in made]
    nodes = (scope.tree.statements[one] for one in (found.node, *using))
    is_near = (death.was_running(one, scope) and grew_in(death, one, scope) is not False for one in nodes)
    return may_have_run(death, scope) and any(is_near)


def _bytes(found: PairVectors, death: Death) -> int | None:
    """Return what the vectors take; where the positions are not known, for as many as the table has distances for."""
    sides = [death.values.number(one, found.made_in) for one in found.sides]
    count = None if found.steps is None else death.values.number(*found.steps)
    if len(sides) < 2 or sides[1] is None or (count is None and sides[0] is None):
        return None
    return (count or (sides[0] or 0) // 2 + 1) ** 2 * sides[1] * _FLOAT_BYTES


def _snippet(found: PairVectors) -> str:
    scope, q = found.scope, found.queries
    index = scope.operand(found.places)
    index = " ".join(index.split())
    if found.table:
        rows = f"{q} @ {found.table}.T"
        index_lines = f"scores = scores + by_distance.gather(-1, {index}.expand(*{q}.shape[:-1], -1))"
    else:
        count = "T" if found.steps is None else found.steps.scope.segment(found.steps.node)
        network = scope.segment(found.node).partition("(")[0]
        rows = f"{q} @ {network}(torch.arange(-{count} + 1, {count}).float()[:, None]).T"
        index_lines = "scores = scores + by_distance.gather(-1, index)  # of each pair: its distance + T - 1"
    return f"by_distance = {rows}  # a number for each distance\n{index_lines}\n\n{_LESS}"
