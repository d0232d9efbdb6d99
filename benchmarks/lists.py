"""How long a list of many recordings takes, once each has been judged."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from figures import Figure

from jupyter_kerneldoctor.recording.layout import JOURNAL, recordings_dir
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIRST_S = 1_795_000_000
_ROWS_MS = {2000: 100}
"""Goals, by how many recordings there are."""


def lists(work: Path, counts: tuple[tuple[int, float], ...]) -> Iterator[Figure]:
    """`list --json`, and the rows as a server gets them that has just started; `counts` with the goals in seconds."""
    root, made = work / "lists", 0
    for count, goal in counts:
        for number in range(made, count):
            _make(root, number)
        begin = time.perf_counter()
        PostMortems(Store(root)).rows()
        each = (time.perf_counter() - begin) / (count - made) * 1000
        made = count
        yield Figure(f"the first list of {count} recordings, for each new one", each, "ms")
        command = [sys.executable, "-m", "jupyter_kerneldoctor", "list", "--json"]
        environment = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(root)}
        times = [_timed_s(command, environment, root) for _ in range(5)]
        yield Figure(f"`jupyter-kerneldoctor list --json`, {count} recordings", statistics.median(times), "s", goal)
        begin = time.perf_counter()
        PostMortems(Store(root)).rows()
        rows = (time.perf_counter() - begin) * 1000
        yield Figure(f"the rows of {count} recordings, first `GET` of a server", rows, "ms", _ROWS_MS.get(count))


def _make(root: Path, number: int) -> None:
    at = _FIRST_S + number * 60.0
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    directory = recordings_dir(root) / f"{stamp}-{number + 1}-{number:06x}"
    directory.mkdir(mode=0o700, parents=True)
    events = [
        {"event": "start", "mono_s": 1.0, "wall_s": at, "process": [number + 1, 1, "boot"], "kernel_id": str(number)},
        {"event": "cell_start", "mono_s": 2.0, "wall_s": at + 1, "seq": 1, "execution_count": 1, "source": "work()"},
        {"event": "end", "mono_s": 9.0, "wall_s": at + 8, "kind": "signal", "signal": "SIGSEGV", "source": "pidfd"},
    ]
    (directory / JOURNAL).write_text("".join(json.dumps(event) + "\n" for event in events))


def _timed_s(command: list[str], environment: dict[str, str], directory: Path) -> float:
    """Time a command, which must be run elsewhere: below a checkout `-m` takes that, whose rules are other files."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=directory)
    return time.perf_counter() - begin
