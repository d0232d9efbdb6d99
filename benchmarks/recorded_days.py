"""How much a day of steady work takes on disk, and how long it takes to read and to diagnose it."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from figures import Figure
from support.kernels import LiveKernel

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.causes import all_causes
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.layout import JOURNAL, create
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.samples import Sample, SampleWriter
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GIB = 1 << 30

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
    yield Figure(
        f"diagnosing: processor time, median of {len(times)} examples", statistics.median(times) * 1000, "ms", 50
    )
    directory = work / "20261121T000000Z-4242-abcdef"
    write_day(directory)
    reading = statistics.median(_timed_s(lambda: read(directory)) for _ in range(5))
    yield Figure("reading the recording of a day: processor time", reading * 1000, "ms")
    day = read(directory)
    whole = statistics.median(_timed_s(lambda: diagnose(day)) for _ in range(5))
    yield Figure("diagnosing the recording of a day, once it is read: processor time", whole * 1000, "ms", 100)
    store = Store(work / "kept")
    write_day(create(directory.name, work / "kept"))
    PostMortems(store).document(directory.name)
    opening = statistics.median(_timed_s(lambda: PostMortems(store).document(directory.name)) for _ in range(5))
    yield Figure("opening the report of a day again, after a restart: processor time", opening * 1000, "ms", 200)


def _timed_s(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def write_day(directory: Path, every_s: float = 0.25) -> None:
    """Write the recording of a day that ended out of memory, with a sample every so many seconds."""
    _samples_of_a_day(directory, every_s)
    _cells_of_a_day(directory)


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


def _samples_of_a_day(directory: Path, every_s: float = 0.25) -> int:
    directory.mkdir(exist_ok=True)
    writer = SampleWriter(directory)
    for tick in range(int(24 * 3600 / every_s)):
        rss = 2_000_000_000 + 150_000_000 * (tick % 13) + 70_000_000 * (tick % 7)
        amounts = rss, rss + 50_000_000, 9_000_000_000 - rss, 0, rss + 80_000_000, 4
        writer.write(Sample(100_000 + tick * every_s, *amounts))
    writer.close()
    return sum(file.stat().st_size for file in directory.iterdir())
