import ast

from ...code.origins import Origins, all_origins
from ...edits import append
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.torch import Kind, Tensors
from ...place import guilty_place

_MOST = 0.7  # of the growth: a layer that gives one number for each row makes less than the layers before it
_LOSSES = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_NET = "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))\n"
_LOSS = "def mse(pred, target):\n    return ((pred - target) ** 2).mean()"
_STEP = "for epoch in range(9):\n    out = net(X)\n    loss = {}\n    loss.backward()"


class PredictionLikeTarget(Fix):
    """Give the prediction the shape of the target.

    What it does: A network with one output gives a column, `(n, 1)`. Its difference to a target of shape `(n,)` has a
    number for each pair of rows, `n` times `n`, and the loss is the mean over all pairs: wrong, too. The edit gives the
    prediction the shape of the target.

    When it is offered: Memory ran out nearly all in the line of the loss, where what a network with one output gives is
    compared with a target, and nothing changes its shape before. The layers themselves would have taken more.

    What it costs: Nothing. Where both have the same shape it changes nothing.
    """

    id, title = "prediction-like-target", "Give the prediction the shape of the target: reshape_as"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET,
            _STEP.format("((out - y) ** 2).mean()"),
            line=3,
            becomes=_STEP.format("((out.reshape_as(y) - y) ** 2).mean()"),
            says=("each pair of rows",),
        ),
        Case(
            _NET + "crit = nn.MSELoss()",
            _STEP.format("crit(out, y)"),
            line=3,
            becomes=_STEP.format("crit(out.reshape_as(y), y)"),
        ),
        Case(
            "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.out = nn.Linear(9, 1)\n"
            "    def forward(self, x): return self.out(x)\nnet = Net()",
            _STEP.format("((out - y) ** 2).mean()"),
            line=3,
            becomes=_STEP.format("((out.reshape_as(y) - y) ** 2).mean()"),
        ),
    ]
    SILENT = [
        Case(_NET.replace("(32, 1)", "(32, 9)"), _STEP.format("((out - y) ** 2).mean()"), line=3),
        Case(_NET, _STEP.format("((out.squeeze(1) - y) ** 2).mean()"), line=3),
        Case(_NET, _STEP.replace("net(X)", "net(X).view(-1)").format("((out - y) ** 2).mean()"), line=3),
        Case(_NET, _STEP.format("((out - y) ** 2).mean()"), line=2),  # in the network
        Case(_NET, _STEP.format("((out - 1) ** 2).mean()"), line=3),
        Case(_NET, "loss = torch.nn.functional.mse_loss(net(X), y)", line=1),  # the layers grow in this line, too
        Case(_NET, _STEP.format("((out - y[:, None]) ** 2).mean()"), line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death) if death.memory.grew_here and death.code.imports("torch") else None
        if at is None or not _is_most(at.node.lineno, death):
            return
        for node in at.scope.inside(at.node):
            match node:
                case ast.BinOp(op=ast.Sub(), left=left, right=right):
                    pairs = [(left, right), (right, left)]
                case ast.Call(args=[left, right]) if _is_loss(node, at.scope, death):
                    pairs = [(left, right), (right, left)]
                case _:
                    continue
            for column, target in pairs:
                # a network in the line: its layers grow there, too
                runs_network = any(isinstance(one, ast.Call) for one in at.scope.inside(column))
                if runs_network and not _is_row(target, at.scope, death):
                    continue
                if _is_column(column, at.scope, death) and _may_be_row(target, at.scope, death):
                    text, other = at.scope.segment(column), at.scope.segment(target)
                    why = f"{quote(text)} is a column, one number for each row. If {quote(other)} has no second "
                    why += (
                        "dimension, each is compared with each: a number for each pair of rows, and the loss is wrong."
                    )
                    edits = append(at.scope, column, f".reshape_as({other})")
                    yield Proposal(edits, why, death.memory.missing_bytes)
                    return


def _is_most(line: int, death: Death) -> bool:
    """Whether nearly all that grew came in a line, where that was charged."""
    charged = death.growth.charged
    total = sum(one.bytes for one in charged)
    return not total or sum(one.bytes for one in charged if one.statement.line == line) >= _MOST * total


def _is_loss(call: ast.Call, scope: Scope, death: Death) -> bool:
    """Whether a call compares element by element: `F.mse_loss`, an `nn.MSELoss()`."""
    made = [one.node.func for one in all_origins(call.func, scope, death.code) if isinstance(one.node, ast.Call)]
    return any((death.code.described(one, scope) or "").endswith(_LOSSES) for one in (call.func, *made))


def _is_column(node: ast.expr, scope: Scope, death: Death, depth: int = 0) -> bool:
    """Whether an expression surely is what a network with one output gives, in its own shape."""
    if isinstance(node, ast.Name) and depth < 4:
        found = {id(one.node): one for one in Origins(death.code).of(node, scope)}.values()
        return bool(found) and all(_is_column(one.node, one.scope, death, depth + 1) for one in found)
    if not isinstance(node, ast.Call) or Tensors(death.code).kind(node.func, scope) is not Kind.MODULE:
        return False
    return _has_one_output(node.func, scope, death)


def _has_one_output(network: ast.expr, scope: Scope, death: Death, depth: int = 0) -> bool:
    """Whether the last layer of a network has one output: `nn.Linear(32, 1)`, also at the end of a `Sequential`."""
    code = death.code
    forward = Origins(code).called(network, scope)
    if forward is not None and depth < 4:
        given = [one.value for one in forward.nodes if isinstance(one, ast.Return)]
        calls = [one for one in given if isinstance(one, ast.Call) and len(given) == 1]
        return bool(calls) and all(_has_one_output(one.func, forward, death, depth + 1) for one in calls)
    made = [one for one in all_origins(network, scope, code) if isinstance(one.node, ast.Call)]
    for one, where in made[:1]:
        while (
            isinstance(one, ast.Call) and (code.qualified(one.func, where) or "").endswith(".Sequential") and one.args
        ):
            one = one.args[-1]  # noqa: PLW2901 - the last layer
        if isinstance(one, ast.Call) and code.qualified(one.func, where) == "torch.nn.Linear":
            sides = [*one.args[1:2], *(word.value for word in one.keywords if word.arg == "out_features")]
            return any(isinstance(side, ast.Constant) and side.value == 1 for side in sides)
    return False


def _is_row(node: ast.expr, scope: Scope, death: Death) -> bool:
    value = death.values.of(node, scope)
    return value is not None and len(value.shape) == 1


def _may_be_row(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a target is a tensor by its name, of which nothing says that it has a second dimension."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    value = death.values.of(node, scope)
    if value is not None and (value.number is not None or len(value.shape) > 1):
        return False
    for one, _ in all_origins(node, scope, death.code):
        match one:
            case ast.Constant() | ast.Call(func=ast.Attribute(attr="unsqueeze")):
                return False
            case ast.Call(func=ast.Attribute(attr="reshape" | "view"), args=[_, *_]):
                return False
            case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Constant(value=None)])):
                return False
    return True
