"""Edits of PyTorch code that promise the same numbers give the same numbers, on real networks."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.fixes.training.backward_each_batch import BackwardEachBatch
from jupyter_kerneldoctor.diagnosis.fixes.training.drop_retain_graph import DropRetainGraph
from jupyter_kerneldoctor.diagnosis.fixes.training.sdpa_attention import SdpaAttention
from jupyter_kerneldoctor.diagnosis.proposals import ask

torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")

NETWORK = """import torch
torch.manual_seed(1)
net, crit = torch.nn.Linear(9, 1), torch.nn.MSELoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X, Y = torch.rand(100, 9), torch.rand(100, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 32)
"""
LOOPS = """opt.zero_grad()
total = 0.0
for x, y in loader:
    total = total + crit(net(x), y)
total.backward()
opt.step()
---
losses = []
for x, y in loader:
    loss = crit(net(x), y)
    losses.append(loss)
total = torch.stack(losses).mean()
opt.zero_grad()
total.backward()
opt.step()
---
opt.zero_grad()
total = 0
for i, (x, y) in enumerate(loader):
    total += crit(net(x), y)
total = total / len(loader)
total.backward()
opt.step()
"""
CARRIED = """bank = torch.zeros(4, 1)
for x, y in loader:
    out = net(x)
    loss = crit(out, y) + (out @ bank.T).mean()
    loss.backward(retain_graph=True)
    bank = torch.cat([bank, out])
---
seen = []
for x, y in loader:
    seen.append(net(x))
    loss = torch.cat(seen).std()
    loss.backward(retain_graph=True)
---
R = 0
for x, y in loader:
    R = 1 + 0.9 * R + net(x).mean()
    loss = (R - 1) ** 2
    loss.backward(retain_graph=True)
---
cell = torch.nn.LSTMCell(9, 9)
h = c = torch.zeros(1, 9)
for x, y in loader:
    h, c = cell(x[:1], (h, c))
    loss = h.mean()
    loss.backward(retain_graph=True)
"""
HEADS = """import torch
torch.manual_seed(1)
q, k, v = torch.rand(3, {}, 7, 8).unbind(0)
scale, n = 0.3, 7
"""
ATTENTION = """out = (q @ k.transpose(-2, -1) / 8 ** 0.5).softmax(-1) @ v
---
s = torch.matmul(q, k.transpose(-1, -2)) * scale
s = s.masked_fill(torch.tril(torch.ones(n, n)) == 0, float("-inf"))
out = torch.matmul(torch.softmax(s, dim=-1), v)
"""


def ran(*cells):
    names = {}
    for cell in cells:
        exec(compile(cell, "cell", "exec"), names)
    return names


def edited(fix, *cells):
    proposal, wrong = ask(fix, Case(*cells).death())
    assert proposal is not None, wrong
    (edit,) = proposal.edits
    return edit.new_source


@pytest.mark.parametrize("loop", LOOPS.split("---\n"))
def test_backward_for_each_batch_trains_as_one_for_their_sum(loop):
    whole, each = ran(NETWORK, loop), ran(NETWORK, edited(BackwardEachBatch(), NETWORK, loop))
    assert torch.allclose(whole["net"].weight, each["net"].weight, atol=1e-6)
    assert whole["total"].item() == pytest.approx(each["total"].item())


@pytest.mark.parametrize("loop", CARRIED.split("---\n"))
def test_a_step_without_retain_graph_learns_from_what_was_carried_on(loop):
    plain = loop.replace("retain_graph=True", "")
    with pytest.raises(RuntimeError, match="second time"):
        ran(NETWORK, plain)
    assert ran(NETWORK, edited(DropRetainGraph(), NETWORK, loop))["loss"].isfinite()


@pytest.mark.parametrize("shape", ["2", "2, 3"])
@pytest.mark.parametrize("steps", ATTENTION.split("---\n"))
def test_attention_gives_the_same(steps, shape):
    heads = HEADS.format(shape)
    by_hand, by_torch = ran(heads, steps), ran(heads, edited(SdpaAttention(), heads, steps))
    assert torch.allclose(by_hand["out"], by_torch["out"], atol=1e-6)
    assert by_hand["out"].shape == by_torch["out"].shape
