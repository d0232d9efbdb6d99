"""What the user of a kernel notices: the time of cells and of their output, and how exact the peak is."""

from __future__ import annotations

import queue
import statistics
import time
from typing import TYPE_CHECKING

from figures import Figure
from support.kernels import LiveKernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIB = 1 << 30

# Runs inside a kernel: trivial cells with and without the hooks, in turn, so that both see the same machine.
CELLS = """
import statistics, time
from jupyter_kerneldoctor import kernel as _k
from jupyter_kerneldoctor.kernel.memory import Stretch as _Stretch
_ip, _hooks = get_ipython(), _k._doctor.hooks
def _round(n=50):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        _ip.run_cell('pass')
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
_with, _without = [], []
for _ in range(ROUNDS):
    _hooks._running.clear()  # so that the cells are not taken for parts of this one
    _Stretch._under_way.clear()
    _hooks._is_nested = lambda: False
    _with.append(_round())
    _hooks.remove()
    _without.append(_round())
    _hooks.install()
[statistics.median(_with), statistics.median(_without)]
"""

# Each line is the time at which it was written.
OUTPUT = """
import os, time
for _ in range(LINES):
    os.write(1, b'%d\\n' % time.time_ns())
    time.sleep(0.03)
"""


def cell_overhead(work: Path, rounds: int) -> Iterator[Figure]:
    """Microseconds that recording adds to a cell that does nothing."""
    kernel = LiveKernel(work / "data", work)
    try:
        begin = "import time; _t = time.perf_counter()\n%load_ext kerneldoctor\n(time.perf_counter() - _t) * 1000"
        yield Figure("%load_ext kerneldoctor", float(kernel.run(begin).result), "ms", 30)
        recorded, plain = eval(kernel.run(CELLS.replace("ROUNDS", str(rounds))).result)
        yield Figure("run_cell('pass') without KernelDoctor", plain * 1e6, "us")
        yield Figure("added to it by KernelDoctor (difference of medians)", (recorded - plain) * 1e6, "us", 50)
    finally:
        kernel.close()


def output_latency(work: Path, lines: int) -> Iterator[Figure]:
    """Milliseconds that recording adds until what native code writes is in the notebook and in the server's log."""
    plain, watched = (LiveKernel(work / f"output-{name}", work) for name in ("plain", "watched"))
    try:
        watched.load()
        before, after = _latencies_ms(plain, lines), _latencies_ms(watched, lines)
        for place in ("notebook", "log"):
            yield Figure(f"output of native code into the {place}, without, median", before[place], "ms")
            yield Figure("added to it by KernelDoctor (difference of medians)", after[place] - before[place], "ms", 100)
    finally:
        plain.close()
        watched.close()


def _latencies_ms(kernel: LiveKernel, lines: int) -> dict[str, float]:
    """The median time from a line's writing to its arrival, in each place."""
    log = (kernel.data_root.parent / f"{kernel.kernel_id}.log").open("rb")
    asked = kernel.client.execute(OUTPUT.replace("LINES", str(lines)))
    took: dict[str, list[float]] = {"notebook": [], "log": []}
    is_over = False
    while not is_over or len(took["log"]) < lines:
        try:
            message = kernel.client.get_iopub_msg(timeout=0.001)
        except queue.Empty:
            message = {"msg_type": ""}
        now = time.time_ns()
        if message["msg_type"] == "stream":
            took["notebook"] += [(now - int(line)) / 1e6 for line in message["content"]["text"].split()]
        elif message["msg_type"] == "status" and message["parent_header"].get("msg_id") == asked:
            is_over = message["content"]["execution_state"] == "idle"
        took["log"] += [(time.time_ns() - int(line)) / 1e6 for line in log.read().split() if line.isdigit()]
    log.close()
    return {place: statistics.median(times) for place, times in took.items()}


def peak_error(work: Path) -> Iterator[Figure]:
    """How far the recorded peak is from 1 GiB that one call allocates, fills and frees."""
    kernel = LiveKernel(work / "data", work)
    try:
        kernel.load()
        kernel.run(f"len(b'x' * {GIB})")
        done = kernel.wait_recorded(lambda found: found.cells[-1].finished and "b'x'" in found.cells[-1].source)
        cell = done.cells[-1]
        error = abs(cell.peak_bytes - cell.rss_before_bytes - GIB) / GIB * 100
        yield Figure("peak of 1 GiB made and freed with the GIL held: error", error, "%", 1)
    finally:
        kernel.close()
