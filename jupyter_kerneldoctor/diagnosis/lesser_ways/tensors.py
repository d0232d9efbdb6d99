"""PyTorch: tables of all pairs, and rows that do not need each other."""

import ast

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from ..frameworks.gradients import backward_calls
from ..frameworks.torch import Kind, Tensors
from .way import LesserWay


def _of_pairs(call: Call, death: Death) -> bool:
    """Whether a product has a number for each pair of rows: its second factor is turned, and it trains nothing."""
    second = call.argument("mat2", 1) or call.argument("other", 1)
    turned = second is not None and call.scope.segment(second).endswith((".t()", ".T", ".mT", "(0, 1)", "(1, 0)"))
    return turned and not any(backward_calls(one.node, one) for one in death.code.running)


def _by_its_rows(call: Call, death: Death) -> bool:
    """Whether a network is given many rows, and the gradients by these are asked for next."""
    given = call.node.args[:1]
    asked = death.code.calls_in([call.scope], "torch.autograd.grad") if given and death.code.imports("torch") else ()
    name = call.scope.segment(given[0]) if given else ""
    places = [one.argument("inputs", 1) for one in asked if one.argument("create_graph") is None]
    is_network = Tensors(death.code).kind(call.node.func, call.scope) is Kind.MODULE
    return is_network and any(one is not None and call.scope.segment(one) == name for one in places)


def _is_square_of_few(call: Call, death: Death) -> bool | dict[str, str]:  # noqa: ARG001 - as the others
    """Whether a square table is made in which single places are set then: `A[rows, columns] = 1`."""
    sides = [call.scope.segment(one) for one in call.node.args[:2]]
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if len(sides) == 2 and sides[0] == sides[1]:
            for node in call.scope.nodes:
                match node:
                    case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=set_in), slice=ast.Tuple(elts=[i, j]))]):
                        if set_in == name and not call.scope.loops_around(node):
                            return {"i": call.scope.segment(i), "j": call.scope.segment(j), "n": sides[0]}
    return False


WAYS = (
    LesserWay(
        ("torch.zeros",),
        "Keep only the entries that are not zero: a sparse tensor",
        "has a number for each pair, nearly all of them zero.",
        "{to} = torch.sparse_coo_tensor(torch.stack([{i}, {j}]), torch.ones(len({i})), ({n}, {n})).coalesce()\n"
        "y = torch.sparse.mm({to}, x)  # a degree of each row: torch.sparse.sum({to}, 1).to_dense()",
        Case(
            "import torch",
            "def matrix(e, n):\n    A = torch.zeros(n, n)\n    A[e[0], e[1]] = 1\n    return A",
            "a = matrix(e, 50_000)",
            says=("torch.sparse_coo_tensor(torch.stack([e[0], e[1]])", "torch.sparse.mm(A, x)"),
        ),
        _is_square_of_few,
    ),
    LesserWay(
        ("torch.mm", "torch.matmul"),
        "Compare a block of rows at a time",
        "makes a number for each pair of rows at once.",
        "nearest = [(part @ {a1}).topk(5, dim=1) for part in {of0}.split(256)]  # keep of each block what is used\n"
        "values = torch.cat([one.values for one in nearest])\nrows = torch.cat([one.indices for one in nearest])",
        Case("import torch", "s = torch.mm(Q, bank.t())", says=("(part @ bank.t())", "in Q.split(256)")),
        _of_pairs,
    ),
    LesserWay(
        (".()",),
        "Take some rows at a time: the gradient of a row does not need the others",
        "keeps what it works out for all rows, for their gradients.",
        "parts = []\nfor part in {of0}.detach().split(16):  # rows at a time\n    part.requires_grad_()\n"
        "    score = {owner}(part).sum()  # of the same outputs as before\n"
        "    parts.append(torch.autograd.grad(score, part)[0])\ngrads = torch.cat(parts)",
        Case(
            "import torch\nnet = torch.nn.Linear(9, 9)",
            "s = net(path)[:, 3].sum()\ng = torch.autograd.grad(s, path)[0]",
            line=1,
            says=("in path.detach().split(16)", "score = net(part).sum()"),
        ),
        _by_its_rows,
    ),
)
