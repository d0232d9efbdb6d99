import ast

from ...edits import drop_argument, insert_before
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.gradients import backward_calls
from ...frameworks.recurrent import carried_lists, carried_states, kept_averages, kept_states
from ...frameworks.summed_losses import is_made_in
from ...frameworks.torch import Tensors
from ...units import enumeration

_NET = "import torch\nrnn, out = torch.nn.LSTM(9, 9), torch.nn.Linear(9, 9)\nhidden = None\n"
_STEP = "    y, hidden = rnn(x, hidden)\n    loss = out(y).mean()\n"
_OWN = (
    "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rnn = torch.nn.LSTM(9, 9)\n    def forward(self, x, state=None):\n        return self.rnn(x, state)\n"
    "    def begin(self, n):\n        return torch.zeros(1, n, 9), torch.zeros(1, n, 9)\nnet = Net()"
)

_BANK = "import torch\nenc = torch.nn.Linear(9, 9)\nbank = torch.zeros(4, 9)"
_KEEPS = (
    "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rnn, self.h = torch.nn.GRU(9, 9), None\n    def forward(self, x):\n{cut}"
    "        y, self.h = self.rnn(x, self.h)\n        return y\n"
)

_CENTERS = (
    "import torch\nclass Centers(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.c = torch.zeros(9)\n    def forward(self, x):\n{cut}"
    "        self.c = 0.9 * self.c + 0.1 * x\n        return (x - self.c).mean()\n"
)


class DropRetainGraph(Fix):
    """Let the backward pass free the graph of its step.

    What it does: `backward(retain_graph=True)` keeps all intermediate results after the backward pass. Where the graph
    of a step is used once, the argument only costs memory. What is carried from step to step needs it, as a recurrent
    state or a bank of vectors: the graph of each step then hangs on all steps before. There, the edit cuts it off with
    `detach()` first.

    When it is offered: Memory ran out little by little in a loop with one backward pass that retains its graph. Not
    where two backward passes of a round share a graph, as for two losses or a gradient penalty.

    What it costs: Where something is carried on, gradients no longer flow into earlier steps (truncated
    back-propagation through time).
    """

    id, title, causes = "drop-retain-graph", "Let backward() free its graph: no retain_graph", OUT_OF_MEMORY

    FIRES = [
        Case(
            "import torch\nnet = torch.nn.Linear(9, 9)\nlog = []",
            "for x in batches:\n    loss = net(x).mean()\n    loss.backward(retain_graph=True)\n    log.append(loss)",
            becomes={"retain_graph=True": ""},
        ),
        Case(
            _NET,
            "for x in chunks:\n" + _STEP + "    loss.backward(retain_graph=True)",
            becomes="for x in chunks:\n    hidden = None if hidden is None else tuple(s.detach() for s in hidden)\n"
            + _STEP
            + "    loss.backward()",
            says=("hidden",),
        ),
        Case(
            "import torch\ncell = torch.nn.GRUCell(9, 9)\nh = torch.zeros(1, 9)",
            "for x in chunks:\n    h = cell(x, h)\n    h.sum().backward(retain_graph=True)",
            becomes="for x in chunks:\n    h = h.detach()\n    h = cell(x, h)\n    h.sum().backward()",
        ),
        Case(  # a network of one's own begins with two tensors
            _OWN,
            "h = net.begin(8)\nfor x in chunks:\n    y, h = net(x, h)\n    y.mean().backward(retain_graph=True)",
            becomes="h = net.begin(8)\nfor x in chunks:\n    h = tuple(s.detach() for s in h)\n    y, h = net(x, h)\n"
            "    y.mean().backward()",
        ),
        Case(  # the network keeps its state itself
            _KEEPS.format(cut=""),
            "net = Net()\nfor x in chunks:\n    loss = net(x).mean()\n    loss.backward(retain_graph=True)",
            becomes={
                1: _KEEPS.format(
                    cut="        self.h = None if self.h is None else tuple(s.detach() for s in self.h)"
                    " if isinstance(self.h, tuple) else self.h.detach()\n"
                ),
                2: "net = Net()\nfor x in chunks:\n    loss = net(x).mean()\n    loss.backward()",
            },
            says=("self.h",),
        ),
        Case(  # an average that the loss compares with
            _CENTERS.format(cut=""),
            "for x in xs: Centers()(x).backward(retain_graph=True)",
            becomes={
                1: _CENTERS.format(cut="        self.c = self.c.detach() if torch.is_tensor(self.c) else self.c\n"),
                2: "for x in xs: Centers()(x).backward()",
            },
            says=("`self.c`",),
        ),
        Case(  # each of the two is carried by itself
            _NET,
            "h = c = torch.zeros(1, 9)\nfor x in chunks:\n    y, (h, c) = rnn(x, (h, c))\n"
            "    out(y).mean().backward(retain_graph=True)",
            becomes="h = c = torch.zeros(1, 9)\nfor x in chunks:\n    h = h.detach()\n    c = c.detach()\n"
            "    y, (h, c) = rnn(x, (h, c))\n    out(y).mean().backward()",
        ),
        Case(  # a bank that each step compares with
            _BANK,
            "for x in xs:\n    z = enc(x)\n    loss = (z @ bank.T).mean()\n    loss.backward(retain_graph=True)\n"
            "    bank = torch.cat([bank, z])",
            becomes="for x in xs:\n    bank = bank.detach()\n    z = enc(x)\n    loss = (z @ bank.T).mean()\n"
            "    loss.backward()\n    bank = torch.cat([bank, z])",
            says=("`bank`",),
        ),
        Case(
            _BANK,
            "seen = []\nfor x in xs:\n    z = enc(x)\n    seen.append(z)\n    loss = (z @ torch.cat(seen).T).mean()\n"
            "    loss.backward(retain_graph=True)",
            becomes="seen = []\nfor x in xs:\n    seen[:] = [one.detach() for one in seen]\n    z = enc(x)\n"
            "    seen.append(z)\n    loss = (z @ torch.cat(seen).T).mean()\n    loss.backward()",
        ),
        Case(
            _BANK,
            "R = 0\nfor x in xs:\n    R = 1 + 0.99 * R + enc(x)\n    (R - 1).pow(2).mean().backward(retain_graph=True)",
            becomes="R = 0\nfor x in xs:\n    R = R.detach() if torch.is_tensor(R) else R\n"
            "    R = 1 + 0.99 * R + enc(x)\n    (R - 1).pow(2).mean().backward()",
        ),
        Case(  # what is only added up for a look needs no cut
            _BANK,
            "total = 0\nfor x in xs:\n    loss = enc(x).mean()\n    total = total + loss\n"
            "    loss.backward(retain_graph=True)",
            becomes="total = 0\nfor x in xs:\n    loss = enc(x).mean()\n    total = total + loss\n    loss.backward()",
        ),
        Case(  # it does not show whether its state is one tensor
            _OWN,
            "h = None\nfor x in chunks:\n    y, h = net(x, h)\n    y.mean().backward(retain_graph=True)",
            becomes="h = None\nfor x in chunks:\n    h = None if h is None else tuple(s.detach() for s in h)"
            " if isinstance(h, tuple) else h.detach()\n    y, h = net(x, h)\n    y.mean().backward()",
        ),
    ]
    SILENT = [
        # the pass runs in some rounds only: what was carried until then needs its graph
        Case(
            _NET,
            "for i, x in enumerate(chunks):\n"
            + _STEP
            + "    if i % 20 == 0:\n        loss.backward(retain_graph=True)",
        ),
        Case(
            _BANK,
            "kept = []\nfor x in xs:\n    kept.append(enc(x).mean())\n    if over(x):\n"
            "        torch.stack(kept).sum().backward(retain_graph=True)",
        ),
        # two passes share what the network gave
        Case(
            "import torch\nnet = torch.nn.Linear(9, 9)",
            "for x in xs:\n    y = net(x)\n    y.mean().backward(retain_graph=True)\n    y.std().backward()",
        ),
        # the graph was made once, before the loop
        Case(
            "import torch\nnet = torch.nn.Linear(9, 9)\ny = net(x)",
            "for i in range(9):\n    y[i].sum().backward(retain_graph=True)",
        ),
        Case("import torch\nnet = torch.nn.Linear(9, 9)", "for x in xs: net(x).mean().backward(retain_graph=False)"),
        Case("import torch\nnet = torch.nn.Linear(9, 9)", "for x in xs: net(x).mean().backward()"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, tensors = death.code, Tensors(death.code)
        if not (tensors.in_use and death.memory.grew_here):
            return
        for scope in code.running:
            calls = backward_calls(scope.node, scope)
            for one in (call for call in calls if call.keeps_graph):
                loop = next(iter(scope.loops_around(one.node)), None)
                if not isinstance(loop, ast.For | ast.While) or len(backward_calls(loop, scope)) > 1:
                    continue
                states, lists = carried_states(loop, scope, tensors), carried_lists(loop, scope, tensors)
                if (states or lists) and _is_below_if(one.node, loop, scope):
                    continue  # what is carried between two passes needs its graph
                if not states and not lists and not is_made_in(one.target, loop, scope, tensors):
                    continue
                edits = drop_argument(Call(one.node, scope, ""), "retain_graph")
                cuts = [*(state.cut for state in states), *lists]
                edits += insert_before(scope, loop.body[0], *cuts) if cuts else ()
                for state in kept_states(code, tensors):  # the network keeps it itself
                    states.append(state)
                    edits += insert_before(state.scope, state.made, state.cut)
                for state in kept_averages(code):
                    states.append(state)
                    edits += insert_before(state.scope, state.scope.body[0], state.cut)
                why = f"{quote(scope.segment(one.node))} keeps the intermediate results of every step."
                if carried := [*(state.name for state in states), *(text.partition("[")[0] for text in lists)]:
                    names = enumeration([quote(name) for name in carried])
                    why += f" {names} carries the graph of all earlier steps into the next one; `detach()` cuts it off."
                yield Proposal(edits, why, death.memory.ramp_bytes)


def _is_below_if(node: ast.Call, loop: ast.stmt, scope: Scope) -> bool:
    """Whether only some rounds of a loop run a node."""
    inside = scope.inside(loop)
    return any(isinstance(one, ast.If) and one in inside for one in scope.around(node))
