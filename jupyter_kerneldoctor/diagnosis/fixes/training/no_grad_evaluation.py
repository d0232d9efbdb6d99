from jupyter_kerneldoctor.recording.events import NamedObject

from ...examples import MIB
from ...examples.growth import grew_in as grew
from ...examples.growth import growth
from ...examples.stuck import own_frame
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.evaluation import evaluations, whole_calls
from ...frameworks.gradients import goes_backward, without_gradients
from ...frameworks.kept_graphs import kept_graphs
from ...frameworks.untrained import calls_of_untrained
from ...heap_gaps import gaps_left
from ...place import grew_in

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\n"
_PAIR = (
    "import torch\nclass Pair(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.one, self.other = torch.nn.Linear(9, 9), torch.nn.Linear(9, 9)\n        self.queue = first()\n"
    "    def loss(self, a, b): return (a * b.detach()).sum()\n"
    "    def forward(self, x):\n        a = self.one(x)\n        b = self.other(x)\n"
    "        self.queue = torch.cat([b, self.queue])[:99]\n        return self.loss(a, b)"
)
_SHARED = (
    "import copy\nfrozen = copy.deepcopy(net).eval()\ndef score(model, x): return model(x).log_softmax(-1).sum()\n"
)


class NoGradEvaluation(Fix):
    """Evaluate without gradients.

    What it does: PyTorch keeps the intermediate results of every call of a network, so that gradients can be computed.
    Evaluation alone never asks for them. Under `torch.no_grad()` nothing is kept: `model.eval()` alone does not do
    that.

    When it is offered: Memory ran out in a cell that calls a network, and no backward pass starts from what that call
    gives: also in the validation inside of a training loop, where the memory was seen to grow in it, and for a teacher
    or a target network, which no optimizer trains.

    What it costs: No gradients can be computed from the results. Their values are the same.
    """

    id, title, causes = "no-grad-evaluation", "Evaluate without gradients: torch.no_grad()", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET + "outputs = []",
            "net.eval()\nfor x in batches:\n    outputs.append(net(x))\nprint(len(outputs))",
            becomes="net.eval()\nwith torch.no_grad():\n    for x in batches:\n        outputs.append(net(x))\n"
            "print(len(outputs))",
            says=("1.8 GiB", "net(x)"),
        ),
        Case(  # half of it are the values themselves, which stay
            _NET + "outputs = []",
            "for x in batches:\n    outputs.append(net(x))",
            grew=NamedObject(
                "outputs", "list", 900 * MIB, items=9, items_before=0, grew_bytes=900 * MIB, with_graph=True
            ),
            says=("with torch.no_grad():", "    for x in batches:"),
        ),
        Case(  # of many rounds even what is left is too much: 17 of 9,000 had filled the memory
            _NET + "outputs = []\ndef batches(n):\n    for i in range(n):\n        yield torch.ones(9)",
            "for x in batches(9_000):\n    outputs.append(net(x))",
            grew=NamedObject("outputs", "list", MIB, items=17, items_before=0, grew_bytes=MIB, with_graph=True),
            says=("with torch.no_grad():", "all 9,000 rounds may leave", "keep that alone"),
        ),
        Case(  # so is what a buffer keeps, by way of a method, until it is full
            _NET + "from collections import deque\nbuffer = deque(maxlen=90_000)\ndef act(x):\n    return net(x)",
            "while True:\n    y = act(x)\n    buffer.append(y)",
            grew=NamedObject("buffer", "deque", 20 * MIB, items=6000, items_before=0, grew_bytes=MIB, with_graph=True),
            says=("with torch.no_grad():", "all 90,000 rounds may leave", ".cpu().numpy().copy()"),
        ),
        Case(
            _NET + "def score(rows):\n\treturn net(rows)\n",
            "%time scores = score(table)",
            becomes={1: _NET + "def score(rows):\n\twith torch.no_grad():\n\t\treturn net(rows)\n"},
        ),
        Case(  # validation beside training; the line is that of the validation
            _NET,
            "for epoch in range(9):\n    for x in train:\n        loss = net(x).mean()\n        loss.backward()\n"
            "    seen = []\n    for x in val:\n        loss = net(x).mean()\n        seen.append(net(x))",
            line=8,
            becomes="for epoch in range(9):\n    for x in train:\n        loss = net(x).mean()\n"
            "        loss.backward()\n    seen = []\n    with torch.no_grad():\n        for x in val:\n"
            "            loss = net(x).mean()\n            seen.append(net(x))",
        ),
        Case(  # all that the function calls: one that is left keeps its graph
            _NET + "target = torch.nn.Linear(9, 9)\ndef error(s, s2):\n    value = net(s)\n"
            "    future = target(s2).max()\n    return future - value",
            "errors = []\nfor s, s2 in pairs:\n    errors.append(error(s, s2))",
            becomes={
                1: _NET + "target = torch.nn.Linear(9, 9)\ndef error(s, s2):\n    with torch.no_grad():\n"
                "        value = net(s)\n    with torch.no_grad():\n        future = target(s2).max()\n"
                "    return future - value"
            },
        ),
        Case(
            "import torch\nclass Scorer:\n    def __init__(self, net): self.net = net.eval()\n"
            "    def __call__(self, loader):\n        return [self.net(x) for x in loader]",
            "out = Scorer(torch.nn.Linear(9, 9))(loader)",
            becomes={"return": "with torch.no_grad():\n            return"},
        ),
        Case(  # training and validation share a function
            _NET + "def loss_of(batch): return {'a': net(batch).mean()}\nsums = {'a': 0.0}",
            "for epoch in range(9):\n    for x in train:\n        sum(loss_of(x).values()).backward()\n"
            "    for x in val:\n        for name, value in loss_of(x).items():\n            sums[name] += value",
            line=5,
            becomes="for epoch in range(9):\n    for x in train:\n        sum(loss_of(x).values()).backward()\n"
            "    with torch.no_grad():\n        for x in val:\n"
            "            for name, value in loss_of(x).items():\n                sums[name] += value",
        ),
        Case(  # what a network does besides `forward`
            _NET + "class Model(torch.nn.Module):\n    def __init__(self): self.inner = torch.nn.Linear(9, 9)\n"
            "    def sample(self, x): return self.inner(x)\nmodel, seen = Model(), []",
            "for x in batches:\n    seen.append(model.sample(x))",
            becomes="with torch.no_grad():\n    for x in batches:\n        seen.append(model.sample(x))",
        ),
        Case(  # the optimizer has the student only
            _NET + "import copy\nteacher = copy.deepcopy(net)\nopt = torch.optim.SGD(net.parameters(), 1)",
            "for x in batches:\n    aim = teacher(x)\n    loss = (net(x) - aim).square().mean()\n    loss.backward()",
            line=2,
            becomes={"    aim": "    with torch.no_grad():\n        aim"},
        ),
        Case(  # a function shares the work: what it is handed decides
            _NET + _SHARED + "opt = torch.optim.SGD(net.parameters(), 1)",
            "for x in batches:\n    a, b = score(net, x), score(frozen, x)\n"
            "    r = score(frozen, x) * score(frozen, -x)\n    loss = (a - r).mean()\n    loss.backward()",
            line=3,
            becomes={"    r": "    with torch.no_grad():\n        r"},
        ),
        Case(  # the keys are detached before the loss, and stay in the queue with their graphs
            _PAIR,
            "pair = Pair()\nfor x in batches:\n    pair(x).backward()",
            growths=[growth(2, grew(900 * MIB, own_frame(_PAIR, 10, "forward")))],
            becomes={1: _PAIR.replace("        b = s", "        with torch.no_grad():\n            b = s")},
        ),
        Case(  # a step of the training holds what the teacher works out, too
            _NET + "teacher = torch.nn.Linear(9, 9)\nopt = torch.optim.SGD(net.parameters(), 1)",
            "for x in batches:\n    t = teacher(x)\n    (net(x) - t).mean().backward()",
            growth="jump",
            line=2,
            says=("with torch.no_grad():", "t = teacher(x)"),
        ),
    ]
    SILENT = [
        # what is kept is itself what fills the memory
        Case(
            _NET + "outputs = []",
            "for x in batches:\n    outputs.append(net(x))",
            grew=NamedObject(
                "outputs", "list", 1700 * MIB, items=17, items_before=0, grew_bytes=1700 * MIB, with_graph=True
            ),
        ),
        # the optimizer has both, or what both were put into
        *(
            Case(
                _NET + f"other = torch.nn.Linear(9, 9)\nboth = torch.nn.ModuleList([net, other])\n{given}",
                "for x in batches:\n    (net(x) - other(x)).mean().backward()",
            )
            for given in (
                "opt = torch.optim.SGD([*net.parameters(), *other.parameters()], 1)",
                "opt = torch.optim.SGD(both.parameters(), 1)",
                "ps = []\nps += net.parameters()\nopt = torch.optim.SGD(ps, 1)",
                "opts = [torch.optim.SGD(one.parameters(), 1) for one in both]",
            )
        ),
        # the function is handed what is trained, too, or gets what that gives
        *(
            Case(
                _NET
                + _SHARED
                + "def both(a, b, x): return score(a, x) - score(b, x)\n"
                "opt = torch.optim.SGD([*net.parameters(){}], 1)".format(", *frozen.parameters()" if all_ else ""),
                f"for x in batches:\n    y = {call}\n    (score(net, x) - y).mean().backward()",
                line=2,
            )
            for call, all_ in (("both(net, frozen, x)", 0), ("score(frozen, net(x))", 0), ("score(frozen, x)", 1))
        ),
        # what goes into a dict by name, or into one of its lists
        *(
            Case(
                _NET + f"def parts(x):\n    d = {{}}\n    d.{put}\n    return d",
                "for x in batches:\n    sum(torch.stack(one).sum() for one in parts(x).values()).backward()",
            )
            for put in ("update(main=[net(x).mean()])", "setdefault('main', []).append(net(x).mean())")
        ),
        # the function leaves what the backward pass starts from in an attribute
        Case(
            _NET + "class Step:\n    def forward(self): self.out = net(self.x)\n    def learn(self, x):\n"
            "        self.x = x\n        self.forward()\n        self.out.mean().backward()",
            "step = Step()\nfor x in batches:\n    step.learn(x)",
        ),
        # an agent's steps are kept by one method, and another learns from them
        Case(
            _NET + "class Agent:\n    def __init__(self): self.memory = []\n    def act(self, x):\n"
            "        y = net(x)\n        self.memory.append((x, y.mean()))\n    def learn(self):\n"
            "        torch.stack([one for _, one in list(self.memory)[-9:]]).mean().backward()\nagent = Agent()",
            "for x in batches:\n    agent.act(x)\n    agent.learn()",
        ),
        # so does the network
        Case(
            _NET + "class Experts(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.gate, self.body = torch.nn.Linear(9, 9), torch.nn.Linear(9, 9)\n"
            "    def forward(self, x):\n        gates = self.gate(x)\n        self.balance = gates.var()\n"
            "        return self.body(x)\nmodel = Experts()",
            "for x in batches:\n    (model(x).mean() + sum(one.balance for one in model.modules())).backward()",
        ),
        # the gradients go through it, to what is trained
        Case(
            _NET + "judge = torch.nn.Linear(9, 9)\nopt = torch.optim.SGD(net.parameters(), 1)",
            "for x in batches:\n    made = net(x)\n    judge(made * 2).mean().backward()",
        ),
        Case(_NET, "for x in batches:\n    net(x).sum().backward()"),
        # what the experts of a network answer goes into its loss, by the way of a function and a loop's name
        Case(
            "import torch\ndef mix(experts, x): return torch.stack([one(x) for one in experts]).sum(0)\n"
            "class Moe(torch.nn.Module):\n    def __init__(self):\n"
            "        self.experts = torch.nn.ModuleList([torch.nn.Linear(9, 9) for _ in range(9)])\n"
            "    def forward(self, x): return mix(self.experts, x)\n"
            "class Net(torch.nn.Module):\n    def __init__(self):\n"
            "        self.moes = torch.nn.ModuleList([Moe() for _ in range(2)])\n"
            "    def forward(self, x):\n        for moe, n in zip(self.moes, range(9)):\n            x = x + moe(x)\n"
            "        return x\nmodel = Net()",
            "for x in batches:\n    loss = model(x).mean()\n    loss.backward()",
        ),
        Case(_NET, "net(x.requires_grad_())[0].backward"),
        # one of several results is what the backward pass starts from
        Case(
            _NET,
            "for x in batches:\n    out, (h, c) = net(x, state)\n    loss = out.mean()\n    loss.backward()",
            line=2,
        ),
        # the sum of the losses is what the backward pass starts from, here and behind a function
        Case(_NET, "total = 0\nfor x in batches:\n    total = total + net(x).mean()\ntotal.backward()"),
        Case(_NET + "def run(xs): return [net(x) for x in xs]", "torch.stack(run(batches)).mean().backward()"),
        # what was collected is gone through for gradients, in a method that the outermost cell only starts
        Case(
            _NET + "from torch import autograd\nclass Fisher:\n    def __init__(self, xs): self.f = self.of(xs)\n"
            "    def of(self, xs):\n        kept = []\n        for x in xs:\n            kept.append(net(x).mean())\n"
            "        kept = torch.stack(kept).unbind()\n"
            "        return [autograd.grad(one, net.parameters(), retain_graph=True) for one in kept]",
            "fisher = Fisher(batches)",
        ),
        # memory grew where the network is trained
        Case(_NET, "for x in train:\n    net(x).mean().backward()\nfor x in val: y = net(x)", line=2),
        Case(_NET, "with torch.no_grad():\n    y = net(x)"),
        Case(_NET + "torch.set_grad_enabled(False)", "outputs = [net(x) for x in batches]"),
        Case(_NET + "@torch.inference_mode()\ndef score(x): return net(x)", "score(x)"),
        Case(_NET, "y = net(x)\nbig = torch.ones(10**10)", line=2),
        Case(_NET, "for x in batches: y = net(x)\nbig = torch.ones(10**10)", growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory = death.code, death.memory
        found = list(evaluations(code)) if memory.grew_here else []
        whole = whole_calls(code) if found else ()
        in_one_piece = {one.call for one in whole if death.values.of(one.data, one.scope)}  # see batched-inference
        trains = goes_backward(code)
        grown = {
            (call, scope)
            for call, statement, scope in found
            if code.is_at_line(call, scope) and (grew_in(death, statement, scope) or not trains)
            if grew_in(death, statement, scope) is not False
        }
        functions = {scope for _, scope in grown if not scope.is_cell}  # their other results are as little needed
        for call, statement, scope in found:
            if call in in_one_piece or _keeps_no_graph(death):
                continue
            if (call, scope) in grown or scope in functions:
                why = (
                    f"{quote(scope.segment(call))} keeps the network's intermediate results for gradients that "
                    f"nothing here uses. Memory grew by {size(memory.missing_bytes or 0)}."
                )
                loops = scope.loops_around(call)
                explains = memory.ramp_bytes if loops else memory.missing_bytes
                if not explains and call in calls_of_untrained(code):
                    explains = (memory.missing_bytes or 0) // 2  # of a step, beside what is trained
                explains = explains and max(0, explains - death.growth.values_bytes)
                is_kept = death.growth.container is not None and death.growth.is_steady
                left, words = gaps_left(death) if loops or is_kept else (None, "")
                yield Proposal(without_gradients(statement, scope, code), why + words, explains, leaves=left)


def _keeps_no_graph(death: Death) -> bool:
    """Whether memory grew for what a container keeps, which has no graph: each round's graph is gone after it."""
    kept = death.growth.container
    if kept is None or kept.with_graph or not death.growth.is_steady:
        return False
    return not any(one.kept.container.rpartition(".")[2] in kept.name for one in kept_graphs(death.code))
