import ast

from ...edits import drop_argument
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.step_growth import grows_by_the_step

_STEP = "import torch\nfor x in xs:\n    opt.zero_grad({})\n    net(x).mean().backward()\n    opt.step()"


class ZeroGradSetToNone(Fix):
    """Give gradients back before the next forward pass.

    What it does: `zero_grad(set_to_none=False)` fills the gradients with zeros, and keeps their memory: as much as the
    parameters take. Without the argument the gradients are given back until the backward pass makes them anew.

    When it is offered: Memory ran out in a training whose `zero_grad` is told to keep them.

    What it costs: `p.grad` is None between `zero_grad()` and `backward()`; code that reads it there has to expect that.
    """

    id, title = "zero-grad-set-to-none", "Give gradients back before the next forward pass: zero_grad()"
    causes = OUT_OF_MEMORY

    FIRES = [Case(_STEP.format("set_to_none=False"), says=("opt.zero_grad()",))]
    SILENT = [
        Case(_STEP.format("")),
        Case(_STEP.format("set_to_none=False"), growth="jump", line=1),
        Case("import torch\nkept = []\n" + _STEP.format("set_to_none=False") + "\n    kept.append(net(x))"),
        Case(_STEP.format("set_to_none=False") + "\n    print(net.weight.grad)"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if not death.memory.grew_here or death.growth.is_steady or grows_by_the_step(code):
            return
        for scope in code.running:
            if any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in scope.nodes):
                continue
            for node in scope.calls:
                call = Call(node, scope, "torch.optim.Optimizer.zero_grad")
                told = call.argument("set_to_none")
                loops = scope.loops_around(node)
                around = loops[-1] if loops else call.statement
                if isinstance(told, ast.Constant) and told.value is False and death.was_running(around, scope):
                    why = f"{quote(call.text)} keeps gradients as large as all parameters while the network runs."
                    yield Proposal(drop_argument(call, "set_to_none"), why, (death.memory.missing_bytes or 0) // 5)
