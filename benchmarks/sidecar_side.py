"""What the sidecar takes: memory and processor time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from figures import Figure
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
        yield Figure("sidecar: memory (PSS, shared pages by share)", _rollup_bytes(sidecar, "Pss:") / 2**20, "MiB", 12)
        yield Figure("sidecar: memory (RSS, shared pages in full)", _rollup_bytes(sidecar, "Rss:") / 2**20, "MiB")
        yield Figure("sidecar: processor, kernel idle", _cpu_share(sidecar, lambda: time.sleep(seconds)), "%", 0.2)
        busy = BUSY.format(seconds=seconds)
        share = _cpu_share(sidecar, lambda: kernel.run(busy))
        yield Figure("sidecar: processor, memory moving all the time", share, "%", 1)
    finally:
        kernel.close()


def many_idle(work: Path, kernels: int, seconds: float) -> Iterator[Figure]:
    """Processor time of the sidecars of 20 idle kernels together, taken from as many real ones as are asked for."""
    running = [LiveKernel(work / f"idle-{number}", work) for number in range(kernels)]
    try:
        for kernel in running:
            kernel.load()
        sidecars = [kernel.sidecar_pid() for kernel in running]
        time.sleep(5)
        begin, used = time.perf_counter(), sum(map(_cpu_s, sidecars))
        time.sleep(seconds)
        share = (sum(map(_cpu_s, sidecars)) - used) / (time.perf_counter() - begin) * 100
        name = f"20 idle kernels: processor, all sidecars (measured with {kernels})"
        yield Figure(name, share * 20 / kernels, "%", 1)
    finally:
        for kernel in running:
            kernel.close()


def _rollup_bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _cpu_share(pid: int, work: Callable[[], object]) -> float:
    """Percent of one core that the process used while `work` ran."""
    begin, used = time.perf_counter(), _cpu_s(pid)
    work()
    return (_cpu_s(pid) - used) / (time.perf_counter() - begin) * 100


def _cpu_s(pid: int) -> float:
    """Processor time of all threads in nanosecond resolution (/proc/PID/task/TID/schedstat)."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
