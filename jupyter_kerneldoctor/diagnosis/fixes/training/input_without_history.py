import ast

from ...edits import drop_argument
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.gradients import goes_backward
from ...place import grew_in

_KEEPS = ("create_graph", "retain_graph")
_ATTACK = (
    "import torch\ndef attack(net, x, y):\n    for _ in range(40):\n        cost = crit(net(x), y)\n"
    "        g = torch.autograd.grad(cost, x{})[0]\n        x = x + 0.01 * g.sign()\n    return x"
)


class InputWithoutHistory(Fix):
    """Let each step on an input begin without the graph of the steps before.

    What it does: An attack, a style transfer or a sampler changes its input by the gradient, again and again. With
    `create_graph=True` or `retain_graph=True` the graph of every step stays, as the next input is made of it. The edit
    takes that argument out; `detach()` cuts the input off from all steps before.

    When it is offered: Memory ran out in such a loop, the input of a round is made of the gradient of the round before,
    and nothing calls `backward()`.

    What it costs: Nothing, unless gradients through the steps themselves are wanted.
    """

    id, title = "input-without-history", "Begin each step on the input without its history: detach()"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            _ATTACK.format(", create_graph=True"),
            "for x, y in xs:\n    adv = attack(net, x, y)",
            becomes={1: _ATTACK.format("")},
            says=("x = x.detach().requires_grad_(True)", "create_graph"),
        )
    ]
    SILENT = [
        Case(_ATTACK.format(""), "adv = attack(net, x, y)"),
        Case(_ATTACK.format(", create_graph=True"), "attack(net, x, y).mean().backward()"),  # they are wanted
        Case(_ATTACK.format(", create_graph=True").replace("x = x +", "z = x +"), "adv = attack(net, x, y)"),
        Case(_ATTACK.format(", create_graph=True").replace("g.sign()", "f(x)"), "adv = attack(net, x, y)"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here or goes_backward(death.code):
            return
        found = [one for one in death.code.running.calls("torch.autograd.grad") if _keeps(one)]
        for call in found if len(found) == len([*death.code.running.calls("torch.autograd.grad")]) else ():
            loop, given = next(iter(call.scope.loops_around(call.node)), None), call.argument("inputs", 1)
            if loop is None or not isinstance(given, ast.Name) or grew_in(death, loop, call.scope) is False:
                continue
            if not _is_made_of(given.id, call, loop, call.scope) or not death.was_running(loop, call.scope):
                continue
            why = f"{quote(call.text)} keeps the graph of the step, and the next {quote(given.id)} is made of it: each "
            why += "round keeps those of all before."
            edits = tuple(one for name in _keeps(call) for one in drop_argument(call, name))
            snippet = f"{given.id} = {given.id}.detach().requires_grad_(True)  # first in the loop"
            yield Proposal(edits, why, death.memory.missing_bytes, snippet=snippet)


def _keeps(call: Call) -> list[str]:
    """Return the arguments by which a call keeps its graph."""
    given = {word.arg: getattr(word.value, "value", None) for word in call.node.keywords}
    return [name for name in _KEEPS if given.get(name) is True]


def _is_made_of(name: str, call: Call, loop: ast.stmt, scope: Scope) -> bool:
    """Whether the loop makes the input of the next round of itself and the gradient."""
    gradients = scope.assigned_by(call.node)
    for node in scope.inside(loop):
        match node:
            case ast.Assign(targets=[ast.Name(id=made)], value=value) if made == name:
                used = {one.id for one in scope.inside(value) if isinstance(one, ast.Name)}
                if name in used and used & gradients:
                    return ".detach()" not in scope.segment(value)
    return False
