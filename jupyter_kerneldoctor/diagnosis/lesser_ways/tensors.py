"""PyTorch: tables of all pairs, rows that do not need each other, and what is joined again and again."""

import ast
import re

from ..case import Case
from ..code.notebook import Call
from ..code.origins import Origins
from ..death import Death
from ..frameworks.gradients import goes_backward
from ..frameworks.torch import Kind, Tensors
from .way import LesserWay

_MOST_LINKS = 9  # of a chain of calls and names
_BY_ROW = re.compile(r"repeat_interleave|unsqueeze\(1\)|repeat\(1,")
"""Repeats each row by itself, not all rows again and again."""


def _of_pairs(call: Call, death: Death) -> bool:
    """Whether a product has a number for each pair of rows: its second factor is turned, and it trains nothing."""
    second = call.argument("mat2", 1) or call.argument("other", 1)
    turned = second is not None and call.scope.segment(second).endswith((".t()", ".T", ".mT", "(0, 1)", "(1, 0)"))
    return turned and not goes_backward(death.code)


def _by_its_rows(call: Call, death: Death) -> bool:
    """Whether a network is given many rows, and the gradients by these are asked for next."""
    given = call.node.args[:1]
    asked = death.code.calls_in([call.scope], "torch.autograd.grad") if given and death.code.imports("torch") else ()
    name = call.scope.segment(given[0]) if given else ""
    places = [one.argument("inputs", 1) for one in asked if one.argument("create_graph") is None]
    is_network = Tensors(death.code).kind(call.node.func, call.scope) is Kind.MODULE
    return is_network and any(one is not None and call.scope.segment(one) == name for one in places)


def _joins_all_pairs(call: Call, death: Death) -> bool | dict[str, str]:
    """Whether two repetitions of the same rows are joined, so that each pair of rows has one of its own."""
    given = call.node.args[:1]
    parts = given[0].elts if given and isinstance(given[0], ast.List | ast.Tuple) else []
    found = [_repeated(one, call, death) for one in parts]
    repeated = [None if one is None else one[0] for one in found]
    if len(repeated) != 2 or repeated[0] is None or repeated[0] != repeated[1]:
        return False
    made = getattr(call.statement, "targets", [None])[0]
    scope, name = call.scope, call.scope.segment(made) if isinstance(made, ast.Name) else ""
    products = (one for one in scope.nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult))
    weight = next((scope.segment(one.right) for one in products if scope.segment(one.left) == name), "weight")
    first, second = (0, 1) if any(one is not None and one[1] for one in found[:1]) else (1, 0)
    sides = ("reshape(-1, 1)", "reshape(1, -1)"), ("src", "dst")
    named = {"first": sides[0][first], "second": sides[0][second], "i": sides[1][first], "j": sides[1][second]}
    return {"rows": repeated[0], "weight": weight, **named}


def _repeated(node: ast.expr, call: Call, death: Death) -> tuple[str, bool] | None:
    """Return the text of what an expression repeats, `h` of `h.repeat(n, 1)`, and whether each row by itself."""
    found = Origins(death.code).of(node, call.scope) if isinstance(node, ast.Name) else []
    made, repeats = found[0].node if len(found) == 1 else node, False
    is_by_row = bool(_BY_ROW.search(call.scope.segment(made)))
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        repeats |= made.func.attr in ("repeat", "repeat_interleave", "expand", "tile")
        made = made.func.value
    is_named = repeats and isinstance(made, ast.Name | ast.Attribute)
    return (call.scope.segment(made), is_by_row) if is_named else None


def _is_square_of_few(call: Call, death: Death) -> bool | dict[str, str]:  # noqa: ARG001 - as the others
    """Whether a square table is made in which only ones are set then, in single places: `A[rows, columns] = 1`."""
    segment = call.scope.segment
    sides = [segment(one) for one in call.node.args[:2]]
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if len(sides) == 2 and sides[0] == sides[1]:
            places = [found for node in call.scope.nodes if (found := _ones_in(node, name)) is not None]
            if places and not any(call.scope.loops_around(i) for i, _ in places):
                pairs = [f"torch.stack([{segment(i)}, {segment(j)}])" for i, j in places]
                joined = pairs[0] if len(pairs) == 1 else f"torch.cat([{', '.join(pairs)}], dim=1)"
                return {"pairs": joined, "n": sides[0]}
    return False


def _ones_in(node: ast.AST, name: str) -> tuple[ast.expr, ast.expr] | None:
    """Return the rows and the columns of an array that a statement sets to one."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=one), slice=ast.Tuple(elts=[i, j]))], value=set_to):
            is_one = isinstance(set_to, ast.Constant) and set_to.value == 1
            is_part = any(isinstance(side, ast.Slice | ast.Constant) for side in (i, j))
            return (i, j) if one == name and is_one and not is_part else None
    return None


def _joins_its_own(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether a loop puts something more behind what the same name stood for: `kept = torch.cat((kept, out))`."""
    match call.statement, call.argument("tensors", 0):
        case ast.Assign(targets=[target]), ast.Tuple(elts=parts) | ast.List(elts=parts):
            own = call.scope.segment(target) in map(call.scope.segment, parts)
            return own and bool(call.scope.loops_around(call.node))
    return False


def _is_spread_out(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether two arrays are spread out against each other: `x.unsqueeze(1)`, `x[:, None]`."""
    texts = [call.scope.segment(one) for one in call.node.args[:2]]
    return len(texts) > 1 and all("unsqueeze" in one or "None" in one for one in texts)


_MANY_ROWS = 10


def _draws_rows(call: Call, death: Death) -> bool | dict[str, str]:
    """Whether rows of random numbers are drawn that nothing trains."""
    rows = call.node.args[0] if len(call.node.args) == 2 and not goes_backward(death.code) else None
    known = None if rows is None else death.values.number(rows, call.scope)
    if rows is None or (known is not None and known < _MANY_ROWS):
        return False
    return {"rows": call.scope.segment(rows), "columns": call.scope.segment(call.node.args[1])}


def _copies_windows(call: Call, death: Death) -> bool:
    """Whether windows that overlap, a view of `unfold`, are copied as a whole."""
    node: ast.expr | None = call.node
    for _ in range(_MOST_LINKS):
        match node:
            case ast.Call(func=ast.Attribute(attr="unfold"), args=[_, size, step]):
                return call.scope.segment(size) != call.scope.segment(step)
            case ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case ast.Name() | ast.Attribute():
                found = Origins(death.code).of(node, call.scope)
                node = found[0].node if len(found) == 1 else None
            case _:
                return False
    return False


def _longer_each_time(call: Call, _death: Death) -> bool | dict[str, str]:
    """Give the attribute that a method makes longer by itself, each time it is called."""
    match call.statement, call.node.args[:1]:
        case ast.Assign(targets=[ast.Attribute() as kept]), [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
            name = call.scope.segment(kept)
            if name in map(call.scope.segment, parts) and not call.scope.loops_around(call.node):
                return {"kept": name}
    return False


WAYS = (
    LesserWay(
        ("numpy.concatenate", "numpy.vstack", "numpy.hstack", "torch.cat", "pandas.concat"),
        "Add to the original, not to what was made longer before",
        "is longer each time the method is called: it begins with what the last call made.",
        "# in __init__: {kept}_first = …, the original\n"
        "{kept} = {function}([{kept}_first, new])  # as long after the hundredth call as after the first\n\n"
        "# of a data set: change what __getitem__ gives, one batch at a time, and keep the original alone",
        Case(
            "import numpy as np\nclass Data:\n    def __init__(self, x): self.x = x\n    def on_epoch_end(self):\n"
            "        self.x = np.concatenate([self.x, self.x[:, ::-1]])",
            "data = Data(np.ones((9000, 900)))\nfor epoch in range(99):\n    data.on_epoch_end()",
        ),
        _longer_each_time,
        silent=(Case("import numpy as np", "x = np.concatenate([x, y])"),),
    ),
    LesserWay(
        (".reshape", ".contiguous", ".clone", ".flatten"),
        "Keep the windows a view, and copy some of them at a time",
        "copies every window, though they overlap: most numbers are there many times.",
        "for row in {owner}:  # a view of the whole: no copy\n"
        "    part = row.reshape(-1, *row.shape[-3:])  # the windows of one row, in your shape: work on them here\n\n"
        "# or a larger step in unfold (twice as large: a fourth of the windows); or cut one in a Dataset's __getitem__",
        Case(
            "import torch\nimage = torch.rand(3, 2000, 2000)",
            "w = image.unfold(1, 64, 8).unfold(2, 64, 8)\np = w.permute(1, 2, 0, 3, 4).reshape(-1, 3, 64, 64)",
        ),
        _copies_windows,
        silent=(
            "w = image.unfold(1, 64, 64).unfold(2, 64, 64)\np = w.reshape(-1, 3, 64, 64)",
            "p = image.reshape(-1)",
        ),
    ),
    LesserWay(
        ("torch.cat", "torch.concat", "torch.concatenate"),
        "Score the pairs without joining their rows: two products, broadcast",
        "holds the rows of both sides for each pair of rows.",
        "d = {rows}.shape[1]  # a linear score of two joined rows is the sum of two scores\n"
        "scores = ({rows} @ {weight}[:d]).{first} + ({rows} @ {weight}[d:]).{second}  # no rows of pairs\n\n"
        "src, dst = adj.nonzero().T  # of a graph, the neighbours only: a number for each edge\n"
        "scores = {rows}[{i}] @ {weight}[:d] + {rows}[{j}] @ {weight}[d:]",
        Case(
            "import torch",
            "def scores(h, a, n):\n    left = h.repeat_interleave(n, dim=0)\n"
            "    pairs = torch.cat([left, h.repeat(n, 1)], dim=1)\n    return (pairs @ a).view(n, n)",
            "s = scores(x, a, 9000)",
            says=("(h @ a[:d]).reshape(-1, 1) + (h @ a[d:]).reshape(1, -1)", "h[src] @ a[:d] + h[dst]"),
        ),
        _joins_all_pairs,
    ),
    LesserWay(
        ("torch.zeros",),
        "Keep only the entries that are not zero: a sparse tensor",
        "has a number for each pair, nearly all of them zero.",
        "pairs = {pairs}.unique(dim=1)  # each pair once\n"
        "{to} = torch.sparse_coo_tensor(pairs, torch.ones(pairs.shape[1]), ({n}, {n}))\n"
        "product = torch.sparse.mm({to}, x)  # a degree of each row: torch.sparse.sum({to}, 1).to_dense()",
        Case(
            "import torch",
            "def matrix(e, n):\n    A = torch.zeros(n, n)\n    A[e[0], e[1]] = 1\n    return A",
            "a = matrix(e, 50_000)",
            says=("torch.stack([e[0], e[1]]).unique(dim=1)", "torch.sparse.mm(A, x)"),
        ),
        _is_square_of_few,
        silent=(Case("import torch", "A = torch.zeros(n, n)\nA[i, j] = weights", line=1),),
    ),
    LesserWay(
        ("torch.mm", "torch.matmul"),
        "Compare a block of rows at a time",
        "makes a number for each pair of rows at once.",
        "nearest = [(part @ {a1}).topk(5, dim=1) for part in {of0}.split(256)]  # keep of each block what is used\n"
        "values = torch.cat([one.values for one in nearest])\nrows = torch.cat([one.indices for one in nearest])",
        Case("import torch", "s = torch.mm(Q, bank.t())"),
        _of_pairs,
    ),
    LesserWay(
        ("torch.cdist",),
        "Compare some rows at a time",
        "makes the table of all pairs at once.",
        "nearest = torch.cat([torch.cdist(part, {a1}).topk(5, largest=False).indices for part in {of0}.split(1000)])\n"
        "total = sum(torch.cdist(part, {a1}).sum() for part in {of0}.split(1000))  # or a sum over all pairs",
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
        ),
        _by_its_rows,
    ),
    LesserWay(
        (
            *("torch.cat", "torch.concat", "torch.vstack", "torch.hstack"),
            *("jax.numpy.concatenate", "jax.numpy.vstack", "tensorflow.concat"),
        ),
        "Keep less of each batch, and join once, after the loop",
        "copies all that came before in each round, and keeps the whole of each batch.",
        "kept = []  # before the loop; in it, what is used of the output later (tf.argmax in TensorFlow):\n"
        "kept.append(output.argmax(-1))\n"
        "result = {function}(kept)  # after it, with your other arguments",
        Case("import torch", "for x in xs:\n    k = x if k is None else torch.cat((k, net(x)))"),
        _joins_its_own,
    ),
    LesserWay(
        ("torch.nn.functional.cosine_similarity", "torch.cosine_similarity", "torch.nn.functional.pairwise_distance"),
        "Multiply normalized rows, a block at a time: F.normalize(x) @ F.normalize(x).T",
        "spreads out both, and makes as many numbers for each pair as a row has.",
        "unit = torch.nn.functional.normalize(x, dim=-1)  # x: the rows, before they are spread out\n"
        "for at in range(0, len(unit), 1000):\n    part = unit[at : at + 1000] @ unit.T  # one number for each pair\n"
        "    i, j = torch.where(part > 0.9)  # keep what is needed; i + at is the first of the pair\n\n"
        "# distances: torch.cdist(x[at : at + 1000], x)",
        Case(
            "import torch\nfrom torch.nn import functional as F",
            "sim = F.cosine_similarity(x.unsqueeze(1), x.unsqueeze(0), dim=-1)",
        ),
        _is_spread_out,
    ),
    LesserWay(
        ("torch.randn", "torch.rand"),
        "Draw each row when it is needed, from a seed of its own",
        "draws all rows before the first is used.",
        "def row(seed):  # the same numbers each time it is asked: nothing has to be kept\n"
        "    return {function}({columns}, generator=torch.Generator().manual_seed(seed))\n\n"
        "for seed in range({rows}):\n    ...  # use row(seed), and again later; keep a sum. Each round: other seeds",
        Case("import torch", "noise = torch.randn(population, w.numel())", says=("range(population)", "manual_seed")),
        _draws_rows,
    ),
)
