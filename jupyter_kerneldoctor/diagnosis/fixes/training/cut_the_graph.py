from ...code.calls import last_name
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.unrolled_loops import unrolled_loops
from ...place import grew_in
from ...unrolled import rounds_of

_HELD = 0.3  # of the growth: an object of that size explains it without a graph
_TORCH = (
    "{name} = {name}.detach(){again}  # first in the loop, where no gradient has to reach the rounds before\n\n"
    "with torch.no_grad():  # around the loop, where no gradient is wanted at all; or around all rounds but the last\n"
    "    ...\n\n"
    "{name} = checkpoint(rounds, {name}, use_reentrant=False)  # or through all rounds: rounds() does 100 of them,\n"
    "# and they are worked out again in the backward pass; from torch.utils.checkpoint import checkpoint"
)
_CREATED = "\n# torch.autograd.grad(...) without create_graph=True: no gradient of the gradient is kept"
_TF = (
    "{name} = tf.nest.map_structure(tf.stop_gradient, {name})  # first in the loop: cut off from the rounds before\n"
    "with tf.GradientTape() as tape:  # inside of the loop, around the rounds of one gradient; not persistent\n"
    "    ...\n\n"
    "rounds = tf.recompute_grad(rounds)  # or through all rounds: a function that does 100 of them"
)
_RUN = "import torch\nw = torch.ones(9, requires_grad=True)"
_LOOP = "x = start\nfor i in range(90_000):\n    x = x + 0.1 * (w * x)"


class CutTheGraph(Fix):
    """Cut the graph between the rounds of a loop, or work rounds out again.

    What it does: Where each round goes on from what the round before it worked out, and gradients are recorded, the
    newest value holds on to all rounds. `detach()` cuts it off, `no_grad()` records nothing, and `checkpoint` keeps
    only where each piece began.

    When it is offered: Memory grew little by little in a loop that works a tensor out of itself, while PyTorch or
    TensorFlow recorded that for gradients, and the loop has no backward pass.

    What it costs: Behind a cut, gradients reach back to it and no further. `checkpoint` takes a third more time.
    """

    id, causes = "cut-the-graph", OUT_OF_MEMORY
    title = "Cut the graph between the rounds, or work rounds out again: detach(), no_grad(), checkpoint"
    unless_offered = frozenset(
        {
            *("drop-retain-graph", "detach-accumulated-loss", "detach-collected-outputs", "no-grad-evaluation"),
            *("tape-in-the-loop", "pieces-of-the-sequence", "backward-each-batch", "input-without-history"),
        }
    )

    FIRES = [
        Case(_RUN, _LOOP, line=3, says=("x = x.detach()", "checkpoint(rounds, x")),
        Case(
            _RUN,
            "v = start\nfor i in range(900):\n    g = torch.autograd.grad(f(v, w), w, create_graph=True)[0]\n"
            "    v = v + 0.1 * g",
            line=3,
            says=("v = v.detach().requires_grad_()", "without create_graph"),
        ),
        Case(  # a solver within the loss; `v` goes on by way of `u`
            _RUN + "\nclass Plan(torch.nn.Module):\n    def __init__(self, n=200): self.n = n\n"
            "    def forward(self, C):\n        K, v = torch.exp(-C), torch.ones(9)\n        for _ in range(self.n):\n"
            "            u = 1 / (K @ v)\n            v = 1 / (K.T @ u)\n        return u",
            "plan = Plan()\nfor x in xs:\n    plan((x * w) ** 2).sum().backward()",
            line=3,
            says=("`v = 1 / (K.T @ u)`", "all 200 rounds", "all rounds but the last"),
        ),
        Case(
            "import tensorflow as tf\nw = tf.Variable(1.0)",
            "with tf.GradientTape() as t:\n    for i in range(5000):\n        x = tf.tanh(x * w)\ng = t.gradient(x, w)",
            line=3,
            says=("map_structure(tf.stop_gradient, x)",),
        ),
    ]
    SILENT = [
        Case("import torch", _LOOP, line=3),  # nothing has a gradient
        Case(_RUN, "v = w.detach()\nfor i in range(900):\n    v = search.step(v)", line=3),
        Case(_RUN, _LOOP.replace("x = x +", "y = x +"), line=3),
        Case(_RUN, "with torch.no_grad():\n    for i in range(9):\n        x = x + w * x", line=3),
        Case(_RUN, _LOOP + "\n    x.sum().backward()\n    x = x.detach()", line=3),
        Case(_RUN, "n = 0\nfor x in xs:\n    n = n + f(x).item()", line=3),
        Case(_RUN, "total = 0 * w\nfor x in xs:\n    loss = (x * w).sum()\n    total = total + loss", line=4),
        Case(_RUN, "h = w * x\nfor layer in layers:\n    h = torch.relu(layer(h))", line=3),
        Case(_RUN, _LOOP, line=3, growth="jump"),
        Case("import tensorflow as tf\nw = tf.Variable(1.0)", "for t in range(5000):\n    x = tf.tanh(x * w)", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        code, growth = death.code, death.growth
        if not (death.memory.grew_here and growth.goes_on) or growth.is_held(_HELD):
            return
        for found in unrolled_loops(code):
            scope, loop, calls = found.scope, found.loop, found.calls
            if not death.was_running(loop, scope) or grew_in(death, loop, scope) is False:
                continue
            rounds = rounds_of(loop, scope, death)
            made = " ".join(scope.segment(found.made).split())
            all_of_them = f"all {rounds} rounds" if rounds else "all rounds"
            why = (
                f"{quote(made)} goes on from what the round before it worked out. Gradients are recorded, so the "
                f"newest value holds on to {all_of_them}. Half as many keep half as much."
            )
            grads = any(last_name(one.func) == "grad" for one in calls)
            snippet = (_TORCH if found.of_torch else _TF).format(
                name=found.name, again=".requires_grad_()" if grads else ""
            )
            created = grads and any(word.arg == "create_graph" for one in calls for word in one.keywords)
            yield Proposal((), why, death.memory.ramp_bytes, snippet=snippet + (_CREATED if created else ""))
            return
