import ast

from ...code.trees import unparse, walk
from ...edits import insert_after, remove
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\nopt = torch.optim.Adam(net.parameters())"
_EACH_ROUND = (
    "for i, (x, y) in enumerate(loader):\n    opt.zero_grad()\n    loss = lossf(net(x), y)\n    loss.backward()\n"
    "    if (i + 1) % 4 == 0:\n        opt.step()\nprint('done')"
)
_AFTER_THE_STEP = (
    "for i, (x, y) in enumerate(loader):\n    loss = lossf(net(x), y)\n    loss.backward()\n"
    "    if (i + 1) % 4 == 0:\n        opt.step()\n        opt.zero_grad()\nprint('done')"
)


class GradientAccumulationRepair(Fix):
    """Empty the gradient after the step of the optimizer, not before each backward pass.

    What it does: A loop that makes a step every few batches wants the gradient of all of them. `zero_grad()` in each
    round leaves only that of the last one. The edit moves it behind `step()`.

    When it is offered: Memory ran out in a PyTorch loop that accumulates the gradient so. It frees no memory, so other
    fixes come first; smaller batches, which need the accumulation, are worth little without it.

    What it costs: The training changes, as it was meant to. Where the loss is not divided by the number of batches, the
    gradient is that many times larger.
    """

    id, title = "gradient-accumulation-repair", "Accumulate the gradient: empty it after the step, not in each round"
    causes, general = OUT_OF_MEMORY, True

    FIRES = [Case(_NET, _EACH_ROUND, says=("the last batch alone", "opt.step()"))]
    SILENT = [
        Case(_NET, _AFTER_THE_STEP),
        Case(_NET, _EACH_ROUND.replace("opt.zero_grad()", "other.zero_grad()")),
        Case(_NET, _EACH_ROUND.replace("(i + 1) % 4 == 0", "loss.isfinite()")),
        Case(_NET, _EACH_ROUND.replace("    loss.backward()", "    loss.backward()\n    opt.step()")),
    ]

    def propose(self, death: Death) -> Proposals:
        for loop, scope in (
            death.code.running.nodes(ast.For) if death.memory.grew_here and death.code.imports("torch") else ()
        ):
            if (found := _in_each_round(loop, scope)) is not None:
                zero, step = found
                call = scope.segment(zero)
                why = (
                    f"{quote(call)} runs in each round, and {quote(scope.segment(step))} only in some: the step "
                    "sees the last batch alone. Divide the loss by the number of batches, where that is not done."
                )
                yield Proposal((*remove(scope, zero), *insert_after(scope, step, call)), why)


def _in_each_round(loop: ast.For, scope: Scope) -> tuple[ast.stmt, ast.stmt] | None:
    """Return `zero_grad()` of the loop itself, and the only `step()` of that optimizer, below a condition on `%`."""
    for zero, of in ((one, _of(one, "zero_grad")) for one in loop.body):
        steps = [one for one in scope.inside(loop) if isinstance(one, ast.stmt) and of and _of(one, "step") == of]
        counted = [
            one
            for condition in loop.body
            if isinstance(condition, ast.If) and any(isinstance(part, ast.Mod) for part in walk(condition.test))
            for one in condition.body
            if _of(one, "step") == of
        ]
        if len(steps) == 1 and steps == counted:
            return zero, steps[0]
    return None


def _of(statement: ast.stmt, method: str) -> str | None:
    """Return "opt" of the statement `opt.zero_grad()`; None for another one."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr=name))) if name == method:
            return unparse(of)
    return None
