"""Kernel and sidecar end together: what the next reader finds."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.recording.processes import boot_id
from jupyter_kerneldoctor.recording.reader import observe

if TYPE_CHECKING:
    from support.kernels import LiveKernel

pytestmark = requires.linux

FILL_SLOWLY = "import time\npile = []\nwhile True:\n    pile.append(bytearray(300_000)); time.sleep(0.01)"


def processes_of(kernel: LiveKernel) -> list[int]:
    """All in the kernel's memory control group: also its sidecar."""
    lines = Path(f"/proc/{kernel.pid}/cgroup").read_text().splitlines()
    path = next(line.split(":", 2)[2] for line in lines if "memory" in line.split(":")[1] or line.startswith("0::"))
    roots = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
    group = next(Path(root + path) for root in roots if Path(root + path, "cgroup.procs").exists())
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def test_a_group_that_is_killed_at_once_leaves_the_last_second_and_no_end(limited_kernel: LiveKernel) -> None:
    limited_kernel.client.execute(FILL_SLOWLY)
    limited_kernel.wait_recorded(lambda found: found.running_cell is not None and len(found.samples) > 20)
    sidecar = limited_kernel.sidecar_pid()
    members = processes_of(limited_kernel)
    assert {limited_kernel.pid, sidecar} <= set(members)

    now = time.monotonic()
    for pid in sorted(members, key=lambda pid: pid != sidecar):  # one after the other: it must not see the others go
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    limited_kernel.wait_dead()
    limited_kernel.wait_sidecar_gone()
    recording = observe(limited_kernel.recording())

    assert recording.end is None
    assert (recording.alive, recording.rebooted) == (False, False)
    assert recording.kernel.process.boot_id == boot_id()
    assert recording.running_cell.source == FILL_SLOWLY
    assert now - recording.samples[-1].mono_s < 1.0
    assert recording.samples[-1].rss_bytes > recording.samples[0].rss_bytes
    assert any(limit.kind == "cgroup" and limit.bytes == 300 << 20 for limit in recording.limits)
    assert recording.system_states[0].when == "start"


def test_the_memory_of_the_last_second_is_there_also_when_it_jumps(limited_kernel: LiveKernel) -> None:
    limited_kernel.client.execute("import time\npile = bytearray(b'x' * 150_000_000)\ntime.sleep(60)")
    limited_kernel.wait_recorded(lambda found: found.samples[-1].rss_bytes > 150_000_000)
    time.sleep(1)
    now = time.monotonic()
    for pid in (limited_kernel.sidecar_pid(), limited_kernel.pid):
        os.kill(pid, signal.SIGKILL)
    limited_kernel.wait_dead()

    last = limited_kernel.recording().samples[-1]
    assert now - last.mono_s < 1.5, "a second, and what a busy machine adds"
    assert last.rss_bytes > 150_000_000


@pytest.mark.parametrize("after_ms", [15, 35])
def test_the_newest_cell_is_known_though_kernel_and_sidecar_die_together(kernel: LiveKernel, after_ms: int) -> None:
    sidecar = kernel.sidecar_pid()
    kernel.run("import os, signal, time; time.sleep(0.1)")
    kernel.run_and_die(f"time.sleep({after_ms} / 1000); os.kill({sidecar}, 9); os.kill(os.getpid(), 9)")

    assert kernel.recording().cells[-1].source.startswith("time.sleep")
