"""What a running cell holds is found in its functions and in the user's own objects, under the user's names."""

import asyncio
import functools
import gc
import sys
import threading
import types
import weakref

import numpy as np
import pytest

from jupyter_kerneldoctor.kernel import held_objects
from jupyter_kerneldoctor.kernel.held_objects import CellHoldings

MIB = 1 << 20
PLENTY_S = 5.0


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    monkeypatch.setattr(held_objects, "LONGEST_S", PLENTY_S)
    monkeypatch.setattr(held_objects, "_VARIABLE_S", PLENTY_S)


def looked(holdings=None, **variables):
    """Look at these global variables, or else at the functions that run; return what is held, by name."""
    threads = [] if variables else [threading.get_ident()]
    found, complete = (holdings or CellHoldings(1)).biggest(threads, variables, {}, budget_s=PLENTY_S)
    assert complete
    return {one["name"]: one for one in found}


def arrays(count):
    return [np.ones(MIB // 8) for _ in range(count)]


class Memory:
    def __init__(self):
        self.items = dict(enumerate(arrays(3)))


class Trainer:
    __slots__ = ("__dict__", "seen")
    cache = arrays(5)

    def __init__(self):
        self.seen = arrays(2)
        self.memory = Memory()

    def fit(self):
        return self.step(np.ones(MIB))

    def step(self, batch):
        return looked()


def test_locals_and_attributes_are_named_as_the_user_writes_them():
    found = Trainer().fit()

    assert found["batch"] | {"file": __file__, "function": "step"} == found["batch"]
    assert found["self.seen"]["bytes"] == pytest.approx(2 * MIB, rel=0.01)
    assert found["self.memory.items"]["items"] == 3
    assert {found[name]["function"] for name in ("self.seen", "self.memory.items")} == {"step"}


def test_global_objects_classes_and_modules_of_the_users_are_examined():
    helpers = types.ModuleType("helpers")
    helpers.__file__, helpers.POOL = "/home/me/helpers.py", arrays(4)
    sys.modules["helpers"] = helpers
    try:
        found = looked(trainer=Trainer(), Trainer=Trainer, helpers=helpers, np=np, team=[Memory()])
    finally:
        del sys.modules["helpers"]

    assert {"trainer.seen", "trainer.memory.items", "Trainer.cache", "helpers.POOL", "team[0].items"} <= set(found)
    assert "function" not in found["trainer.seen"]
    assert not [name for name in found if name.startswith("np")]


def test_closures_generators_coroutines_and_cached_functions_are_examined():
    def make_recorder():
        losses = arrays(2)

        def record():
            return losses

        return record

    def batches():
        history = arrays(3)
        yield history

    async def fetch():
        pages = arrays(4)
        await asyncio.sleep(0)
        return pages

    @functools.cache
    def load(number):
        return np.ones(MIB) * number

    @functools.lru_cache(maxsize=4)
    def load_few(number):
        return np.ones(MIB) * number

    for number in range(5):
        load(number), load_few(number)
    generator, coroutine = batches(), fetch()
    next(generator), coroutine.send(None)
    found = looked(record=make_recorder(), generator=generator, coroutine=coroutine, load=load, load_few=load_few)
    coroutine.close()

    assert found["losses"]["function"] == "record"
    assert found["history"]["function"] == "batches"
    assert found["pages"]["function"] == "fetch"
    assert (found["load"]["items"], found["load"]["bytes"] // MIB) == (5, 40)
    assert (found["load_few"]["items"], found["load_few"]["bytes"] // MIB) == (4, 32)


def test_what_grew_is_told_whatever_name_leads_there():
    holdings, kept = CellHoldings(1), arrays(2)
    first = looked(holdings, kept=kept)["kept"]
    kept += arrays(3)
    second = looked(holdings)["kept"]

    assert "grew_bytes" not in first
    assert second["function"] == "test_what_grew_is_told_whatever_name_leads_there"
    assert (second["items_before"], second["items"]) == (2, 5)
    assert second["grew_bytes"] == pytest.approx(3 * MIB, rel=0.01)


def test_a_short_list_of_tensors_with_their_graphs_is_told():
    torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")
    weights = torch.ones(10, requires_grad=True)
    losses = [(weights * number).sum() for number in range(10)]
    values = [loss.detach() for loss in losses]
    found = looked(losses=losses, values=values)

    assert found["losses"]["with_graph"]
    assert "values" not in found


def test_nothing_is_held_when_it_is_over():
    class Big:
        def __init__(self):
            self.block = bytearray(MIB)

    holdings, big = CellHoldings(1), Big()
    seen = weakref.ref(big)
    gc.disable()
    try:
        assert "big.block" in looked(holdings, big=big)
        del big
        assert seen() is None
    finally:
        gc.enable()


def test_no_code_of_the_users_runs():
    touched = []

    class Lazy:
        __class__ = property(lambda self: touched.append("class"))
        big = property(lambda self: touched.append("property"))

        def __getattr__(self, name):
            touched.append(name)

        def __len__(self):
            touched.append("len")
            return 0

    class Meta(type):
        def __getattribute__(cls, name):
            touched.append(name)
            return super().__getattribute__(name)

    class Strange(Lazy, metaclass=Meta):
        pass

    lazy, strange = Lazy(), Strange()
    touched.clear()
    looked(lazy=lazy, strange=strange, Strange=Strange, some=[lazy, strange])

    assert touched == []


def test_deep_recursion_and_cycles_end():
    class Node:
        def __init__(self):
            self.other, self.block = self, bytearray(MIB)

    node = Node()

    def deeper(depth):
        return deeper(depth - 1) if depth else CellHoldings(1).biggest([threading.get_ident()], {"node": node}, {})

    found, complete = deeper(500)
    assert not complete
    assert "node.block" in [one["name"] for one in found]
