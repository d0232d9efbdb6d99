"""Objects that nobody saw grow are named by the code: what the statement to blame fills, makes or carries on."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.growth import grew_in, growth, held, local
from jupyter_kerneldoctor.diagnosis.examples.stuck import own_frame
from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

FULL = Group(GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=GIB)
JUMP = [100 * MIB] * 60 + [950 * MIB] * 20
RAMP = [number * 25 * MIB for number in range(4, 41)]


def named(*sources, at, looks=(), memory=JUMP, **more):
    """Return what grew in the last cell, all of it at these frames, innermost first: source, line and function."""
    frames = [own_frame(*one) for one in at]
    number = len(sources) + 1
    grown = growth(number, grew_in(850 * MIB, *frames))
    more = {"memory": memory, "groups": [FULL], "growths": [grown], "held": looks} | more
    answer = diagnose(recording("import numpy as np, torch", *sources, signal="SIGKILL", **more))
    return [one["name"] for one in answer.to_json()["grown"]]


LOAD = "def load(path):\n    tree = ET.parse(path)\n    return tree.getroot()"


def test_what_a_statement_was_about_to_make():
    call = "posts = load('Posts.xml')"

    assert named(LOAD, call, at=[(LOAD, 2, "load"), (call, 1)]) == ["tree"]


def test_what_a_function_was_about_to_return_has_the_name_that_its_caller_gives_it():
    pairs = "def all_pairs(genes):\n    return list(combinations(genes, 2))"
    call = "pairs = all_pairs(genes)"

    assert named(pairs, call, at=[(pairs, 2, "all_pairs"), (call, 1)]) == ["pairs"]


def test_small_objects_beside_it_come_after_it():
    call = "posts = load('Posts.xml')"
    beside = local(call, "<module>", "ratings", "builtins.list", 20 * MIB, items=10)

    assert named(LOAD, call, at=[(LOAD, 2, "load"), (call, 1)], looks=[held(3, beside)]) == ["tree", "ratings"]


@pytest.mark.parametrize(
    "cell",
    [
        "labels = DBSCAN().fit_predict(X)",
        "distance = (X - Y).sum()",
        "model.fit(X)",
    ],
)
def test_no_name_for_what_is_taken_on_the_way(cell):
    assert named(cell, at=[(cell, len(cell.split("\n")))]) == []


def test_an_array_of_zeros_that_a_loop_fills():
    cell = "data = np.zeros((10_000, 99, 5000))\nfor i, text in enumerate(texts):\n    data[i, 0, len(text)] = 1"

    assert named(cell, at=[(cell, 3)], memory=RAMP) == ["data"]


def test_an_array_that_was_reserved_before_is_what_grew_as_it_is_written_to():
    cell = "for i in range(99):\n    fill(store, i)"
    store = local(
        cell,
        "<module>",
        "store",
        "numpy.ndarray",
        40 * GIB,
        shape=(99, 50),
        written_bytes=700 * MIB,
        grew_bytes=600 * MIB,
    )
    before = Namespace(0.0, 1, (NamedObject("store", "numpy.ndarray", 40 * GIB),))

    assert named(cell, at=[(cell, 2)], looks=[held(2, store)], memory=RAMP) == ["store"]
    assert named(cell, at=[(cell, 2)], looks=[held(2, store)], memory=RAMP, namespaces=[before]) == ["store"]


def test_a_dict_of_the_users_own_class_has_its_outer_name():
    archive = "class Archive(dict):\n    def __missing__(self, month):\n        self[month] = load(month)"
    run = "archive = Archive()\nfor month in months:\n    archive[month].mean()"
    own = local(archive, "__missing__", "self", "Archive", 800 * MIB, items=40)

    at = [(archive, 3, "__missing__"), (run, 3)]
    assert named(archive, run, at=at, looks=[held(3, own)], memory=RAMP) == ["archive"]


STATE = """\
import torch
net = torch.nn.GRU(9, 9)
h = torch.zeros(1, 9)
for x in xs:
    y, h = net(x, h)
"""


def test_a_state_that_is_carried_on_with_its_graph():
    assert named(STATE, at=[(STATE, 5)], memory=RAMP) == ["h"]
    cut = STATE + "    h = h.detach()\n"
    assert "h" not in named(cut, at=[(cut, 5)], memory=RAMP)
    freed = STATE + "    y.sum().backward()\n"
    assert "h" not in named(freed, at=[(freed, 5)], memory=RAMP)
    off = STATE.replace("for x in xs:\n", "with torch.no_grad():\n  for x in xs:\n")
    assert "h" not in named(off, at=[(off, 6)], memory=RAMP)


def test_what_one_round_of_a_loop_was_about_to_make():
    cell = "for i in range(300):\n    noise = torch.randn(400, 1_000_000)\n    step(noise)"
    seen = local(cell, "<module>", "noise", "torch.Tensor", 4 * MIB)

    assert named(cell, at=[(cell, 2)]) == ["noise"]
    assert named(cell, at=[(cell, 2)], looks=[held(2, seen)]) == []  # an earlier round has made it: it is small


def test_what_is_returned_has_the_name_of_the_caller_also_from_a_method_called_fit():
    features = "class Features:\n    def fit_transform(self, texts):\n        return self.vectorizer(texts)"
    call = "x_train = Features().fit_transform(texts)"

    assert named(features, call, at=[(features, 3, "fit_transform"), (call, 1)]) == ["x_train"]


def test_what_is_being_made_comes_before_what_holds_a_third():
    cell = "index = product(a, b)\npairs = index.to_frame()"
    index = local(cell, "<module>", "index", "pandas.MultiIndex", 300 * MIB)

    assert named(cell, at=[(cell, 2)], looks=[held(2, index)]) == ["pairs", "index"]


def test_a_picture_that_carries_its_graph_on_is_named_where_a_look_saw_it():
    cell = (
        "net = torch.nn.Linear(9, 9)\nadv = torch.rand(9, requires_grad=True)\nfor step in range(40):\n"
        "    grad = torch.autograd.grad(net(adv).sum(), adv, create_graph=True)[0]\n    adv = adv + 0.1 * grad"
    )
    adv = local(cell, "<module>", "adv", "torch.Tensor", 2 * MIB, with_graph=True)

    assert named(cell, at=[(cell, 4)], looks=[held(2, adv)], memory=RAMP)[:1] == ["adv"]


def test_so_it_is_in_a_class_that_is_called_and_no_network():
    attack = (
        "from torch import autograd\nclass PGD:\n    def __call__(self, x):\n"
        "        adv = x.clone().requires_grad_(True)\n"
        "        for step in range(40):\n            grad = autograd.grad(self.net(adv), adv, create_graph=True)[0]\n"
        "            adv = adv + 0.1 * grad\n        return adv"
    )
    run = "net = torch.nn.Linear(9, 9)\nx_adv = PGD(net)(x)"
    adv = local(attack, "__call__", "adv", "torch.Tensor", 2 * MIB, with_graph=True)

    at = [(attack, 6, "__call__"), (run, 2)]
    assert named(attack, run, at=at, looks=[held(3, adv)], memory=RAMP)[:1] == ["adv"]
