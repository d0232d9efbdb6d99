"""A network that was given too much: the statement that called it is named, not a layer in its `forward`."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth
from jupyter_kerneldoctor.diagnosis.examples.stuck import frame, own_frame
from jupyter_kerneldoctor.recording.events import Stack, ThreadStack

FULL = Group(GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=GIB)
JUMP = [100 * MIB] * 300 + [950 * MIB] * 20
LIBRARY = frame("torch/nn/modules/module.py", "_call_impl", library=True)

NETWORK = """\
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU())
        self.head = nn.Linear(64, 9)
    def forward(self, x):
        {line}
"""
EVALUATE = "def accuracy(net, X, y):\n    out = net(X)\n    return (out.argmax(1) == y).float().mean()"
RUN = "net = Net()\nprint(accuracy(net, X, y))"


def named(line):
    """Judge a death in a `forward` with this line, reached by a function of another cell; return what is named."""
    network = NETWORK.format(line=line)
    last = network.rstrip().count("\n") + 1
    at = (own_frame(network, last, "forward"), LIBRARY, own_frame(EVALUATE, 2, "accuracy"), own_frame(RUN, 2))
    stacks = [Stack(-0.1, "climbing", (ThreadStack(at, main=True),))]
    answer = diagnose(
        recording(
            network,
            EVALUATE,
            RUN,
            signal="SIGKILL",
            memory=JUMP,
            groups=[FULL],
            stacks=stacks,
            growths=[growth(3, grew_in(850 * MIB, *at))],
        )
    )
    assert answer.statement is not None
    return answer.statement, answer.cause.headline


@pytest.mark.parametrize(
    "line",
    [
        "return self.head(self.features(x).mean(dim=(2, 3)))",
        "return self.head(F.max_pool2d(F.relu(self.features(x)), 2).flatten(1))",
        "return x + self.features(x)",
        "x = torch.cat([self.features(x), x], 1)",
        "x = self.features(x)\n        b = x.size(0)\n        return self.head(x.view(b, -1))",
    ],
)
def test_layers_that_pass_it_on_are_not_named(line):
    statement, headline = named(line)

    assert (statement.execution_count, statement.line, statement.function) == (2, 2, "accuracy")
    assert [one.line for one in statement.via] == [2]
    assert "in `accuracy` (cell [2], line 2: `out = net(X)`), called from `print(accuracy(net, X, y))`" in headline


@pytest.mark.parametrize(
    "line",
    [
        "scores = self.head(x) @ self.head(x).transpose(1, 2)",
        "r = self.head(x[:, None] - x[None, :])",
        "return F.one_hot(x, 90_000)",
        "return torch.stack([self.head(x) for _ in range(900)])",
        "return self.head(x).view(-1, 64, 64)",
        "pairs = torch.cat([x.expand(9, 9, 9), x], 2)\n        return self.head(pairs)",
    ],
)
def test_what_a_forward_makes_of_its_own_is(line):
    statement, headline = named(line)

    assert (statement.execution_count, statement.function) == (1, "Net.forward")
    assert "in `Net.forward` (cell [1], line 1" in headline
