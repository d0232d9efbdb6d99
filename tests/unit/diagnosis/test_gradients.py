"""Which calls of networks a backward pass needs, as the code shows it."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis.fix import Case
from jupyter_kerneldoctor.diagnosis.frameworks.evaluation import evaluations

AGENT = """\
import torch
class Agent:
    def __init__(self):
        self.net, self.memory = torch.nn.Linear(9, 9), []
    def act(self, x):
        y = self.net(x)
        self.memory.append((x, y.mean()))
    def learn(self):
        torch.stack([y for _, y in self.memory]).mean().backward()
agent = Agent()
"""


@pytest.mark.parametrize(("kept", "needless"), [("self.memory", []), ("self.seen", ["self.net(x)"])])
def test_what_one_method_keeps_and_another_learns_from_is_needed(kept, needless):
    agent = AGENT.replace("self.memory.append", f"{kept}.append")
    code = Case(agent, "for x in batches:\n    agent.act(x)\n    agent.learn()").death().code

    assert [scope.segment(call) for call, _, scope in evaluations(code)] == needless


LABELS = """\
import torch
net = torch.nn.Linear(9, 9)
def own(loader):
    confs, labels = [], []
    for x in loader:
        conf, label = net(x).softmax(1).max(dim=1)
        confs.append(conf)
        labels.append(label)
    confs, labels = torch.cat(confs), torch.cat(labels)
    return {}
"""


@pytest.mark.parametrize(
    ("given", "needless"),
    [
        ("labels[confs > 0.9]", ["net(x)"]),
        ("labels", ["net(x)"]),
        ("confs", []),
        ("labels * confs", []),
        ("own_argmax(confs)", []),
    ],
)
def test_no_gradient_passes_through_positions_and_comparisons(given, needless):
    train = "y = own(xs)\nfor x, t in zip(xs, y):\n    loss = (net(x) - t).mean()\n    loss.backward()"
    code = Case(LABELS.format(given), train).death().code

    assert [scope.segment(call) for call, _, scope in evaluations(code) if scope.function] == needless
