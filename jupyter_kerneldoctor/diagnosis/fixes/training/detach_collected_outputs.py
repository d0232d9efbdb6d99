import ast

from ...code.calls import plain_names
from ...code.origins import Origins
from ...edits import EditRefusedError
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.evaluation import run_by_networks
from ...frameworks.kept import Kept
from ...frameworks.kept_graphs import kept_graphs
from ...frameworks.torch import Kind, Tensors
from ...frameworks.without_graph import without_graph
from ...heap_gaps import gaps_left
from ...place import grew_around
from ...units import share_of

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\nfeats = []\n"
_WALK = (
    "def walk(x):\n    seen = []\n    for t in range(9):\n        y = net(x)\n        seen.append(y)\n"
    "        x = torch.cat([x[1:], y])\n    return seen"
)
_HOOKED = "import torch\nseen = []\ndef keep(module, given, output):\n    seen.append(output{end})\n"
_STACK = "torch.stack([one(x) for one in self.experts]).sum(0)"
_EXPERTS = (
    "import torch\ndef mix(experts, x):\n    return torch.stack([one(x) for one in experts]).sum(0)\n"
    "class Moe(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.experts = torch.nn.ModuleList([torch.nn.Linear(9, 9) for _ in range(9)])\n"
    "    def forward(self, x): return {}\n"
    "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a, self.moes = torch.nn.ModuleList(), torch.nn.ModuleList([Moe() for _ in range(2)])\n"
    "    def forward(self, x):\n        for a, moe in zip(self.a, self.moes):\n            x = moe(a(x))\n"
    "        return x\nmodel = Net()"
)
_MIXED = "for i in range(3):\n    loss = model(x[i]).mean()\n    loss.backward()"


class DetachCollectedOutputs(Fix):
    """Collect what a network gives without the graph behind it.

    What it does: A tensor that a network gives holds on to all intermediate results that led to it. A list of such
    tensors keeps them for every round. `detach()` keeps the values alone.

    When it is offered: A loop or a hook collects a network's outputs with their graphs, no backward pass frees these,
    and memory grew little by little. Not when a backward pass starts from what was collected.

    What it costs: No gradients can be computed from the collected values. They are the same.
    """

    id, title, causes = "detach-collected-outputs", "Collect the outputs without their graphs", OUT_OF_MEMORY
    unless_offered = frozenset({"detach-accumulated-loss", "batched-inference"})  # which cut the outputs off as well

    FIRES = [
        Case(
            _NET,
            "for x in batches:\n    feats.append(net(x))  # später\nprint(len(feats))",
            becomes={"(x)": "(x).detach()"},
            says=("feats",),
        ),
        Case(
            _NET + "class Probe:\n    def __init__(self, model):\n        self.model, self.rows = model, {}\n"
            "    def add(self, i, x):\n        h = self.model(x)\n        self.rows[i] = {'h': h, 'n': len(x)}",
            "probe = Probe(net)\nfor i, x in enumerate(batches):\n    probe.add(i, x)",
            becomes={"'h': h": "'h': h.detach()"},
        ),
        Case(
            _HOOKED.format(end="") + "net = torch.nn.Linear(9, 9)\nnet.register_forward_hook(keep)",
            "for x in batches:\n    net(x)",
            becomes={"(output)": "(output.detach())"},
        ),
        Case(  # the network itself keeps it
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.a, self.seen = torch.nn.Linear(9, 9), []\n    def forward(self, x):\n"
            "        h = self.a(x)\n        self.seen.append(h)\n        return h.sum()",
            "net = Net()\nfor x in batches: print(net(x))",
            becomes={"(h)": "(h.detach())"},
        ),
        Case(  # what becomes of it has its name
            _NET,
            "feats = []\nfor x in batches:\n    feats.append(net(x))\nfeats = torch.cat(feats).argmax(1)",
            becomes={"(x)": "(x).detach()"},
        ),
        Case(  # an average that hangs on all passes before
            "import torch\nclass Norm(torch.nn.Module):\n    def forward(self, x):\n"
            "        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)\n        return x - self.mean",
            "net = Norm()\nfor x in batches: print(net(x).sum())",
            becomes={"0.1 * x.mean(0)": "(0.1 * x.mean(0)).detach()"},
        ),
        Case(  # what the backward pass starts from, is cut off from them
            _NET,
            "for x in batches:\n    feats.append(net(x))\nold = torch.cat(feats).detach()\n"
            "loss = (net(x) - old).mean()\nloss.backward()",
            becomes={"(net(x))": "(net(x).detach())"},
        ),
        Case(_NET, "preds = [net(x) for x in batches]", becomes="preds = [net(x).detach() for x in batches]"),
        Case(  # a number goes on from round to round, no graph
            _NET,
            "i = 0\nwhile i < len(xs):\n    x = xs[i]\n    y = net(x)\n    feats.append(y)\n    i = i + 1",
            becomes={"(y)": "(y.detach())"},
        ),
        Case(  # the state goes with each call of the function
            _NET + _WALK,
            "for x in batches:\n    feats.extend(walk(x))",
            becomes={1: _NET + _WALK.replace("(y)", "(y.detach())")},
        ),
        Case(  # a dict that a function returns has no `detach`
            _NET + "def step(x):\n    out = net(x)\n    return {'out': out, 'n': len(x)}",
            "for x in batches:\n    feats.append(step(x))",
            becomes="for x in batches:\n    feats.append({key: one.detach() if torch.is_tensor(one) else one "
            "for key, one in step(x).items()})",
        ),
        Case(  # each of the two is a tensor
            "import torch\ncell, states = torch.nn.LSTMCell(9, 9), []",
            "for x in batches:\n    h, c = cell(x)\n    states.append(c)",
            becomes={"(c)": "(c.detach())"},
        ),
        Case(
            "import torch\nlstm, states = torch.nn.LSTM(9, 9), []",
            "for x in batches:\n    out, h = lstm(x)\n    states.append(h)",
            becomes={"(h)": "(tuple(one.detach() for one in h))"},
        ),
        Case(
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self): self.a = torch.nn.Linear(9, 9)\n"
            "    def forward(self, x):\n        h = self.a(x)\n        return h, h.mean()\nnet, feats = Net(), []",
            "for x in batches:\n    out = net(x)\n    feats.append(out)",
            becomes="for x in batches:\n    out = net(x)\n    feats.append(tuple(one.detach() for one in out))",
        ),
    ]
    SILENT = [
        # what is drawn has no graph
        Case(
            _NET + "from torch.distributions import Categorical",
            "for x in batches:\n    drawn = Categorical(logits=net(x)).sample()\n    feats.append(drawn)",
        ),
        # the next round begins with it, and holds on to the graphs of all before
        Case(_NET, "x = torch.ones(9)\nfor t in range(99):\n    x = x + net(x)\n    feats.append(x.cpu())"),
        # so it does by the way of another name, and with a state beside it
        Case(_NET + _WALK, "feats = walk(torch.ones(9))"),
        Case(
            "import torch\nrnn, seen = torch.nn.GRU(9, 9), []", "for x in xs:\n    y, h = rnn(x, h)\n    seen.append(y)"
        ),
        # so it does in each call of a method: what is summed up is no more than the last of it
        Case(
            _NET + "def rolled(x):\n    total = torch.zeros(9)\n    for t in range(9):\n        x = net(x)\n"
            "        total = total + x.mean()\n    return total",
            "for i in range(3):\n    best = rolled(torch.ones(9)).topk(3)",
        ),
        # a function that shares the work of a `forward`, which nothing but a loop's name leads to
        *(Case(_EXPERTS.format(one), _MIXED) for one in ("mix(self.experts, x)", _STACK)),
        # an object of a library has no `detach`
        Case(
            "from transformers import BertModel\nimport torch\nnet = BertModel.from_pretrained('b')\nfeats = []",
            "for x in batches:\n    feats.append(net(x))",
        ),
        Case(_NET, "for x in batches:\n    feats.append(net(x).detach())"),
        Case(_NET, "for x in files: read(x)\nfeats = [net(x) for x in batches]", line=1),
        Case(_NET, "with torch.no_grad():\n    for x in batches: feats.append(net(x))"),
        Case(
            _NET + "def act(x):\n    h = net(x)\n    return h.argmax(1), h.mean(0)",
            "for x in batches:\n    with torch.no_grad(): a, h = act(x)\n    feats.append(h)",
        ),
        Case(_NET, "for x in batches:\n    feats.append(torch.rand_like(net(x)))"),
        Case(_NET, "for x in batches:\n    feats.append(torch.multinomial(net(x), 1))"),
        Case(_NET, "for x in batches:\n    with torch.no_grad():\n        out = net(x)\n    feats.append(out)"),
        # the backward pass starts from what was collected
        Case(_NET, "for x in batches:\n    feats.append(net(x))\ntorch.cat(feats).sum().backward()"),
        Case(_NET + "def run(xs): return [net(x) for x in xs]", "torch.stack(run(batches)).mean().backward()"),
        Case(
            _NET + "from torch import autograd",
            "for x in batches:\n    feats.append(net(x))\nfeats = torch.cat(feats).unbind()\n"
            "grads = zip(*[autograd.grad(one, net.parameters(), retain_graph=True) for one in feats])",
        ),
        # the backward pass stands in another cell, further down than this one is long
        Case(
            _NET + "def run(x):\n    loss = net(x).mean()\n    loss.backward()\n    return loss.item()",
            "for x in batches: feats.append(run(x))",
        ),
        # so does one that starts from an attribute, seen from outside of its class
        Case(
            _NET + "class Memory:\n    def __init__(self): self.values = []\n"
            "    def add(self, value): self.values.append(value)",
            "memory = Memory()\nfor x in batches: memory.add(net(x))\ntorch.stack(memory.values).mean().backward()",
        ),
        # so does one that starts from what a network on its device gives
        Case(
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self): self.a = torch.nn.Linear(9, 9)\n"
            "    def forward(self, xs):\n        out = []\n        for x in xs:\n            out.append(self.a(x))\n"
            "        return torch.stack(out)\nnet = Net().to(device)",
            "for x in batches:\n    pred = net(x)\n    loss = ((pred - x) ** 2).mean()\n    loss.backward()",
        ),
        # a network that is not trained here may be trained elsewhere: what its layers hand on keeps its graph
        Case(
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self): self.layers = torch.nn.ModuleList()\n"
            "    def forward(self, x):\n        every = []\n        for layer in self.layers:\n"
            "            x = x + layer(x)\n            every.append(x)\n        return torch.cat(every)\n"
            "net = Net().cuda()",
            "for x in batches:\n    print(net(x).shape)",
        ),
        # nor what a function hands on that a network calls
        Case(
            "import torch\ndef mix(parts, x): return torch.stack([part(x) for part in parts]).sum(0)\n"
            "class Net(torch.nn.Module):\n    def __init__(self): self.parts = torch.nn.ModuleList()\n"
            "    def forward(self, x): return mix(self.parts, x)\nnets = torch.nn.ModuleList([Net()])",
            "for x in batches:\n    for net in nets: x = x + net(x)\n    x.mean().backward()",
        ),
        # each step's graph is freed by its backward pass: the values themselves are what is kept
        Case(_NET, "for x in batches:\n    out = net(x)\n    out.mean().backward()\n    feats.append(out)"),
        Case(_NET, "for x in batches:\n    feats = []\n    feats.append(net(x))"),
        Case(_NET, "for x in batches:\n    feats.append(net(x))\nbig = torch.ones(10**10)", growth="jump"),
        Case(_NET + "def twice(net, x): return net(x) + 1", "for x in batches: feats.append(twice(len, x))"),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here:
            return
        missing, tensors = death.memory.missing_bytes or 0, Tensors(death.code)
        for one in kept_graphs(death.code):
            if one.is_loss or one.is_freed or _is_handed_on(one.kept, death) or not grew_around(death, one.kept):
                continue
            if one.kept.scope.node in run_by_networks(death.code):
                continue  # its caller is a network, which may be trained
            try:
                edits, cut = without_graph(one.kept.value, one.kept.scope, tensors)
            except EditRefusedError:
                continue
            text, ramp = one.kept.scope.segment(one.kept.value), death.memory.ramp_bytes
            each = "Each call of the network" if one.in_hook else "Each round of the loop"
            why = (
                f"{each} keeps {quote(text)} in {quote(one.kept.container)}, with all intermediate results that led to "
                f"it. That accounts for {share_of(ramp, missing)} that the cell took. "
                f"{quote(cut)} keeps the values alone."
            )
            stays = max(ramp // 5, death.growth.values_bytes)
            left, words = gaps_left(death)
            yield Proposal(edits, why + words, max(0, ramp - stays), leaves=left)


def _is_handed_on(kept: Kept, death: Death) -> bool:
    """Whether a round of the loop makes what is kept out of that of the round before, graph and all."""
    loops, tensors = kept.scope.loops_around(kept.value), Tensors(death.code)
    if kept.is_added_to and any(
        Origins(death.code).is_repeated(one, kept.scope) for one in loops[-1:] if not kept.scope.is_cell
    ):
        return False  # what is handed on goes with each call of the function
    nodes = {node for loop in loops for node in kept.scope.inside(loop)}
    made = [(one, plain_names(*one.targets), plain_names(one.value)) for one in nodes if isinstance(one, ast.Assign)]

    def sources(names: set[str]) -> set[str]:
        known, size = set(names), 0
        while size < len(known):
            size = len(known)
            for _, given, used in made:
                if given & known:
                    known |= used
        return known

    behind = sources(plain_names(kept.value))
    return any(
        given & sources(used) and (given & plain_names(kept.value) or tensors.kind(one.value, kept.scope) is Kind.GRAPH)
        for one, given, used in made
        if given & behind
    )
