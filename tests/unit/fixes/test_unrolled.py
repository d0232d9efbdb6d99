"""A solver within a step keeps all of its rounds: a smaller batch is said, but not written."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.examples.stuck import own_frame, thread
from jupyter_kerneldoctor.diagnosis.fixes.training.reduce_batch_size import ReduceBatchSize
from jupyter_kerneldoctor.diagnosis.proposals import ask, propose
from jupyter_kerneldoctor.recording.events import Stack

NET = """import torch
batch_size = 64
net = torch.nn.Linear(9, 9)
def plan(C, y, n_iter=ROUNDS):
    u, v = torch.zeros(9), torch.zeros(9)
    BODY
    return (u * v).mean()
"""
TRAIN = """for x, y in torch.utils.data.DataLoader(data, batch_size):
    loss = plan(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()"""
DIRECT = "for _ in range(n_iter):\n        v = v + torch.tanh(C + v)"
BY_WAY_OF_ANOTHER = "for _ in range(n_iter):\n        u = 1 / (C @ v)\n        v = 1 / (C.T @ u)"
UNTIL = "while (u - v).abs().max() > 1e-3:\n        u = v.detach()\n        v = torch.tanh(C @ v)"
SEQUENCE = "for t in range(n_iter):\n        v = torch.tanh(C[:, t] + v)"
LAYERS = "for layer in layers:\n        v = v + layer(C @ v)"
NO_GRAPH = "with torch.no_grad():\n        for _ in range(n_iter):\n            v = torch.tanh(C @ v)"


def died(body, rounds=100):
    """Return a death in the statement that goes on from round to round."""
    cell = NET.replace("BODY", body).replace("ROUNDS", str(rounds))
    line = 4 + len(body.split("\n"))
    frames = own_frame(cell, line, "plan"), own_frame(TRAIN, 2)
    stack = Stack(-0.1, "near_limit", (thread(*frames),))
    return Case(cell, TRAIN, line=2, cause="oom-cgroup", stacks=[stack]).death()


@pytest.mark.parametrize("body", [DIRECT, BY_WAY_OF_ANOTHER, UNTIL])
def test_a_smaller_batch_is_not_written_where_a_solver_keeps_all_rounds(body):
    proposal = ask(ReduceBatchSize(), died(body))[0]
    assert proposal is not None
    assert not proposal.edits
    assert "how many were done is not known" in proposal.why


@pytest.mark.parametrize(
    ("body", "rounds"),
    [(SEQUENCE, 100), (LAYERS, 100), (NO_GRAPH, 100), (DIRECT, 4)],
    ids=["t", "layer", "none", "few"],
)
def test_it_is_written_where_no_rounds_are_to_come(body, rounds):
    proposal = ask(ReduceBatchSize(), died(body, rounds))[0]
    assert proposal is not None
    assert proposal.edits


def test_the_cut_comes_first():
    ids = [one.id for one in propose(died(DIRECT))]
    assert ids.index("cut-the-graph") < ids.index("reduce-batch-size")
