"""What KernelDoctor costs, measured with real kernels in one run; `--quick` for fewer rounds.

Each figure stands beside its goal; the exit status is 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "demo")]

from support.kernels import LiveKernel  # noqa: E402

from jupyter_kerneldoctor.diagnosis import diagnose  # noqa: E402
from jupyter_kerneldoctor.diagnosis.cause import all_causes  # noqa: E402
from jupyter_kerneldoctor.recording.journal import JsonLines, read_events  # noqa: E402
from jupyter_kerneldoctor.recording.layout import JOURNAL  # noqa: E402
from jupyter_kerneldoctor.recording.reader import read  # noqa: E402
from jupyter_kerneldoctor.recording.samples import Sample, SampleWriter  # noqa: E402
from jupyter_kerneldoctor.recording.store import Store  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GIB = 1 << 30


class Figure(NamedTuple):
    """One line of the result."""

    name: str
    value: float
    unit: str
    goal: float | None = None

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"goal <= {self.goal:g} {self.unit}"
        verdict = "" if self.goal is None else ("ok" if self.value <= self.goal else "MISSED")
        return f"{self.name:<62} {self.value:>9.3g} {self.unit:<6} {goal:<22} {verdict}"


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
    _hooks._running = None  # so that the cells are not taken for parts of this one
    _Stretch._under_way.clear()
    _hooks._is_nested = lambda: False
    _with.append(_round())
    _hooks.remove()
    _without.append(_round())
    _hooks.install()
[statistics.median(_with), statistics.median(_without)]
"""

BUSY = "import time\n_end = time.time() + {seconds}\nwhile time.time() < _end:\n    _block = bytearray(30_000_000)\n"


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


# What a day of steady work is taken to be: eight hours with a cell every 20 s, while memory moves without a pause for
# the whole 24 h. Cells are as long as those of shared notebooks are on average, most of them are run again and again.
CELLS_A_DAY = 8 * 3600 // 20
CELL = """\
# a step of the analysis: read a part, clean it, look at it
import random, statistics
rows = [{{"id": n, "group": n % 17, "value": random.gauss(0, 1)}} for n in range({rows})]
groups = {{}}
for row in rows:
    groups.setdefault(row["group"], []).append(row["value"])
summary = {{group: (statistics.fmean(values), statistics.pstdev(values)) for group, values in groups.items()}}
for group, (mean, spread) in sorted(summary.items()):
    if abs(mean) > 3 * spread / len(groups[group]) ** 0.5:
        print(f"group {{group}} is off: mean {{mean:.3f}}, spread {{spread:.3f}}")
block_{name} = bytearray({size})
"""


def day_on_disk(work: Path, cells: int) -> Iterator[Figure]:
    """Bytes of one day: those of a real kernel's cells times the cells of a day, and the samples of a simulated one."""
    kernel = LiveKernel(work / "day", work)
    try:
        kernel.load()
        kernel.sidecar_pid()
        (recording_id,) = Store(kernel.data_root).ids()
        journal = Store(kernel.data_root).path(recording_id) / "journal.jsonl"
        before = journal.stat().st_size
        for number in range(cells):
            kernel.run(CELL.format(rows=2000 + number, name="abc"[number % 3], size=(number % 7 + 1) * 10_000_000))
        kernel.wait_recorded(lambda found: len(found.cells) > cells and found.cells[-1].finished)
        time.sleep(1)
        per_cell = (journal.stat().st_size - before) / cells
    finally:
        kernel.close()
    source = len(CELL.format(rows=2000, name="a", size=10_000_000))
    yield Figure(f"journal: for each cell, of which its source {source} B", per_cell, "B")
    samples = _samples_of_a_day(work / "simulated")
    yield Figure("samples of 24 h in which memory never rests (simulated clock)", samples / 1e6, "MB")
    whole = per_cell * CELLS_A_DAY + samples
    yield Figure(f"a day on disk: {CELLS_A_DAY} such cells and these samples", whole / 1e6, "MB", 5)


def diagnosing(work: Path) -> Iterator[Figure]:
    """How long a diagnosis takes: of the example of every cause, and of a day that ended out of memory."""
    times = [_timed_s(lambda one=one: diagnose(one)) for cause in all_causes() for one in cause.fires_on()]
    del times[0]  # the first one imports what the others use
    yield Figure(f"diagnosing, median of {len(times)} examples", statistics.median(times) * 1000, "ms", 50)
    directory = work / "20261121T000000Z-4242-abcdef"
    _samples_of_a_day(directory)
    _cells_of_a_day(directory)
    reading = statistics.median(_timed_s(lambda: read(directory)) for _ in range(5))
    yield Figure("reading the recording of a day", reading * 1000, "ms")
    day = read(directory)
    whole = statistics.median(_timed_s(lambda: diagnose(day)) for _ in range(5))
    yield Figure("diagnosing it", whole * 1000, "ms", 200)


def _timed_s(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _cells_of_a_day(directory: Path) -> None:
    """The journal to the samples of `_samples_of_a_day`; its last cell is killed at a memory limit."""
    journal = JsonLines(directory / JOURNAL)
    clock = {"mono_s": 100_000.0, "wall_s": 1.8e9}
    journal.write({"event": "start", **clock, "process": [4242, 1, "boot"], "ram_bytes": 16 * GIB})
    limit = {"kind": "cgroup", "name": "container limit", "bytes": 6 * GIB, "source": "memory.max"}
    journal.write({"event": "limits", **clock, "limits": [limit]})
    for seq in range(CELLS_A_DAY):
        began = 100_000.0 + seq * 60
        source = CELL.format(rows=2000 + seq, name="abc"[seq % 3], size=10_000_000)
        cell = {"event": "cell_start", "seq": seq, "mono_s": began, "execution_count": seq, "source": source}
        journal.write({**cell, "rss_before_bytes": 2 * GIB})
        held = {"name": "rows", "type": "builtins.list", "bytes": GIB, "items": 2000}
        journal.write({"event": "namespace", "mono_s": began + 20, "cell_seq": seq, "objects": [held] * 12})
        if seq < CELLS_A_DAY - 1:
            ended = {"event": "cell_end", "seq": seq, "mono_s": began + 20}
            journal.write({**ended, "rss_after_bytes": 2 * GIB, "peak_bytes": 3 * GIB, "peak_basis": "exact"})
    counts = {"oom_kills_before": 0, "oom_kills_after": 1, "limit_bytes": 6 * GIB}
    group = {"path": "/kernel", "source": "memory.events", **counts}
    end = {"event": "end", "kind": "signal", "signal": "SIGKILL", "source": "pidfd", "cgroups": [group]}
    journal.write({**end, "mono_s": 186_400.0, "wall_s": 1.8e9 + 86_400})
    journal.close()


def _samples_of_a_day(directory: Path) -> int:
    directory.mkdir()
    writer = SampleWriter(directory)
    for tick in range(24 * 3600 * 4):
        rss = 2_000_000_000 + 150_000_000 * (tick % 13) + 70_000_000 * (tick % 7)
        writer.write(Sample(100_000 + tick / 4, rss, rss + 50_000_000, 9_000_000_000 - rss, 0, rss + 80_000_000, 4))
    writer.close()
    return sum(file.stat().st_size for file in directory.iterdir())


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


def death_to_answer(work: Path, deaths: int) -> Iterator[Figure]:
    """From the kernel's end until the answer is there, in a process that has diagnosed before."""
    to_disk, to_answer, whole_call, named = [], [], [], 0
    for number in range(deaths):
        kernel = LiveKernel(work / f"deaths-{number}", work)
        try:
            kernel.load()
            kernel.run("import os")
            kernel.sidecar_pid()
            pidfd = os.pidfd_open(kernel.pid)
            kernel.client.execute("os.kill(os.getpid(), 9)")
            select.select([pidfd], [], [])
            dead = time.perf_counter()
            store = Store(kernel.data_root)
            (recording_id,) = store.ids()
            journal = store.path(recording_id) / "journal.jsonl"
            while not any(event["event"] == "end" for event in read_events(journal)):
                pass
            written = time.perf_counter()
            answer = diagnose(store.open(recording_id))
            to_disk.append(written - dead)
            to_answer.append(time.perf_counter() - dead)
            named += answer.cell is not None and answer.cell.source == "os.kill(os.getpid(), 9)"
            os.close(pidfd)
            if number < 5:
                whole_call.append(_cli_call_s(kernel.data_root))
        finally:
            kernel.close()
    yield Figure(f"recordings of {deaths} first-statement kills that miss the cell", deaths - named, "", 0)
    del to_answer[0], to_disk[0]  # the first diagnosis imports what the later ones use
    yield Figure(f"death to end event on disk, median of {len(to_disk)}", statistics.median(to_disk) * 1000, "ms")
    yield Figure("death to diagnosis, median", statistics.median(to_answer) * 1000, "ms")
    yield Figure("death to diagnosis, 99th percentile", _p99(to_answer) * 1000, "ms", 100)
    whole = statistics.median(whole_call) * 1000
    yield Figure("a whole call of `jupyter-kerneldoctor report --last --json`", whole, "ms")


def _cli_call_s(data_root: Path) -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--last", "--json"]
    environment = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(data_root)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - begin


def _rollup_bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _cpu_share(pid: int, work: object) -> float:
    """Percent of one core that the process used while `work` ran."""
    begin, used = time.perf_counter(), _cpu_s(pid)
    work()
    return (_cpu_s(pid) - used) / (time.perf_counter() - begin) * 100


def _cpu_s(pid: int) -> float:
    """Processor time of all threads in nanosecond resolution (/proc/PID/task/TID/schedstat)."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def _p99(values: list[float]) -> float:
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a minute less, and less exact")
    quick = parser.parse_args().quick
    print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="kerneldoctor-benchmark-") as directory:
        work = Path(directory)
        for figures in (
            cell_overhead(work, 10 if quick else 60),
            sidecar_cost(work, 8 if quick else 30),
            many_idle(work, 5 if quick else 20, 10 if quick else 30),
            day_on_disk(work, 40 if quick else 200),
            peak_error(work),
            death_to_answer(work, 6 if quick else 51),
            diagnosing(work),
        ):
            for figure in figures:
                print(figure, flush=True)
                missed += figure.goal is not None and figure.value > figure.goal
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
