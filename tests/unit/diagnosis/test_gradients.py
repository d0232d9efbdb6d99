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
