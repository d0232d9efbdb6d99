"""What a growing cell holds, also in functions of other cells: looked at while it runs, known after the kill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import requires

if TYPE_CHECKING:
    from support.kernels import LiveKernel

pytestmark = [requires.linux, requires.gil]

TRAINER = """
import time
import numpy as np

class Trainer:
    def __init__(self):
        self.seen = []

    def fit(self):
        for epoch in range(10_000):
            self.step(epoch)

    def step(self, epoch):
        out = np.ones(100_000)
        self.seen.append(out * epoch)
        time.sleep(0.005)
"""

CLOSURE = """
import time
import numpy as np

def make_recorder():
    losses = []

    def record(batch):
        losses.append(np.ones(100_000))

    return record

def train(record):
    for batch in range(10_000):
        record(batch)
        time.sleep(0.005)
"""

GENERATOR = """
import time
import numpy as np

def batches():
    history = []
    while True:
        history.append(np.ones(100_000))
        time.sleep(0.005)
        yield history[-1]
"""

DICT = """
import time
import numpy as np

RESULTS = {}

def evaluate(number):
    RESULTS[number] = np.ones(100_000)
    time.sleep(0.005)

def main():
    for number in range(10_000):
        evaluate(number)
"""

CASES = {
    "an attribute": (TRAINER, "trainer = Trainer()\ntrainer.fit()", "self.seen", "list", {"step", "fit"}),
    "a closure": (CLOSURE, "train(make_recorder())", "losses", "list", {"record"}),
    "a generator": (GENERATOR, "for batch in batches():\n    mean = batch.mean()", "history", "list", {"batches"}),
    "a global dict": (DICT, "main()", "RESULTS", "dict", {None}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_killed_cell_held_is_known_by_name(limited_kernel: LiveKernel, name: str) -> None:
    definitions, call, holder, kind, functions = CASES[name]
    limited_kernel.run(definitions)
    limited_kernel.run_and_die(call)
    recording = limited_kernel.recording()

    assert recording.end.signal == "SIGKILL"
    assert len(recording.held) >= 2
    last = recording.held[-1]
    assert last.cell_seq == recording.cells[-1].seq
    biggest = last.objects[0]
    assert (biggest.name, biggest.type, biggest.item_type) == (holder, kind, "numpy.ndarray")
    assert biggest.function in functions
    assert biggest.bytes > 100 << 20
    assert biggest.bytes > biggest.grew_bytes > 40 << 20
    assert biggest.items > biggest.items_before
