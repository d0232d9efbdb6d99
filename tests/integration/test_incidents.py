"""Near-deaths that a kernel survives: each made to happen for real, recorded, and told like a death."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.diagnosis import diagnose

if TYPE_CHECKING:
    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import Incident

MEMORY = """
import mmap, resource
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, hard))
try:
    swordfish = bytearray(64 << 30)
finally:
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
"""

THREADS = """
import resource, threading
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), hard))  # less than the stack of a thread
try:
    for _ in range(200):
        threading.Thread(target=threading.Event().wait, args=(2,), daemon=True).start()
finally:
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
"""

FILES = """
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
opened = []
try:
    while True:
        opened.append(open(os.devnull))
finally:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    [file.close() for file in opened]
"""

WORKER = """
import os
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(1) as pool:
    pool.submit(os._exit, 3).result()
"""

SPACE = "with open('/dev/full', 'w') as file:\n    file.write('swordfish')"
RECURSION = "def down(n):\n    return down(n + 1)\n\ndown(0)"
MIXED = "raise ImportError('numpy.core.multiarray failed to import')"


def survived(kernel: LiveKernel, source: str) -> Incident:
    """Run a cell that raises, and return the incident that was recorded of it."""
    count = kernel.run(source).reply["execution_count"]

    def is_told(recording: object) -> bool:
        seqs = [cell.seq for cell in recording.cells if cell.execution_count == count]
        return any(incident.cell_seq in seqs for incident in recording.incidents)

    return kernel.wait_recorded(is_told).incidents[-1]


@requires.linux
@pytest.mark.parametrize(
    ("source", "line", "expected", "cause"),
    [
        (MEMORY, 6, ("memory-error", "MemoryError"), "allocation-refused"),
        (THREADS, 8, ("no-threads", "RuntimeError"), "thread-limit"),
        (FILES, 8, ("too-many-files", "OSError"), "fd-limit"),
        (SPACE, 1, ("no-space", "OSError"), "disk-full"),
        (RECURSION, 2, ("recursion", "RecursionError"), "stack-overflow"),
        (MIXED, 1, ("binary-mismatch", "ImportError"), "binary-incompatibility"),
    ],
)
def test_it_is_recorded_and_named_while_the_kernel_lives(living_kernel, source, line, expected, cause):
    incident = survived(living_kernel, source)

    assert (incident.kind, incident.error) == expected
    assert incident.rss_bytes > 10 << 20
    assert "swordfish" not in str(incident)
    answer = diagnose(living_kernel.recording())
    assert (answer.cause.id, answer.end.kind) == (cause, "running")
    assert answer.cell.source == source
    assert answer.cell.line == line


def test_a_worker_that_was_lost(living_kernel):
    assert survived(living_kernel, WORKER).kind == "broken-pool"


@pytest.mark.parametrize(
    "source",
    ["1 / 0", "raise KeyboardInterrupt", "raise SystemExit(1)", "open('/no/such/file')", "int('out of memory')", "x ="],
)
def test_an_error_like_any_other_is_none(living_kernel, source):
    before = len(living_kernel.recording().incidents)
    living_kernel.run(source)
    after = repr(f"after {source}")
    living_kernel.run(after)
    recording = living_kernel.wait_recorded(lambda found: found.cells[-1].source == after and found.cells[-1].finished)

    assert recording.cells[-2].source == source
    assert recording.cells[-2].error is not None
    assert len(recording.incidents) == before


def test_where_no_file_is_left_the_magic_says_so_and_is_no_incident_itself(living_kernel):
    kernel = living_kernel
    cause = survived(kernel, FILES.partition("finally")[0] + "except KeyError:\n    pass")
    told = kernel.run("%postmortem").stderr
    kernel.run(close := "[file.close() for file in opened]")

    assert "jupyter kerneldoctor report --kernel" in told
    assert kernel.wait_recorded(lambda found: found.cells[-1].source == close).incidents[-1] == cause


def test_it_is_told_like_a_death_and_stays_listed_after_an_orderly_end(kernel):
    survived(kernel, SPACE)

    shown = kernel.run("%postmortem").outputs[-1]["content"]["data"]["text/plain"]
    assert "had no room left" in shown
    assert "Survived, still running" in shown
    assert "MEMORY" not in shown
    assert "MEMORY" in kernel.run("%postmortem --details").outputs[-1]["content"]["data"]["text/plain"]
    assert report(kernel)["cause"] == "disk-full"

    kernel.manager.shutdown_kernel()
    kernel.wait_sidecar_gone()
    document = report(kernel)
    assert document["cause"] == "ordinary-end"
    assert [incident["id"] for incident in document["incidents"]] == ["disk-full"]
    assert document["incidents"][0]["cell"]["line"] == 1


def report(kernel: LiveKernel) -> dict:
    """What `jupyter kerneldoctor report --last --json` prints."""
    result = subprocess.run(
        [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--last", "--json"],
        env={"KERNELDOCTOR_DATA_DIR": str(kernel.data_root), "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
    )
    return json.loads(result.stdout)
