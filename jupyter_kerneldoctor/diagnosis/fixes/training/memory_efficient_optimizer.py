import ast

from ...code.calls import last_name
from ...code.notebook import Notebook
from ...code.origins import Origins
from ...edits import Changes, EditRefusedError, drop_argument, replace
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.step_growth import grows_by_the_step
from ...place import grew_in

_OPT = "import torch\nnet = torch.nn.Linear(9, 9)\n"
_STATES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "RMSprop": 1, "Adagrad": 1}
"""How many numbers an optimizer keeps for each parameter."""
_PLAIN = ("lr", "weight_decay", "params", "maximize")


class MemoryEfficientOptimizer(Fix):
    """Use an optimizer that keeps less for each parameter.

    What it does: Adam keeps two numbers for each parameter from the first `step()` on: twice the size of the network.
    SGD without momentum keeps none. For large embeddings, `nn.Embedding(..., sparse=True)` also makes the gradient
    small, with SGD or `torch.optim.SparseAdam`; `torch.optim.Adafactor` keeps a row and a column of each matrix.

    When it is offered: Memory ran out in the `step()` of such an optimizer.

    What it costs: The training takes another course, and the learning rate has to be found anew: SGD usually needs a
    larger one.
    """

    id, title = "memory-efficient-optimizer", "Use an optimizer that keeps nothing for each parameter: SGD"
    causes = OUT_OF_MEMORY

    unless_offered = frozenset({"drop-state-dict", "release-before-rebind"})

    FIRES = [
        Case(
            _OPT + "opt = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99))",
            "net(x).mean().backward()\nopt.step()",
            line=2,
            becomes={1: _OPT + "opt = torch.optim.SGD(net.parameters(), lr=1e-3)"},
            says=("Adam", "sparse=True"),
        ),
        Case(
            "from torch import nn, optim\nnet = nn.Linear(9, 9)\nclass T:\n    def __init__(self):\n"
            "        self.opt = optim.AdamW(net.parameters())\n",
            "t = T()\nt.opt.step()",
            line=2,
            becomes={"AdamW": "SGD"},
        ),
    ]
    SILENT = [
        *(
            Case(
                f"{_OPT}opt = torch.optim.Adam(net.parameters())\n{more}",
                "net(x).mean().backward()\nopt.step()",
                line=2,
            )
            for more in (
                "s = torch.optim.lr_scheduler.OneCycleLR(opt, 1, 9)",
                "opt.load_state_dict(torch.load('a.pt'))",
            )
        ),
        Case(_OPT + "opt = torch.optim.Adam(net.parameters())", "net(x).mean().backward()\nopt.step()", line=1),
        Case(  # each step leaves memory behind
            _OPT + "opt = torch.optim.Adam(net.parameters())\nseen = []",
            "for x in xs:\n    net(x).mean().backward(); opt.step()\n    seen.append(net.weight.clone())",
            line=2,
        ),
        Case(_OPT + "opt = torch.optim.SGD(net.parameters(), lr=1)", "opt.step()", line=1),
        Case(_OPT + "opt = torch.optim.Adam(net.parameters())", "for x in xs:\n    opt.step()"),  # nobody saw where
    ]

    def propose(self, death: Death) -> Proposals:
        origins, code = Origins(death.code), death.code
        is_leak = death.growth.is_steady or grows_by_the_step(code)
        for scope in code.running if death.memory.grew_here and not is_leak else ():
            for node in scope.calls:
                match node:
                    case ast.Call(func=ast.Attribute(attr="step", value=owner)):
                        if not grew_in(death, node, scope):
                            continue
                    case _:
                        continue
                for made, home in origins.of(owner, scope):
                    name = code.qualified(made.func, home) if isinstance(made, ast.Call) else None
                    kind = (name or "").removeprefix("torch.optim.")
                    if isinstance(made, ast.Call) and kind in _STATES and f"torch.optim.{kind}" == name:
                        call = Call(made, home, f"torch.optim.{kind}")
                        if _counts_on_its_state(call, code):
                            continue
                        many = "two numbers" if _STATES[kind] == 2 else "a number"
                        why = (
                            f"{quote(call.text)} keeps {many} more for each parameter, made by the first "
                            f"{quote(scope.segment(node))}. SGD without momentum keeps none; it needs a learning rate "
                            "of its own. Of a large `nn.Embedding`, `sparse=True` makes the gradient small, too."
                        )
                        yield Proposal(_becomes_sgd(call, home, kind), why, death.memory.missing_bytes)
                        return


def _counts_on_its_state(call: Call, code: Notebook) -> bool:
    """Whether code needs what SGD does not have: a schedule of the momentum, a saved state, a number of Adam's own."""
    names = call.scope.assigned_by(call.node)
    restored = (one for scope in code.scopes_mentioning("load_state_dict") for one in scope.calls)
    if any(
        isinstance(one.func, ast.Attribute)
        and one.func.attr == "load_state_dict"
        and last_name(one.func.value) in names
        for one in restored
    ):
        return True
    return code.has_words("OneCycleLR", "CyclicLR", "exp_avg") or code.has_text("['betas']", '["betas"]', "'betas':")


def _becomes_sgd(call: Call, home: Scope, kind: str) -> Changes:
    text = home.segment(call.node.func)
    if len(call.node.args) > 2 or not text.endswith(f".{kind}"):
        raise EditRefusedError("its class was imported by name, or its arguments have no names")
    edits = replace(home, call.node.func, f"{text.removesuffix(kind)}SGD")
    for word in call.node.keywords:
        if word.arg is not None and word.arg not in _PLAIN:
            edits += drop_argument(call, word.arg)
    return edits
