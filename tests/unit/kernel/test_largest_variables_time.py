"""However many things there are: looking at them takes no more time than there is."""

import itertools
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest

from jupyter_kerneldoctor.kernel import dataframes, library_objects
from jupyter_kerneldoctor.kernel.largest_variables import biggest
from jupyter_kerneldoctor.kernel.object_sizes import SizeEstimator

pytestmark = pytest.mark.slow

MIB = 1 << 20
PLENTY_S = 5.0


def measured(value):
    return SizeEstimator(time.thread_time() + PLENTY_S, variable_s=PLENTY_S).measure(value)


def calls_of(monkeypatch, owner, name):
    """Count the calls of a function from now on."""
    calls, function = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *arguments: (calls.append(1), function(*arguments))[1])
    return calls


def test_a_million_items_take_no_more_time_than_there_is():
    variables = {f"v{number}": [[float(n), str(n)] for n in range(100_000)] for number in range(10)}
    begin = time.thread_time()
    _, complete = biggest(variables, {}, budget_s=0.003)
    took = time.thread_time() - begin

    assert not complete
    assert took < 0.1  # 3 ms, and what the last one took


def test_of_more_names_than_there_is_time_for_the_newest_are_looked_at():
    variables = {f"v{number}": number for number in range(200_000)} | {"x": np.zeros(4 * MIB, dtype="uint8")}
    begin = time.thread_time()
    found, complete = biggest(variables, {}, budget_s=0.003)
    took = time.thread_time() - begin

    assert [one["name"] for one in found] == ["x"]
    assert not complete
    assert took < 0.1  # a look at each takes half a second


def test_a_frame_of_thousands_of_pieces_is_estimated_from_some_of_them(monkeypatch):
    frame = pd.DataFrame(np.ones((1000, 1000)))
    for number in range(1000):  # each becomes a block of its own, as in a notebook that adds columns one by one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
            frame[f"more {number}"] = np.ones(1000)
    looked_at = calls_of(monkeypatch, dataframes, "of_array")

    assert measured(frame).bytes == pytest.approx(int(np.sum(frame.memory_usage(deep=True))), rel=0.1)
    assert measured(frame).shape == (1000, 2000)
    assert len(looked_at) < 250


def test_a_table_of_thousands_of_chunks_is_estimated_from_some_of_them(monkeypatch):
    arrow = pytest.importorskip("pyarrow", reason="cannot run here: pyarrow is not installed")
    chunks = [arrow.table({f"c{number}": np.ones(100) for number in range(50)}) for _ in range(100)]
    table = arrow.concat_tables(chunks)
    looked_at = calls_of(monkeypatch, dataframes, "_arrow_bytes")

    assert measured(table).bytes == pytest.approx(table.nbytes, rel=0.1)
    assert measured(table).shape == (10_000, 50)
    assert len(looked_at) < 1000


def test_a_model_is_looked_at_while_there_is_time(monkeypatch):
    torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")
    model = torch.nn.Sequential(*(torch.nn.Linear(1000, 100) for _ in range(1000)))
    whole = measured(model).bytes
    looked_at = calls_of(monkeypatch, library_objects, "_torch_part")
    _, complete = biggest({"model": model}, {}, budget_s=0.0001)

    assert whole == sum(4 * parameter.numel() for parameter in model.parameters())
    assert len(looked_at) < 2000
    assert not complete


def test_what_an_optimiser_keeps_is_estimated_from_some_parameters(monkeypatch):
    torch = pytest.importorskip("torch", reason="cannot run here: torch is not installed")
    model = torch.nn.Sequential(*(torch.nn.Linear(30, 30, bias=False) for _ in range(1000)))
    optimizer = torch.optim.Adam(model.parameters())
    assert measured(optimizer) is None or measured(optimizer).bytes < 100_000  # there is no state yet
    model(torch.ones(4, 30)).sum().backward()
    optimizer.step()
    looked_at = calls_of(monkeypatch, library_objects, "_torch_part")

    assert measured(optimizer).bytes == pytest.approx(1000 * 2 * 4 * 30 * 30, rel=0.01)
    assert len(looked_at) < 400


def test_a_figure_is_looked_at_while_there_is_time(monkeypatch):
    figure = pytest.importorskip("matplotlib.figure", reason="cannot run here: matplotlib is not installed").Figure()
    figure.subplots().plot(np.ones((2, 100)))
    asked = calls_of(monkeypatch, library_objects, "describe")

    SizeEstimator(until_s=time.thread_time()).figures([figure] * 10)
    few = len(asked)
    SizeEstimator(until_s=time.thread_time() + PLENTY_S).figures([figure] * 10)

    assert 50 * few < len(asked)


def test_a_deep_traceback_is_looked_at_while_there_is_time(monkeypatch):
    def fails(depth):
        rows = [[number] for number in range(100)]
        return fails(depth - 1) if depth else rows["no"]

    try:
        fails(90)
    except TypeError as error:
        monkeypatch.setattr(sys, "last_traceback", error.__traceback__.tb_next, raising=False)
    asked = calls_of(monkeypatch, SizeEstimator, "measure")
    seconds = itertools.count()
    for clock in ("thread_time", "monotonic"):  # each look at a clock takes a second
        monkeypatch.setattr(time, clock, lambda: float(next(seconds)))

    _, complete = biggest({}, {}, budget_s=30)
    few = len(asked)
    biggest({}, {}, budget_s=1_000_000)

    assert not complete
    assert few < 30
    assert len(asked) > 90
