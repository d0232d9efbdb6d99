"""The line of a cell that was killed by its memory limit, which leaves no traceback: read from outside before."""

from __future__ import annotations

import importlib.util
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from support import requires
from support.stacks import can_be_read

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.journal import read_events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel

pytestmark = [requires.linux, requires.readable_stacks]


def needs(module: str) -> Any:
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"cannot run here: {module} is not installed")


LOOP = """\
pile = []
size = 1_000_000
while True:
    block = bytearray(size)
    pile.append(block)
"""

COMPREHENSION = """\
columns = 100

rows = [
    [number] * columns
    for number in range(10**8)
]
print(len(rows))
"""

DEEP_INSIDE_PANDAS = """\
import pandas as pd
n = 6_000
left = pd.DataFrame({"key": [0] * n, "value": range(n)})
right = left.copy()
both = left.merge(right, on="key")
print(len(both))
"""

HOLDS_THE_GIL = """\
import numpy as np
few = np.ones(1_000)
total = sum(number for number in range(500_000))
many = np.ones(900 * 2**20 // 8)
print(few, many)
"""

IN_A_FUNCTION = """\
def load(times):
    kept = []
    for number in range(times):
        kept.append(bytearray(2_000_000))
    return kept

few = load(3)
all_of_it = load(10_000)
"""


@pytest.mark.parametrize(
    ("source", "lines", "called"),
    [
        pytest.param(LOOP, {4, 5}, None, id="a loop that appends"),
        # Python puts an item into the list on the line where the comprehension begins.
        pytest.param(COMPREHENSION, {3, 4, 5}, None, id="a list comprehension"),
        pytest.param(IN_A_FUNCTION, {3, 4}, "in `load` (cell [", id="a function of the cell's own"),
        pytest.param(DEEP_INSIDE_PANDAS, {5}, "inside pandas.", marks=needs("pandas"),
                     id="a call deep inside pandas"),
        pytest.param(HOLDS_THE_GIL, {4}, "inside numpy.", marks=needs("numpy"),
                     id="a NumPy call that holds the GIL"),
    ],
)  # fmt: skip
def test_the_line_that_was_killed(limited_kernel: LiveKernel, source: str, lines: set[int], called: str | None) -> None:
    limited_kernel.wait_recorded(can_be_read)
    limited_kernel.run_and_die(source)
    answer = diagnose(limited_kernel.recording())

    assert answer.cause.id == "oom-cgroup"
    assert answer.cell is not None
    assert answer.cell.line in lines, [(one.mono_s, one.reason) for one in limited_kernel.recording().stacks]
    seen = [one.text for one in answer.cause.evidence if one.source == "stack read from outside the process"]
    assert len(seen) == 1
    assert called is None or called in seen[0]


def test_switched_off_it_reads_nothing(limited_kernel: LiveKernel) -> None:
    limited_kernel.run("get_ipython().config.KernelDoctor.stacks = False\n%unload_ext kerneldoctor")
    limited_kernel.load()
    limited_kernel.run_and_die(LOOP)
    recording = limited_kernel.recording()

    assert recording.end is not None
    assert recording.end.signal == "SIGKILL"
    assert recording.stacks == ()
    assert diagnose(recording).cell.line is None


def test_away_from_the_limit_it_reads_nothing(kernel: LiveKernel) -> None:
    kernel.wait_recorded(can_be_read)
    kernel.run("import time\nbegin = time.time()\nwhile time.time() < begin + 2:\n    block = bytearray(1_000_000)")

    assert kernel.recording().stacks == ()


def test_long_near_the_limit_the_recording_stays_small(limited_kernel: LiveKernel) -> None:
    """Every stack differs from the one before."""
    limited_kernel.wait_recorded(can_be_read)
    lines = "\n".join(f"    pile[{n} % len(pile)] = bytearray({2_000_000 + n % 2 * 4_000_000})" for n in range(40))
    limited_kernel.run(
        "import time\npile = [bytearray(2_000_000) for _ in range(60)]\nbegin = time.time()\n"
        f"while time.time() < begin + 5:\n{lines}"
    )
    stacks = limited_kernel.recording().stacks

    assert len(stacks) <= 8 + 5 * 4
    assert len(json.dumps(journal_events(limited_kernel, "stack"))) < 50_000


def test_an_interpreter_that_is_not_the_recorders_is_left_alone(start_kernel: Callable[..., LiveKernel]) -> None:
    """A kernel that tells nonsense about itself: no stacks, no harm."""
    kernel = start_kernel()
    kernel.run("from jupyter_kerneldoctor.kernel import stack_access\ntracing.runtime = lambda: [1 << 40, 2, 3, 4, 5]")
    kernel.load()
    time.sleep(1)

    assert kernel.run("6 * 7").result == "42"
    assert journal_events(kernel, "fault") == []
    assert kernel.recording().stacks == ()


def journal_events(kernel: LiveKernel, kind: str) -> list[dict[str, Any]]:
    journals: list[Path] = list(kernel.data_root.glob("recordings/*/journal.jsonl"))
    return [event for journal in journals for event in read_events(journal) if event["event"] == kind]
