"""What it costs to look at what a growing cell holds (`kernel.held_objects`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures import Figure
from support.kernels import LiveKernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A notebook of some size, looked at from a method that keeps much.
DEFINITIONS = """
import threading, time
import numpy as np
from jupyter_kerneldoctor.kernel.held_objects import CellHoldings

tables = [{"values": np.ones(1000), "names": [str(n) for n in range(1000)]} for _ in range(20)]
texts = {number: str(number) * 10 for number in range(100_000)}
for number in range(200):
    globals()[f"setting_{number}"] = [number] * 10

class Trainer:
    def __init__(self):
        self.seen, self.history = [], {"loss": [], "batches": []}
    def fit(self):
        for number in range(2000):
            self.seen.append(np.ones(1000))
            self.history["batches"].append(np.ones(100))
            self.history["loss"].append(float(number))
        return self.look()
    def look(self):
        variables, hidden = get_ipython().user_ns, get_ipython().user_ns_hidden
        took, cpu = [], []
        for _ in range(ROUNDS):
            begin, begin_cpu = time.perf_counter(), time.thread_time()
            CellHoldings(1).biggest([threading.get_ident()], variables, hidden)
            cpu.append(time.thread_time() - begin_cpu)
            took.append(time.perf_counter() - begin)
        return [sorted(took)[ROUNDS // 2], sorted(cpu)[ROUNDS // 2], sorted(cpu)[ROUNDS * 99 // 100]]
"""


def look_cost(work: Path, rounds: int) -> Iterator[Figure]:
    """Milliseconds that a look takes; the cell stands still for as long."""
    kernel = LiveKernel(work / "data", work)
    try:
        kernel.run(DEFINITIONS.replace("ROUNDS", str(rounds)))
        took, cpu, longest = eval(kernel.run("Trainer().fit()").result)
        yield Figure("a look at what a growing cell holds, median", took * 1000, "ms")
        yield Figure("a look at what a growing cell holds: processor time, median", cpu * 1000, "ms", 5)
        yield Figure("a look at what a growing cell holds: processor time, 99th percentile", longest * 1000, "ms")
    finally:
        kernel.close()
