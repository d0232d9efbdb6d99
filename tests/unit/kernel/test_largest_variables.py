"""What the variables hold: sizes, types and shapes, found in time and without running the objects' own code."""

import sys
import time
import traceback
from collections import deque
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pandas as pd
import pytest

from jupyter_kerneldoctor.kernel.largest_variables import biggest
from jupyter_kerneldoctor.kernel.object_sizes import SizeEstimator

MIB = 1 << 20
PLENTY_S = 5.0


def measured(value):
    return SizeEstimator(time.thread_time() + PLENTY_S, variable_s=PLENTY_S).measure(value)


def names(variables, **options):
    found, _ = biggest(variables, {}, budget_s=PLENTY_S, **options)
    return {one["name"]: one for one in found}


def test_an_array_is_described_by_shape_and_dtype():
    array = np.zeros((1000, 500), dtype="float32")

    assert measured(array)._asdict() == {
        "bytes": 2_000_000,
        "type": "numpy.ndarray",
        "shape": (1000, 500),
        "dtype": "float32",
        "items": None,
        "item_type": None,
        "device": None,
        "with_graph": False,
        "unmeasured": False,
        "written_bytes": None,
    }


def test_what_two_names_share_counts_once():
    whole = np.zeros(4 * MIB, dtype="uint8")
    found = names({"whole": whole, "part": whole[::2], "same": whole, "rows": list(whole.reshape(4096, 1024))})

    assert found["whole"]["bytes"] == 4 * MIB
    assert set(found) == {"whole"}


def test_a_view_stands_for_the_array_it_keeps_alive():
    assert measured(np.zeros(4 * MIB, dtype="uint8")[:10]).bytes == 4 * MIB


def test_a_mapped_file_holds_no_memory(tmp_path):
    assert measured(np.memmap(tmp_path / "m", "uint8", "w+", shape=4 * MIB)).bytes == 0


def test_a_block_of_shared_memory_holds_it_until_it_is_closed():
    blocks = [SharedMemory(create=True, size=2 * MIB) for _ in range(3)]
    try:
        found = measured(blocks)
        assert (found.bytes >> 20, found.items, found.unmeasured) == (6, 3, False)
    finally:
        for block in blocks:
            block.close()
            block.unlink()
    assert measured(blocks).bytes < MIB


FRAMES = {
    "numbers": pd.DataFrame(np.random.default_rng(1).random((50_000, 4))),
    "objects": pd.DataFrame({"text": pd.Series([f"number {n}" for n in range(50_000)], dtype=object)}),
    "categories": pd.DataFrame({"c": pd.Categorical(["a", "b"] * 50_000)}),
    "mixed": pd.DataFrame({"a": range(50_000), "b": [f"number {n}" for n in range(50_000)]}),
    "levels": pd.DataFrame(np.ones((50_000, 3))).set_index([0, 1]).copy(),
    "series": pd.Series(range(50_000), dtype="Int64"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_as_big_as_pandas_says(name):
    frame = FRAMES[name]
    deep = frame.memory_usage(deep=True)

    assert measured(frame).bytes == pytest.approx(int(np.sum(deep)), rel=0.1, abs=2000)
    assert measured(frame).shape == frame.shape


INT, FLOAT = sys.getsizeof(1000), sys.getsizeof(1.0)  # 28 and 24 bytes, without the GIL 44 and 40

CONTAINERS = {
    "integers": [list(range(1000, 101_000)), 100_000 * (8 + INT)],
    "strings": [[f"{n:0>100}" for n in range(50_000)], 50_000 * (8 + 149)],
    "arrays": [[np.ones(10_000) for _ in range(400)], 400 * 80_000],
    "parts of arrays": [[np.ones(10_000)[:1] for _ in range(400)], 400 * 80_000],
    "the same": [[np.ones(1_000_000)] * 1000, 8_000_000 + 8000],
    "rows": [list(np.ones((1000, 10_000))), 80_000_000 + 1000 * 72],
    "mapping": [{n: float(n) for n in range(1000, 101_000)}, 5_242_968 + 100_000 * (INT + FLOAT)],
    "nested": [[[float(n)] * 1 for n in range(50_000)], 50_000 * (8 + 64 + FLOAT)],
    "records": [[{"a": float(n), "b": "x" * 100} for n in range(20_000)], 20_000 * (8 + 184 + FLOAT)],
    "queue": [deque((float(n) for n in range(100_000)), maxlen=100_000), 100_000 * (8 + FLOAT)],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_is_estimated_from_a_sample(name):
    value, expected = CONTAINERS[name]

    assert measured(value).bytes == pytest.approx(expected, rel=0.35)
    assert measured(value).items == len(value)


def test_the_type_of_the_items_is_recorded():
    assert measured([np.ones(1000)] * 3).item_type == "numpy.ndarray"
    assert measured([]).item_type is None


def test_an_object_of_the_users_holds_what_its_attributes_hold():
    class Model:
        def __init__(self):
            self.weights = np.ones(1_000_000)
            self.history = [np.ones(1000) for _ in range(100)]

    assert measured(Model()).bytes == pytest.approx(8_800_000, rel=0.02)
    assert measured(Model()).type.endswith("Model")


def test_twelve_are_listed_the_biggest_first_and_nothing_small():
    variables = {f"v{number}": np.zeros(number * MIB // 2, dtype="uint8") for number in range(20)}
    found, complete = biggest(variables, {}, budget_s=PLENTY_S)

    assert complete
    assert [one["name"] for one in found] == [f"v{number}" for number in range(19, 7, -1)]


class Hostile:
    """Everything that Python calls by itself does harm."""

    __class__ = property(lambda self: 1 / 0)
    __dict__ = property(lambda self: 1 / 0)

    def harm(self, *_):
        raise SystemExit

    __len__ = __sizeof__ = __iter__ = __getattr__ = __getattribute__ = __eq__ = __bool__ = __repr__ = harm
    __hash__ = nbytes = shape = harm


class HostileList(list):
    __len__ = __iter__ = __getitem__ = __sizeof__ = Hostile.harm


class HostileArray(np.ndarray):
    nbytes = shape = dtype = base = size = property(lambda self: 1 / 0)

    def __array_finalize__(self, parent):
        pass


class HostileType(type):
    __mro__ = __module__ = __name__ = property(lambda cls: 1 / 0)

    def __instancecheck__(cls, instance):
        raise SystemExit

    def __getattribute__(cls, name):
        raise SystemExit


class LazyProxy:
    """Computes what it stands for at the first question, as the proxies of wrapt, Django or Dask may."""

    computed = False

    @property
    def __class__(self):
        LazyProxy.computed = True
        return list

    def __len__(self):
        LazyProxy.computed = True
        return 0


def test_no_code_of_the_objects_runs():
    array = np.zeros(2 * MIB, dtype="uint8").view(HostileArray)
    odd = type.__call__(HostileType, "Odd", (), {})
    variables = {"h": Hostile(), "items": HostileList([1.5] * 3), "array": array, "odd": odd, "o": object.__new__(odd)}
    variables |= {"many": [Hostile() for _ in range(1000)], "proxy": LazyProxy(), "proxies": [LazyProxy()]}

    found = names(variables)

    assert found["array"]["bytes"] == 2 * MIB
    assert not LazyProxy.computed


def test_modules_functions_and_ipythons_own_names_are_left_out():
    big = np.zeros(2 * MIB, dtype="uint8")
    hidden = {"exit": big}
    variables = {"np": np, "f": names, "cls": dict, "exit": big, "_3": big, "_i3": "x", "In": [], "__name__": "x"}

    assert biggest(variables, hidden, budget_s=PLENTY_S) == ([], True)


def test_results_that_only_ipython_keeps_are_hidden():
    named, kept, last = (np.zeros(2 * MIB, dtype="uint8") for _ in range(3))
    found = names({"named": named, "_oh": {1: named, 2: kept}, "_": last})

    assert set(found) == {"named", "Out[2]", "_"}
    assert found["Out[2]"]["hidden"]
    assert found["_"]["hidden"]
    assert "hidden" not in found["named"]


def test_the_last_traceback_keeps_what_its_functions_had(monkeypatch):
    def fails():
        block = np.zeros(3 * MIB, dtype="uint8")
        return block[0] / {}["missing"]

    try:
        fails()
    except KeyError as error:
        monkeypatch.setattr(sys, "last_traceback", error.__traceback__.tb_next, raising=False)

    found = names({})
    traceback.clear_frames(sys.last_traceback)

    assert "the last traceback" not in names({}), "looking must not have kept what it found"
    assert found["the last traceback"]["bytes"] == pytest.approx(3 * MIB, rel=0.01)
    assert found["the last traceback"]["hidden"]


def test_figures_that_were_not_closed():
    pytest.importorskip("matplotlib", reason="cannot run here: matplotlib is not installed").use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - see above

    for _ in range(3):
        figure, axes = plt.subplots()
        axes.imshow(np.ones((800, 800)))
        figure.canvas.draw()
    found = names({})
    plt.close("all")

    assert found["open figures"]["items"] == 3
    assert found["open figures"]["bytes"] > 3 * 800 * 800 * 8
    assert "open figures" not in names({})


def test_no_value_is_recorded():
    found = names({"secret": {f"swordfish {n}": "swordfish" * 10 for n in range(20_000)}})

    assert found["secret"]["item_type"] == "str"
    assert "swordfish" not in str(found)
