"""A step of training that a loop gives all rows, again and again: with a tape, a gradient of JAX, or in PyTorch."""

import contextlib

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.edits import EditRefusedError
from jupyter_kerneldoctor.diagnosis.fixes.training.reduce_batch_size import ReduceBatchSize
from jupyter_kerneldoctor.diagnosis.proposals import ask

ARRAYS = "import numpy as np\nX, y = np.ones((9000, 9)), np.ones(9000)\n"
TAPE = """import tensorflow as tf
model, opt = tf.keras.Sequential(), tf.keras.optimizers.Adam()
def step(net, x, y):
    with tf.GradientTape() as tape:
        loss = error(net(x), y)
    opt.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))
    return loss
def fit(x, y): step(model, x, y)
"""
JAX = """import jax
def loss(w, x, y): return ((x @ w - y) ** 2).mean()
grad = jax.jit(jax.value_and_grad(loss))
def fit(x, y):
    global w
    w = w - grad(w, x, y)[1]
"""
TORCH = """import torch
net = torch.nn.Linear(9, 1)
opt = torch.optim.Adam(net.parameters())
def step(net, opt, x, y):
    opt.zero_grad()
    loss = (net(x)[:, 0] - y).square().mean()
    loss.backward()
    opt.step()
    return loss
def fit(x, y): step(net, opt, x, y)
"""


def proposed(setup, loop):
    with contextlib.suppress(EditRefusedError):
        return ask(ReduceBatchSize(), Case(setup, loop).death())[0]
    return None


def edited(setup, loop):
    found = proposed(setup, loop)
    return found and [edit.new_source for edit in found.edits]


@pytest.mark.parametrize("library", [TAPE, JAX, TORCH], ids=["tape", "jax", "torch"])
def test_a_call_with_all_rows_gets_a_loop_over_pieces(library):
    (new,) = edited(ARRAYS + library, "for epoch in range(9):\n    fit(X, y)")
    loop = "for epoch in range(9):\n    for start in range(0, len(X), 256):\n"
    assert new == loop + "        fit(X[start:start + 256], y[start:start + 256])"


def test_a_network_and_an_optimizer_beside_the_rows_stay_whole():
    (new,) = edited(ARRAYS + TORCH, "for i in range(9):\n    loss = step(net, opt, X, y)\n    print(loss)")
    assert "loss = step(net, opt, X[start:start + 256], y[start:start + 256])\n    print(loss)" in new


def test_the_weights_of_each_step_are_handed_on():
    (new,) = edited(ARRAYS + JAX, "for i in range(9):\n    l, g = grad(w, X, y)\n    w = w - g\n    print(l)")
    assert "        l, g = grad(w, X[start:start + 256], y[start:start + 256])\n        w = w - g\n    print(l)" in new


def test_a_tape_in_the_loop_itself():
    (new,) = edited(
        ARRAYS + TAPE,
        "for i in range(9):\n    with tf.GradientTape() as tape:\n        loss = error(model(X), y)\n"
        "    grads = tape.gradient(loss, model.weights)\n    opt.apply_gradients(zip(grads, model.weights))\n"
        "    print(loss)",
    )
    assert "            loss = error(model(X[start:start + 256]), y[start:start + 256])\n" in new
    assert new.endswith("        opt.apply_gradients(zip(grads, model.weights))\n    print(loss)")


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(9):\n    step(model, X, labels)",  # how many of them there are is not known
        "for i in range(9):\n    out = step(model, X, y)\n    right = (out == y).mean()",  # compared with all rows
    ],
)
def test_what_may_not_fit_together_is_only_told(loop):
    found = proposed(ARRAYS + TAPE + "labels = load()", loop)
    assert found is not None
    assert not found.edits
    assert "X_part = X[start:start + 256]" in found.snippet


@pytest.mark.parametrize(
    ("setup", "loop"),
    [
        (ARRAYS + TAPE + "def run(x, y):\n    i = next(rows)\n    step(model, x[i], y[i])", "run(X, y)"),
        (ARRAYS + TAPE + "def run(x, y):\n    for a in pieces(x): step(model, a, y)", "run(X, y)"),
        (ARRAYS.replace("9000, 9", "9000, 9000") + TAPE, "fit(X, y)"),  # a graph: its nodes need each other
        (ARRAYS.replace("9000", "60") + TAPE, "fit(X, y)"),
        (ARRAYS + TAPE, "fit(X[i * 100:i * 100 + 100], y)"),
    ],
    ids=["picks rows", "loops itself", "graph", "few rows", "slices"],
)
def test_nothing_is_said_of_a_step_with_some_rows(setup, loop):
    assert proposed(setup, f"for i in range(9):\n    {loop}") is None


@pytest.mark.parametrize(
    ("network", "step", "is_offered"),
    [
        (
            "return self.a(x) * w",
            "model(X, w)",
            True,
        ),  # said, but not written: it may have a row for each, or be one row
        ("return w @ self.a(x)", "model(X, w)", False),
        ("return torch.zeros(9, 9).index_add(0, w[1], self.a(x)[w[0]])", "model(X, w)", False),
        ("return self.a(x)", "model(X, edge_index)", False),
    ],
)
def test_a_graph_is_not_taken_in_pieces(network, step, is_offered):
    """Its nodes need each other: the network gets what tells which, beside them."""
    made = f"import torch\nclass Net(torch.nn.Module):\n    def forward(self, x, w):\n        {network}\n"
    data = "X, y = torch.randn(9000, 3), torch.randn(9000)\nmodel, crit = Net(), torch.nn.MSELoss()"
    rounds = f"for epoch in range(9):\n    loss = crit({step}, y)\n    loss.backward()\n    opt.step()"
    proposal = ask(ReduceBatchSize(), Case(made + data, rounds, cause="oom-cgroup").death())[0]
    assert (proposal is not None) == is_offered
    assert proposal is None or not proposal.edits
