"""What a running cell holds is found in its functions and in the user's own objects, under the user's names."""

import asyncio
import concurrent.futures
import functools
import gc
import io
import sys
import threading
import types
import weakref
import zlib

import numpy as np
import pytest
from support import requires
from tornado.ioloop import IOLoop

from jupyter_kerneldoctor.kernel import held_objects
from jupyter_kerneldoctor.kernel.held_objects import CellHoldings
from jupyter_kerneldoctor.kernel.linked_objects import is_node

pytestmark = requires.gil

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


def test_global_variables_of_another_module_or_script_are_examined():
    found = {}
    for module in ("helpers", "__main__"):
        source = "def work(look):\n    return look()"
        variables = {"POOL": arrays(2), "__name__": module}
        exec(compile(source, "/home/me/helpers.py", "exec"), variables)
        found |= variables["work"](looked)

    assert {"helpers.POOL", "POOL"} <= set(found)


class Tape:
    """As TensorFlow's: an object with attributes has one with a slot, which has what C holds."""

    def __init__(self):
        self.tape = Slot(zlib.compressobj())


class Slot:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


@pytest.mark.parametrize("make", [zlib.compressobj, Tape])
def test_a_small_container_that_gains_what_cannot_be_measured_is_told(make):
    kept, losses, holdings = [], [], CellHoldings(1)
    kept.append((0, make()))
    assert looked(holdings, kept=kept, losses=losses) == {}
    kept += [(number, make()) for number in range(12)]
    losses += [float(number) for number in range(12)]

    found = looked(holdings, kept=kept, losses=losses)

    assert set(found) == {"kept"}, "all that a list of numbers takes is known"
    assert (found["kept"]["items_before"], found["kept"]["items"], found["kept"]["unmeasured"]) == (1, 13, True)
    assert found["kept"]["bytes"] < MIB


def test_other_threads_are_examined_but_not_the_one_that_looks():
    begun, over = threading.Event(), threading.Event()

    def work():
        results = arrays(2)
        begun.set()
        over.wait(10)
        return results

    def answer():
        mine = arrays(2)
        found.update({one["name"]: one for one in CellHoldings(1).biggest([runs], {}, {}, budget_s=PLENTY_S)[0]})
        return mine

    found, runs = {}, threading.get_ident()
    worker, looker = threading.Thread(target=work), threading.Thread(target=answer)
    worker.start()
    begun.wait(10)
    looker.start()
    looker.join()
    over.set()
    worker.join()

    assert found["results"]["function"] == "work"
    assert "mine" not in found


def test_tasks_that_wait_are_examined_with_what_they_wait_for():
    async def crawl():
        pages = arrays(2)
        await follow()
        return pages

    async def follow():
        links = arrays(3)
        await asyncio.sleep(60)
        return links

    async def main():
        task = asyncio.ensure_future(crawl())
        await asyncio.sleep(0)
        found = await asyncio.to_thread(lambda: CellHoldings(1).biggest([], {}, {}, budget_s=PLENTY_S)[0])
        task.cancel()
        return {one["name"]: one.get("function") for one in found}

    found = IOLoop(make_current=False).run_sync(main)
    assert (found["pages"], found["links"]) == ("crawl", "follow")


def test_the_users_objects_in_a_librarys_are_named():
    class Keep:
        def __init__(self):
            self.outputs = arrays(2)

        def __call__(self, number):
            return looked() if number else {}

    loader = threading.Timer(1, None)  # an object of a library
    loader.dataset = Memory()
    found = looked(loader=loader)
    called = functools.reduce(lambda _, number: Keep()(number), [0, 1])
    by_library = looked_from_library(Keep)

    assert "loader.dataset.items" in found
    assert called["self.outputs"]["function"] == "__call__"
    assert "tests.Keep.outputs" in by_library  # of a class in a cell: Keep.outputs


def looked_from_library(kind):
    """Return what is found while a callback is known to a function of a library only."""
    source = "def fit(callbacks, look):\n    return look()"
    library = {}
    exec(compile(source, f"{held_objects.sys.prefix}/lib/site-packages/keras.py", "exec"), library)
    look = functools.partial(CellHoldings(1).biggest, [threading.get_ident()], {}, {}, budget_s=PLENTY_S)
    found, _ = library["fit"]([kind()], look)
    return {one["name"]: one for one in found}


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


@pytest.mark.parametrize("is_buffer", [True, False])
def test_a_small_tensor_that_an_object_keeps_with_its_graph_is_told(is_buffer):
    torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.other = torch.zeros(9)
            self.register_buffer("centre", torch.zeros(9)) if is_buffer else setattr(self, "centre", torch.zeros(9))

    loss, weights = Loss(), torch.ones(9, requires_grad=True)
    loss.centre = 0.9 * loss.centre + weights

    assert [*looked(loss=loss, last=weights * 2)] == ["loss.centre"]


def test_what_a_networks_own_list_keeps_is_told():
    torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")
    metric = torch.nn.Module()  # as the metrics of torchmetrics are
    metric.preds = [torch.ones(MIB // 4) for _ in range(9)]

    assert looked(metric=metric)["metric.preds"]["bytes"] == pytest.approx(9 * MIB, rel=0.01)


def test_what_a_lambda_is_given_has_the_name_of_where_it_comes_from():
    def apply(table, function):
        return function(table)

    found = apply(np.ones(MIB), lambda t: looked())

    assert "t" not in found
    assert found["table"]["function"] == "apply"


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


def test_what_only_has_the_same_name_is_not_compared():
    here = functools.partial(CellHoldings(1).biggest, [threading.get_ident()], {}, {}, budget_s=PLENTY_S)

    def deeper(depth):
        rows = arrays(2 + depth)
        found = deeper(depth - 1) if depth else here()[0]
        return found, rows

    found = deeper(2)[0][0][0]
    assert sorted(one["items"] for one in found if one["name"] == "rows") == [2, 3, 4]
    assert not [one for one in found if "grew_bytes" in one]


@pytest.mark.slow
def test_an_array_of_zeros_takes_only_what_was_written_to():
    holdings = CellHoldings(1)
    reserved = np.zeros((400, MIB // 8))
    replay = {"states": np.zeros((400, MIB // 8)), "number": 3}

    assert looked(holdings, reserved=reserved, replay=replay)["reserved"]["written_bytes"] < 8 * MIB
    reserved[:200] = 1
    replay["states"][:100] = 1
    found = looked(holdings, reserved=reserved, replay=replay)
    assert found["reserved"]["bytes"] == 400 * MIB
    assert found["reserved"]["written_bytes"] == pytest.approx(200 * MIB, rel=0.1)
    assert found["reserved"]["grew_bytes"] == pytest.approx(200 * MIB, rel=0.1)
    assert found["replay"]["grew_bytes"] == pytest.approx(100 * MIB, rel=0.1)
    reserved[:] = 1
    assert "written_bytes" not in looked(holdings, reserved=reserved)["reserved"]


def test_a_file_in_memory_takes_what_was_written_to_it():
    text, data = io.StringIO(), io.BytesIO()
    text.write("x" * 3 * MIB)
    data.write(b"x" * 4 * MIB)
    found = looked(text=text, data=data)

    assert (found["text"]["type"], found["text"]["bytes"]) == ("io.StringIO", 3 * MIB)
    assert (found["data"]["type"], found["data"]["bytes"] >= 4 * MIB) == ("io.BytesIO", True)


class Step:
    __slots__ = ("before", "pixels")

    def __init__(self, pixels, before):
        self.pixels, self.before = pixels, before


class Branch:
    def __init__(self, depth):
        self.weights, self.name = np.ones(200), f"branch {depth}"
        self.children = [Branch(depth - 1) for _ in range(3)] if depth else []


@pytest.mark.parametrize("added", [0, sys.maxsize // 8])
def test_a_chain_is_as_large_as_all_its_links_however_long_it_is(monkeypatch, added):
    """Where threads count the references to a class apart, CPython adds a large number to what it says of them."""
    count = sys.getrefcount
    monkeypatch.setattr(sys, "getrefcount", lambda one: count(one) + added)

    class Canvas:
        def __init__(self):
            self.undo = None

        def paint(self, count):
            for _ in range(count):
                self.undo = Step(np.ones(1000), self.undo)
            return looked(), looked(canvas=self)

    inside, outside = Canvas().paint(3000)
    assert inside["self.undo"]["items"] == pytest.approx(3000, rel=0.01)
    assert inside["self.undo"]["bytes"] == pytest.approx(3000 * 8000, rel=0.1)
    assert inside["self.undo"]["function"] == "paint"
    assert outside["canvas.undo"]["type"].endswith("Step")


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_tree_is_as_large_as_all_its_nodes_and_named_once(wrapped):
    root = Branch(7)
    found = looked(**({"forest": [{"root": root}]} if wrapped else {"root": root, "child": root.children[0]}))

    assert list(found) == ["forest" if wrapped else "root"]
    (one,) = found.values()
    assert one["bytes"] == pytest.approx(3280 * 1900, rel=0.2)
    assert one["items"] == pytest.approx(1 if wrapped else 3280, rel=0.01)


def test_objects_that_are_in_lists_of_their_own_are_no_nodes():
    class Shell:
        def __init__(self):
            self.configured = [self]

    shells = [Shell() for _ in range(30)]
    assert not is_node(shells[0])


def test_a_node_is_called_as_the_outermost_of_the_functions_calls_it():
    class Knot:
        def __init__(self, next_one):
            self.next_one, self.data = next_one, bytearray(100_000)

        def last(self):
            return looked() if self.next_one.next_one is None else self.next_one.last()

    def chained(count):
        first = None
        for _ in range(count):
            first = Knot(first)
        return first.last()

    assert [name for name in chained(90) if name in ("self", "first", "next_one")] == ["first"]


def test_a_few_large_results_among_many_calls_that_wait_are_not_taken_for_one_result():
    calls = [concurrent.futures.Future() for _ in range(3000)]
    for call in calls[:300]:
        call.set_result(np.ones(MIB // 8))

    assert looked(calls=calls)["calls"]["bytes"] == pytest.approx(300 * MIB, rel=0.25)


def test_what_is_nested_deep_is_estimated_by_a_part_of_each_level():
    trie = {}
    for number in range(20_000):
        here = trie
        for letter in f"{number * 7919 % 100_003:07d}":
            here = here.setdefault(letter, {})
    rows = [{"a": {"b": {"c": {"d": {"e": [*range(number, number + 20)]}}}}} for number in range(1000, 400_000, 50)]
    found = looked(rows=rows, trie=trie)

    row = 5 * sys.getsizeof({"a": 1}) + sys.getsizeof([*range(20)]) + 20 * sys.getsizeof(1000)
    assert found["rows"]["bytes"] == pytest.approx(len(rows) * row, rel=0.3)
    assert found["trie"]["bytes"] == pytest.approx(sum(sizes_of_dicts(trie)), rel=0.3)


def sizes_of_dicts(outer):
    yield sys.getsizeof(outer)
    for inner in outer.values():
        yield from sizes_of_dicts(inner)
