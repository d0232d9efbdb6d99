import ast

from ...code.literals import number
from ...edits import append
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.kept_graphs import KeptGraph, kept_graphs, kept_losses
from ...frameworks.torch import Tensors
from ...frameworks.without_graph import without_graph
from ...units import of_size, share_of

_FREED_STEP_BYTES = 16_000  # what a kept loss holds after backward(): 9.4 to 13.5 kB measured for ten layers
_FASTEST_STEP_S = 0.001  # a forward and a backward pass are not faster
_MODEL = "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []"


class DetachAccumulatedLoss(Fix):
    """Keep the number, not the tensor, when a loop collects its losses.

    What it does: A PyTorch loss remembers how it was computed: through it, all activations of its step stay in memory.
    A list of losses keeps them for every step. The edit writes `loss.item()`, which is a plain number, or
    `loss.detach()` where other cells go on using the collected values as tensors.

    When it is offered: A loop collects or adds up losses that still hold their graph, and memory grew little by little
    while it ran. After `backward()` the graph is freed and only some 10 kB a step remain, so the fix is silent unless
    that number of steps can have made up a tenth of the missing memory. It is also silent when `backward()` starts from
    the sum.

    What it costs: Code after the loop gets numbers in place of tensors. On a GPU, `item()` waits for the step to
    finish.
    """

    id, title, causes = "detach-accumulated-loss", "Keep the number, not the tensor: loss.item()", OUT_OF_MEMORY

    FIRES = [
        Case(
            "import torch\nw = torch.randn(2000, 2000, requires_grad=True)\nkept = []",
            "for x in xs:\n    loss = torch.relu(x @ w).mean()\n    kept.append(loss)",
            becomes={"(loss)": "(loss.item())"},
            says=("all 1.8 GiB", "kept"),
        ),
        Case(
            "from torch import nn\nnet = nn.Linear(10, 2)\ncriterion = nn.MSELoss()\ntotal = 0",
            "%%time\nfor x, y in data:\n    total += criterion(net(x), y) / 2  # für später\n",
            becomes="%%time\nfor x, y in data:\n    total += (criterion(net(x), y) / 2).item()  # für später\n",
        ),
        Case(  # a running mean
            "from torch import nn\nnet = nn.Linear(10, 2)\ncriterion = nn.MSELoss()\nmean = 0.0",
            "for i, (x, y) in enumerate(data):\n    loss = criterion(net(x), y)\n"
            "    mean = (mean * i + loss) / (i + 1)",
            becomes={"+ loss": "+ loss.item()"},
        ),
        Case(  # the kept losses are tensors to the code behind the loop
            "import torch as t\nmodel = t.nn.Linear(9, 9)\nlog = {'loss': []}",
            "for x in xs:\n    l = t.nn.functional.mse_loss(model(x), x)\n    l.backward(retain_graph=True)\n"
            "    log['loss'].append(l)\nt.stack(log['loss'])",
            becomes={"(l)": "(l.detach())"},
        ),
        Case(
            "import torch\nclass Trainer:\n    def __init__(self):\n        self.model, self.losses = make(), []",
            "class Loud(Trainer):\n    def run(self, batches):\n        for x in batches:\n"
            "            loss = torch.square(self.model(x)).mean()\n            self.losses.append(loss)\n"
            "            loss.backward(retain_graph=True)\nLoud().run(batches)",
            becomes={"(loss)": "(loss.item())"},
        ),
        Case(  # another cell reads the newest as a tensor
            "import torch\nclass Run:\n    def __init__(self): self.net, self.log = torch.nn.Linear(9, 9), {'l': []}\n"
            "    def step(self, x):\n        loss = self.net(x).mean()\n        self.log['l'].append(loss)",
            "run = Run()\nfor x in xs:\n    run.step(x)\n    print(run.log['l'][-1].item())",
            becomes={"(loss)": "(loss.detach())"},
        ),
        Case(  # a callback gets the trainer
            "import torch\nclass Log:\n    def __init__(self): self.seen = []\n"
            "    def on_batch_end(self, trainer): self.seen.append(trainer.loss)",
            "class Run:\n    def __init__(self, logs): self.net, self.logs = torch.nn.Linear(9, 9), logs\n"
            "    def validate(self):\n        for x in xs:\n            self.loss = self.net(x).mean()\n"
            "            for log in self.logs: log.on_batch_end(self)",
            "Run([Log()]).validate()",
            becomes={"trainer.loss": "trainer.loss.item()"},
        ),
        Case(  # a running mean
            "import torch\nmodel = torch.nn.Linear(9, 9)\nmean = 0",
            "for x in xs:\n    loss = model(x).square().mean()\n    loss.backward(retain_graph=True)\n"
            "    mean = 0.9 * mean + 0.1 * loss",
            becomes={"0.1 * loss": "(0.1 * loss).item()"},
        ),
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nmean = None",
            "for x in xs:\n    loss = model(x).square().mean()\n    loss.backward(retain_graph=True)\n"
            "    mean = loss if mean is None else 0.9 * mean + 0.1 * loss",
            becomes="for x in xs:\n    loss = model(x).square().mean()\n    loss.backward(retain_graph=True)\n"
            "    mean = loss.item() if mean is None else 0.9 * mean + (0.1 * loss).item()",
        ),
        Case(  # the outputs hold the same graphs
            _MODEL + "\nouts = []",
            "for x in xs:\n    out = model(x)\n    outs.append(out)\n    losses.append(out.mean())",
            becomes="for x in xs:\n    out = model(x)\n    outs.append(out.detach())\n"
            "    losses.append(out.mean().item())",
        ),
    ]
    SILENT = [
        # backward() frees the graph: ten seconds of steps cannot leave 1.8 GiB behind
        Case(_MODEL, "for x in xs:\n    loss = model(x).sum()\n    loss.backward()\n    losses.append(loss)"),
        # two losses of one step are added up for backward(): that is how it is done
        Case(_MODEL, "for x in xs:\n    t = model(x).sum()\n    t = t + model(x).mean()\n    t.backward()"),
        # the sum is what the backward pass needs
        Case(_MODEL, "for x in xs:\n    losses.append(model(x).mean())\ntorch.stack(losses).sum().backward()"),
        # nothing says that this is PyTorch
        Case("losses = []", "for x in xs:\n    loss = model(x).mean()\n    losses.append(loss)"),
        Case(_MODEL, "for x in xs:\n    loss = model(x).detach().mean()\n    losses.append(loss)"),
        Case(_MODEL, "with torch.no_grad():\n    for x in xs:\n        losses.append(model(x).mean())"),
        # one jump, not a ramp
        Case(_MODEL, "for x in xs:\n    losses.append(model(x).mean())\nbig = torch.zeros(10**9)", growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        found = kept_losses(death.code) if death.memory.grew_here else []
        ends = {".item()" if one.is_scalar and not one.is_used_as_tensor else ".detach()" for one in found}
        title = "Collect the losses without their graphs: loss.detach()" if ends == {".detach()"} else None
        explained = _explained_bytes(death, found)
        for one in found:
            end = ".item()" if one.is_scalar and not one.is_used_as_tensor else ".detach()"
            edits = append(one.kept.scope, one.kept.value, end)
            yield Proposal(edits, _why(death, one, end, explained), explained, title)
        if not all(one.is_freed for one in found):  # an output that stays holds the graph of its loss, too
            for one in kept_graphs(death.code):
                if not (one.is_loss or one.is_freed):
                    edits, _ = without_graph(one.kept.value, one.kept.scope, Tensors(death.code))
                    yield Proposal(edits, "", explained)


def _explained_bytes(death: Death, found: list[KeptGraph]) -> int:
    """Return the ramp; when each graph is freed, only what the steps can have left behind."""
    ramp = death.memory.ramp_bytes
    if not all(one.is_freed for one in found):
        return ramp
    steps = (death.memory.running_s or 0.0) / _FASTEST_STEP_S
    rounds = [_rounds(one.kept.loops[0]) for one in found]
    known = [one for one in rounds if one is not None]
    if known and len(known) == len(rounds):
        steps = min(steps, max(known))
    return min(ramp, int(steps * _FREED_STEP_BYTES))


def _rounds(loop: ast.AST) -> int | None:
    """Return how often a loop over `range(<number>)` runs."""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[last])):
            return number(last)
    return None


def _why(death: Death, found: KeptGraph, end: str, explained: int) -> str:
    missing, text = death.memory.missing_bytes or 0, found.kept.scope.segment(found.kept.value)
    kept = f"Each round of the loop keeps {quote(text)} in {quote(found.kept.container)}"
    if found.is_freed:
        held = "each still holds 10 kB after `backward()`"
        return f"{kept}, and {held}. That accounts for at most {of_size(explained, missing)}."
    what = "a plain number" if end == ".item()" else "the value alone"
    after = text if isinstance(found.kept.value, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({text})"
    return (
        f"{kept}, with all its intermediate results. That accounts for "
        f"{share_of(explained, missing)} that the cell took. {quote(after + end)} keeps {what}."
    )
