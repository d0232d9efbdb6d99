import ast

from ...calls import nodes_at
from ...code.trees import unparse
from ...edits import replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.sorted_tensors import sorted_tensor
from ...frameworks.torch import Tensors

_TABLE = 2  # dimensions, so that the second is the last
_FEW = 10  # which every row has that is worth sorting
_NET = "import torch\nq = torch.rand(9000, 64)\nscores = q @ q.T"


class TopkNotArgsort(Fix):
    """Ask for the best few, not for the order of all.

    What it does: `argsort` and `sort` write down the place of every number, as whole numbers of 8 bytes, beside a
    sorted copy: for scores in float32 that is three times the scores. `topk` keeps only the best few of each row.

    When it is offered: Memory ran out on a line that sorts a PyTorch tensor and takes the first few of the order.

    What it costs: Nothing; of equal numbers another may come first.
    """

    id, title, causes = "topk-not-argsort", "Ask for the best few: topk, not argsort", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET,
            "order = scores.argsort(dim=1, descending=True)[:, :10]",
            becomes="order = scores.topk(10, dim=1).indices",
            says=("8 bytes",),
        ),
        Case(
            _NET,
            "order = torch.argsort(scores, dim=-1)[:, :k]",
            becomes="order = scores.topk(min(k, scores.shape[-1]), dim=-1, largest=False).indices",
        ),
        Case(
            _NET,
            "order = torch.argsort(-scores, dim=1)[:, :5]",
            becomes="order = (-scores).topk(5, dim=1, largest=False).indices",
        ),
        Case(
            _NET,
            "best = scores.sort(dim=1, descending=True)[0][:, :max(ks)]",
            becomes="best = scores.topk(min(max(ks), scores.shape[-1]), dim=1).values",
        ),
        Case(
            _NET, "best = scores.sort(descending=True).indices[:, :5]", becomes="best = scores.topk(5, dim=-1).indices"
        ),
    ]
    SILENT = [
        Case(_NET, "order = scores.argsort(dim=1)"),
        Case(_NET, "order = scores.argsort(dim=1)[:, 1:11]"),
        Case(_NET, "order = scores.argsort(dim=1)[:, :-10]"),  # all but the last ten
        Case(_NET + "\nscores = torch.rand(9, 900, 900)", "order = scores.argsort()[:, :10]"),
        Case(_NET, "order = scores.argsort(dim=0)[:, :11]"),
        Case(_NET, "order = scores.argsort(dim=1, stable=True)[:, :11]"),
        Case("import numpy as np\nscores = np.ones((9000, 9000))", "order = scores.argsort(axis=1)[:, :10]"),
        Case(_NET, "order = scores.argsort(dim=1)[:, :10]\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        tensors, missing = Tensors(death.code), death.memory.missing_bytes or 0
        for node, scope in nodes_at(death, ast.Subscript) if tensors.in_use else ():
            match node:
                case ast.Subscript(
                    value=sort, slice=ast.Tuple(elts=[rows, ast.Slice(lower=None, upper=few, step=None)])
                ):
                    found = sorted_tensor(sort, scope, tensors)
                case _:
                    continue
            if found is None or few is None or not isinstance(rows, ast.Slice) or unparse(rows) != ":":
                continue
            scored, rest, part = found
            known = death.values.of(scored, scope)
            if isinstance(few, ast.UnaryOp) or (known is not None and len(known.shape) != _TABLE):
                continue
            if (count := _count(few, scored, scope, death)) is None:
                continue
            text = f"{scope.operand(scored)}.topk({count}, {rest}).{part}"
            why = (
                f"{quote(scope.segment(sort))} orders all numbers of {quote(scope.segment(scored))}, with a place of 8 "
                f"bytes for each, and only {quote(scope.segment(few))} of each row are used. The cell took "
                f"{size(missing)}."
            )
            yield Proposal(replace(scope, node, text), why, missing)
            return


def _count(few: ast.expr, scored: ast.expr, scope: Scope, death: Death) -> str | None:
    """Return how many to ask for, as text: `topk` raises where a row has fewer. None where that cannot be written."""
    text, known = scope.segment(few), death.values.of(scored, scope)
    number = death.values.number(few, scope)
    named = scored.operand if isinstance(scored, ast.UnaryOp) else scored
    if number is not None and number <= (_FEW if known is None else known.shape[-1]):
        return text
    return f"min({text}, {scope.segment(named)}.shape[-1])" if isinstance(named, ast.Name | ast.Attribute) else None
