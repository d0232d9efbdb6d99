"""A step that is taken in parts gives the gradients and the numbers of the whole step, on real networks."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.fixes.training.micro_batch_split import MicroBatchSplit
from jupyter_kerneldoctor.diagnosis.proposals import ask

torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")

SETUP = """import torch
from torch import nn
torch.manual_seed(1)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
X, Y = torch.rand(1234, 3, 8, 8), torch.randint(0, 5, (1234,))
batch_size = 500
loader = [(X[i : i + batch_size], Y[i : i + batch_size]) for i in range(0, 1234, batch_size)]
seen, losses, right = 0, [], 0
"""
LOOPS = """for x, y in loader:
    opt.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
    seen += len(x)
---
for x, y in loader:
    out = model(x)
    loss = criterion(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    right += (out.argmax(1) == y).sum().item()
    losses.append(loss.item())
---
for epoch in range(3):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(X), Y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
---
for epoch in range(3):
    order = torch.randperm(len(X))
    opt.zero_grad()
    loss = criterion(model(X[order]), Y[order])
    loss.backward()
    opt.step()
---
for i in range(0, len(X), batch_size):
    idx = torch.arange(i, min(i + batch_size, len(X)))
    opt.zero_grad()
    loss = criterion(model(X[idx]), Y[idx]) + 0.5 * model(X[idx]).square().mean()
    loss.backward()
    opt.step()
"""


def trained(setup, loop):
    names = {}
    exec(compile(setup, "setup", "exec"), names)
    exec(compile(loop, "loop", "exec"), names)
    weights = torch.cat([one.detach().flatten() for one in names["model"].parameters()])
    return weights, names["losses"], names["seen"], names["right"]


@pytest.mark.parametrize("loop", LOOPS.split("---\n"))
def test_parts_of_a_batch_train_as_the_whole(loop):
    proposal, wrong = ask(MicroBatchSplit(), Case(SETUP, loop).death())
    assert proposal is not None, wrong
    (edit,) = proposal.edits
    assert ".split(" in edit.new_source
    whole, parts = trained(SETUP, loop), trained(SETUP, edit.new_source)
    assert torch.allclose(whole[0], parts[0], rtol=1e-4, atol=1e-6)
    assert whole[1] == pytest.approx(parts[1], rel=1e-4)
    assert whole[2:] == parts[2:]
