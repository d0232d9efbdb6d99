"""How soon after a kernel's end the answer is there."""

from __future__ import annotations

import os
import select
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from figures import Figure, p99
from support.kernels import LiveKernel

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
    yield Figure("death to diagnosis, 99th percentile", p99(to_answer) * 1000, "ms", 100)
    whole = statistics.median(whole_call) * 1000
    yield Figure("a whole call of `jupyter-kerneldoctor report --last --json`", whole, "ms")


def _cli_call_s(data_root: Path) -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--last", "--json"]
    environment = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(data_root)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - begin
