"""The memory of a kernel, whoever moves it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.requires import linux

from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.sidecar.journal import Journal
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.memory import MemoryObserver
from jupyter_kerneldoctor.trial.memory_limit import NoMemoryLimitError, memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = linux


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a limit of 100 MiB."""
    try:
        with memory_limit(100 << 20, ["cgroup"]) as limit:
            assert limit.directory is not None
            yield limit.directory
    except NoMemoryLimitError as error:
        pytest.skip(f"cannot run here: {error}")


def test_a_kernel_that_is_moved_below_a_limit_is_followed_with_the_next_sample(tmp_path: Path, group: Path) -> None:
    """A starter may do that only after the recorder has begun; the kernel may die a moment later."""
    kernel, journal = subprocess.Popen(["sleep", "60"]), Journal(tmp_path / JOURNAL)
    try:
        watched = Watched(tmp_path, journal, identify(kernel.pid) or pytest.fail("it is gone"))
        observer = MemoryObserver(watched)
        observer.turn(100.0)
        (group / "cgroup.procs").write_text(str(kernel.pid))

        observer.turn(100.1)

        assert min(limit["bytes"] for limit in watched.limits) == 100 << 20
        assert observer.at_end()["cgroups"][0]["limit_bytes"] == 100 << 20

        file = next(one for one in ("memory.max", "memory.limit_in_bytes") if (group / one).exists())
        (group / file).write_text(str(80 << 20))  # or sets it only now
        observer.turn(100.2)
        assert min(limit["bytes"] for limit in watched.limits) == 80 << 20
    finally:
        kernel.kill()
        kernel.wait()
        journal.close()


@pytest.mark.parametrize(
    ("told", "next_s"),
    [
        ({"rss_after_bytes": 0, "peak_bytes": 0}, 0.5),
        ({"rss_after_bytes": 0, "peak_bytes": 50 << 20}, 0.05),
        ({"rss_after_bytes": 50 << 20, "peak_bytes": 50 << 20}, 0.05),
        ({}, 0.05),  # a kernel that loads nothing measures nothing itself
    ],
)
def test_a_short_cell_that_moved_no_memory_costs_no_sample_of_its_own(
    tmp_path: Path, told: dict[str, int], next_s: float
) -> None:
    journal = Journal(tmp_path / JOURNAL)
    watched = Watched(tmp_path, journal, identify(os.getpid()) or pytest.fail("there is no /proc"))
    observer = MemoryObserver(watched)
    for second in range(100, 110):
        observer.turn(second)
    assert watched.sample is not None
    rss = watched.sample.rss_bytes or 0

    watched.running = [1]
    observer.heard({"event": "cell_start", "seq": 1}, 109.0)
    watched.running = []
    observer.heard({"event": "cell_end", "seq": 1, **{name: rss + more for name, more in told.items()}}, 109.0)

    assert observer.due_mono_s == pytest.approx(109 + next_s)
    journal.close()
