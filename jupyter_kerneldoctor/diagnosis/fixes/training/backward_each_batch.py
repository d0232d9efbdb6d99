import ast

from ...code.trees import walk
from ...edits import Changes, EditRefusedError, append, insert_before, remove, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.summed_losses import SummedLoss, grouped_losses, is_surely_apart, summed_losses
from ...frameworks.torch import Tensors

_NET = (
    "import torch\nnet, crit = torch.nn.Linear(9, 1), torch.nn.MSELoss()\n"
    "loader = torch.utils.data.DataLoader(data, 64)"
)
_EPOCH = "opt.zero_grad()\ntotal = 0.0\nfor x, y in batches(600):\n    {}\n    {}\n{}opt.step()"
_GROUPS = (
    "total = 0\n{}for i, (x, y) in enumerate(loader):\n    loss = crit(net(x), y) / 96\n    {}total = total + loss{}\n"
    "    if (i + 1) % 96 == 0:\n{}        opt.step()\n{}        total = 0"
)


class BackwardEachBatch(Fix):
    """Run the backward pass of each batch at once, not one for the sum of all.

    What it does: A sum of losses holds on to the intermediate results of every batch until `backward()` is through.
    Gradients add up by themselves: `loss.backward()` in each round gives the same gradient, and frees what the round
    needed. The edit divides each loss by what the sum was divided by, and keeps its number for the sum.

    When it is offered: Memory ran out in a loop that adds up losses, or collects them, for one `backward()` behind the
    loop, or for one after every so many rounds. Not where a round goes on from what an earlier one left, as the steps
    of a recurrent network do.

    What it costs: Nothing: there is one step of the optimizer as before, with the same gradient up to rounding.
    """

    id, title, causes = "backward-each-batch", "Run backward() for each batch: gradients add up", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET,
            _EPOCH.format("n = len(x)", "total = total + crit(net(x), y)  # all", "total.backward()\n"),
            becomes=_EPOCH.format(
                "n = len(x)",
                "batch_loss = crit(net(x), y)\n    batch_loss.backward()\n"
                "    total = total + batch_loss.detach()  # all",
                "",
            ),
            says=("total.backward()",),
        ),
        Case(
            _NET,
            "losses = []\nfor i, (x, y) in enumerate(loader):\n    loss = crit(net(x), y)\n    losses.append(loss)\n"
            "opt.zero_grad()\nmean = torch.stack(losses).mean()\nmean.backward()\nopt.step()\nprint(mean.item())",
            becomes="losses = []\nopt.zero_grad()\nfor i, (x, y) in enumerate(loader):\n    loss = crit(net(x), y)\n"
            "    (loss / len(loader)).backward()\n    losses.append(loss.detach())\n"
            "mean = torch.stack(losses).mean()\nopt.step()\nprint(mean.item())",
        ),
        Case(  # how many batches there will be is not known beforehand
            _NET,
            _EPOCH.format("n = 1", "total += crit(net(x), y)", "(total / seen).backward()\n").replace(
                "n = 1", "seen += 1"
            ),
            says=("(loss / number_of_rounds).backward()",),
        ),
        Case(  # views of the same rows
            _NET,
            "for x, y in loader:\n    losses = [crit(net(v), y) for v in views(x)]\n    loss = sum(losses) / 4\n"
            "    opt.zero_grad()\n    loss.backward()",
            says=("before the loop", "for v in views(x):", "loss = crit(net(v), y)", "(loss / 4).backward()"),
        ),
        Case(
            _NET,
            "def score(x, y):\n    return crit(net(x), y)",
            "loss = sum(score(x, y) for x, y in loader)\nloss.backward()",
            says=("for x, y in loader:", "    loss.backward()"),
        ),
        Case(  # it does not show what makes the losses
            _NET,
            "total = 0\nfor task in tasks:\n    total = total + outer_loss(task)\ntotal.backward()",
            says=("for task in tasks:", "loss = outer_loss(task)", "loss.backward()"),
        ),
        Case(  # a loss for each domain
            _NET,
            "losses = {}\nfor d, (x, y) in parts:\n    losses[d] = crit(net(x), y)\ntotal = sum(losses.values())\n"
            "total.backward()\nopt.step()",
            becomes="losses = {}\nfor d, (x, y) in parts:\n    batch_loss = crit(net(x), y)\n"
            "    batch_loss.backward()\n    losses[d] = batch_loss.detach()\ntotal = sum(losses.values())\nopt.step()",
        ),
        Case(  # a sum of some batches; what is left at the end was dropped, and is still
            _NET,
            _GROUPS.format("", "", "", "        total.backward()\n", "        opt.zero_grad()\n"),
            becomes=_GROUPS.format(
                "opt.zero_grad()\n", "loss.backward()\n    ", ".detach()", "", "        opt.zero_grad()\n"
            ),
            says=("many rounds",),
        ),
        Case(
            _NET,
            _GROUPS.format("", "", "", "        opt.zero_grad()\n        total.backward()\n", ""),
            becomes=_GROUPS.format(
                "opt.zero_grad()\n", "loss.backward()\n    ", ".detach()", "", "        opt.zero_grad()\n"
            ),
        ),
        Case(  # the sum goes by the same name when it is divided
            _NET,
            "total = 0\nfor x, y in loader:\n    total = total + crit(net(x), y)\n"
            "total = total / 9\ntotal.backward()\nstep()",
            becomes={
                "total = total + crit(net(x), y)": "batch_loss = crit(net(x), y)\n    (batch_loss / 9).backward()\n"
                "    total = total + batch_loss.detach()",
                "total.backward()\n": "",
            },
        ),
        Case(  # only some losses count
            _NET,
            "total = 0\nfor x, y in loader:\n    loss = crit(net(x), y)\n    if loss > 1: total += loss\n"
            "total.backward()\nstep()",
            becomes={
                ": total += loss\ntotal.backward()": ":\n        loss.backward()\n        total += loss.detach()",
            },
        ),
    ]
    SILENT = [
        Case(  # each sum begins with the one before
            _NET,
            "total = 0\nfor epoch in range(9):\n    for x, y in loader:\n        total = total + crit(net(x), y)\n"
            "    total = total / 9\n    total.backward()",
        ),
        Case(  # each loss is a vector, which has no backward()
            _NET,
            "losses = []\nfor x, y in loader:\n    losses.append(crit(net(x), y))\ntorch.cat(losses).mean().backward()",
        ),
        # the gradients are set to zero in each round
        Case(_NET, _GROUPS.format("", "opt.zero_grad()\n    ", "", "        total.backward()\n", "")),
        Case(_NET, _EPOCH.format("loss = crit(net(x), y)", "total += loss\n    loss.backward()", "")),
        Case(  # through time: each step goes on from the one before
            "import torch\ncell = torch.nn.GRUCell(9, 9)",
            "total = 0\nfor x in xs:\n    h = cell(x, h)\n    total = total + h.mean()\ntotal.backward()",
        ),
        Case(  # the graphs were made when the agent acted
            _NET,
            "losses = []\nfor p, r in zip(agent.log_probs, rewards):\n    losses.append(-p * r)\n"
            "torch.stack(losses).sum().backward()",
        ),
        Case(_NET, "out = net(X)\ntotal = 0\nfor k in range(9):\n    total = total + out[k].mean()\ntotal.backward()"),
        Case(
            _NET,
            _EPOCH.format("z = 1", "total = total + crit(net(x), y)", "total = total + reg(net)\ntotal.backward()\n"),
        ),
        Case(_NET, _EPOCH.format("z = 1", "total = total + crit(net(x), y)", "scaler.scale(total).backward()\n")),
        Case(_NET, _EPOCH.format("z = 1", "total += crit(net(x), y)", "total.backward()\n"), growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here:
            return
        tensors = Tensors(death.code)
        for found in (*summed_losses(tensors), *grouped_losses(tensors)):
            scope, backward = found.kept.scope, found.backward.node
            if not death.was_running(found.loop, scope) or not death.memory.ramp_bytes or _is_made_before(found):
                continue
            rounds = "all rounds" if found.fresh is None else "many rounds"
            why = (
                f"{quote(scope.segment(backward))} runs once for {rounds}, so {quote(found.kept.container)} keeps "
                f"what every batch needs for it; memory grew by {size(death.memory.ramp_bytes)}. Gradients add up by "
                "themselves from one `backward()` to the next."
            )
            try:
                edits = _edits(found) if is_surely_apart(found, tensors) else ()
            except EditRefusedError:
                edits = ()
            if not edits and _is_asked(found):
                continue
            yield Proposal(edits, why, death.memory.ramp_bytes, snippet=None if edits else _snippet(found))


def _is_asked(found: SummedLoss) -> bool:
    """Whether only the losses of some rounds are added: a snippet would not show which."""
    within = set(found.kept.scope.inside(found.loop))
    return any(isinstance(one, ast.If) and one in within for one in found.kept.scope.around(found.kept.value))


def _is_made_before(found: SummedLoss) -> bool:
    """Whether the rounds only multiply what an agent's steps have made before: `-log_prob * reward`."""
    return not any(isinstance(one, ast.Call) for one in walk(found.kept.value)) and not isinstance(
        found.kept.value, ast.Name
    )


def _edits(found: SummedLoss) -> Changes:
    """Return the edit. Raises EditRefusedError where it does not show what the sum is divided by."""
    scope, value = found.kept.scope, found.kept.value
    statement, own = scope.statement_of(value), scope.statement_of(found.backward.node)
    if statement is None or not (isinstance(own, ast.Expr) and isinstance(found.loop, ast.stmt)):
        raise EditRefusedError("the loop has no body")
    if found.divisor is None:
        raise EditRefusedError("it does not show what the sum is divided by")
    name = scope.segment(value) if isinstance(value, ast.Name) else "batch_loss"
    share = f"({name} / {found.divisor})" if found.divisor else name
    lines = [] if isinstance(value, ast.Name) else [f"{name} = {scope.segment(value)}"]
    changes = insert_before(scope, statement, *lines, f"{share}.backward()") + remove(scope, own)
    if found.zero_grad is not None:
        zero_grad, is_before = scope.segment(found.zero_grad), found.zero_grad.lineno < own.lineno
        changes += insert_before(scope, found.loop, zero_grad)
        changes += remove(scope, found.zero_grad) if found.fresh is None or is_before else ()
        changes += insert_before(scope, found.fresh, zero_grad) if found.fresh is not None and is_before else ()
    return changes + (append(scope, value, ".detach()") if not lines else replace(scope, value, f"{name}.detach()"))


def _snippet(found: SummedLoss) -> str:
    """Return the loop with the backward pass in it, where the edit is left to the user."""
    scope, value = found.kept.scope, " ".join(found.kept.scope.segment(found.kept.value).split())
    divisor = "number_of_rounds" if found.divisor is None else found.divisor
    share = f"(loss / {divisor})" if divisor else "loss"
    match found.loop:
        case ast.ListComp(generators=[one, *_]) | ast.GeneratorExp(generators=[one, *_]):
            head = f"for {scope.segment(one.target)} in {scope.segment(one.iter)}:"
        case _:
            head = scope.segment(found.loop).split("\n")[0]
    first = "" if found.zero_grad is None else f"{scope.segment(found.zero_grad)}  # before the loop\n"
    made = "...  # as before" if value == "loss" else f"loss = {value}"
    return (
        f"{first}{head}\n    {made}\n"
        f"    {share}.backward()  # what is kept of it: loss.detach()\n\n"
        "# behind the loop only the step: no backward() there"
    )
