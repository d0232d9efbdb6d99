"""What the sidecar takes: memory and processor time."""

from __future__ import annotations

import ast
import os
import signal
import statistics
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from figures import Figure, standard_error
from support.kernels import LiveKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUSY = "import time\n_end = time.time() + {seconds}\nwhile time.time() < _end:\n    _block = bytearray(30_000_000)\n"


def sidecar_cost(work: Path, seconds: float) -> Iterator[Figure]:
    """Memory and processor time of a sidecar whose kernel idles, and whose kernel works."""
    kernel = LiveKernel(work / "data", work)
    try:
        kernel.load()
        sidecar = kernel.sidecar_pid()
        time.sleep(3)
        yield Figure("sidecar: memory (PSS, shared pages by share)", rollup_bytes(sidecar, "Pss:") / 2**20, "MiB", 12)
        yield Figure("sidecar: memory (RSS, shared pages in full)", rollup_bytes(sidecar, "Rss:") / 2**20, "MiB")
        yield Figure("sidecar: processor, kernel idle", _cpu_share(sidecar, lambda: time.sleep(seconds)), "% core", 0.2)
        for what, length in (("memory moving all the time", seconds), ("the first second in which memory moves", 1.0)):
            share = _cpu_share(sidecar, lambda length=length: kernel.run(BUSY.format(seconds=length)))
            yield Figure(f"sidecar: processor, {what}", share, "% core", 1)
    finally:
        kernel.close()


GROWING = """import gc, time
gc.disable()  # a collection of all that was kept takes longer from turn to turn, and would be the noise here
class Collector:
    def __init__(self):
        self.kept, self.marks = [], []
    def parse(self, number):
        return {"id": number, "values": [float(number + i) for i in range(400)]}
    def run(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self.marks.append((now, time.thread_time()))
            for number in range(100):
                parsed = [self.parse(number) for _ in range(4)]
                self.kept.append(parsed[0])
        return self.marks
print(Collector().run(SECONDS))
"""
_TURN_S = 0.5


def growing_cell(work: Path, seconds: float, cells: int) -> Iterator[Figure]:
    """How much a cell that grows is slowed down by being watched, and what the sidecar takes meanwhile."""
    kernel = LiveKernel(work / "growing", work)
    try:
        kernel.load()
        sidecar = kernel.sidecar_pid()
        growing = GROWING.replace("SECONDS", str(seconds))
        time.sleep(1)
        share = _cpu_share(sidecar, lambda: kernel.run(growing))
        yield Figure(f"sidecar: processor, a cell that grows for {seconds:g} s", share, "% core", 1)
        yield Figure("sidecar: memory (PSS) after a cell that grew", rollup_bytes(sidecar, "Pss:") / 2**20, "MiB", 12)
        slower = [share for _ in range(cells) for share in _slower_by(kernel, growing)]
        name = "a cell that grows: slower by (processor time)"
        yield Figure(name, statistics.median(slower), "%", 1, error=standard_error(slower))
    finally:
        kernel.close()


def _slower_by(kernel: LiveKernel, growing: str) -> list[float]:
    """Run the cell, with the sidecar stopped for every other half second; return by how much that is faster, in %."""
    turns = []
    runs = Thread(target=lambda: turns.append(kernel.run(growing)))
    runs.start()
    sidecar, watched_until, stopped_until = kernel.sidecar_pid(), [], []
    while runs.is_alive():
        time.sleep(_TURN_S)
        watched_until.append(time.monotonic())
        os.kill(sidecar, signal.SIGSTOP)
        time.sleep(_TURN_S)
        stopped_until.append(time.monotonic())
        os.kill(sidecar, signal.SIGCONT)
    marks = ast.literal_eval(turns[0].stdout)
    stopped = [_cpu_of_a_round(marks, end) for end in stopped_until]
    watched = [_cpu_of_a_round(marks, end) for end in watched_until]
    # Each turn without the sidecar between two with it: what slows down as the cell grows counts for neither.
    return [
        ((before + after) / 2 / between - 1) * 100
        for before, between, after in zip(watched, stopped, watched[1:], strict=False)
        if before and between and after
    ]


def _cpu_of_a_round(marks: list[tuple[float, float]], until: float) -> float | None:
    """Processor time of one round of the loop in the turn that ended then; None where it took more than the turn."""
    own = [cpu_s for mono_s, cpu_s in marks if until - _TURN_S < mono_s < until]
    return (own[-1] - own[0]) / (len(own) - 1) if len(own) > 2 else None


def many_idle(work: Path, kernels: int, seconds: float) -> Iterator[Figure]:
    """Processor time of the sidecars of 20 idle kernels together, taken from as many real ones as are asked for."""
    running = [LiveKernel(work / f"idle-{number}", work) for number in range(kernels)]
    try:
        for kernel in running:
            kernel.load()
        sidecars = [kernel.sidecar_pid() for kernel in running]
        time.sleep(5)
        begin, used = time.perf_counter(), sum(map(cpu_s, sidecars))
        time.sleep(seconds)
        share = (sum(map(cpu_s, sidecars)) - used) / (time.perf_counter() - begin) * 100
        name = f"20 idle kernels: processor, all sidecars (measured with {kernels})"
        yield Figure(name, share * 20 / kernels, "% core", 1)
    finally:
        for kernel in running:
            kernel.close()


def rollup_bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _cpu_share(pid: int, work: Callable[[], object]) -> float:
    """Percent of one core that the process used while `work` ran."""
    begin, used = time.perf_counter(), cpu_s(pid)
    work()
    return (cpu_s(pid) - used) / (time.perf_counter() - begin) * 100


def cpu_s(pid: int) -> float:
    """Processor time of all threads in nanosecond resolution (/proc/PID/task/TID/schedstat)."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
