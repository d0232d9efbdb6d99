"""Kernels that run out of memory under a real limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from support import requires

if TYPE_CHECKING:
    from support.kernels import LiveKernel

pytestmark = requires.linux


def test_a_kill_by_the_limit_raises_the_counter_of_its_group(limited_kernel: LiveKernel) -> None:
    limited_kernel.run_and_die("pile = []\nwhile True:\n    pile.append(bytearray(1_000_000))")
    recording = limited_kernel.recording()

    assert recording.end.signal == "SIGKILL"
    assert recording.end.cgroups[0].oom_kills == 1
    assert recording.end.cgroups[0].limit_bytes == 300 << 20
    assert max(sample.rss_bytes for sample in recording.samples) > 200 << 20
    assert any(limit.kind == "cgroup" and limit.bytes == 300 << 20 for limit in recording.limits)


def test_one_jump_beyond_the_limit_is_recorded_too(limited_kernel: LiveKernel) -> None:
    limited_kernel.run_and_die("huge = b'x' * 2_000_000_000")

    assert limited_kernel.recording().end.cgroups[0].oom_kills == 1


def test_a_child_killed_earlier_does_not_count(limited_kernel: LiveKernel) -> None:
    limited_kernel.run(
        "import subprocess, sys\n"
        "code = \"open('/proc/self/oom_score_adj', 'w').write('1000'); b'x' * 2_000_000_000\"\n"
        "print(subprocess.run([sys.executable, '-c', code]).returncode)"
    )
    time.sleep(0.5)  # several samples
    limited_kernel.run_and_die("import os\nos.kill(os.getpid(), 9)")
    own = limited_kernel.recording().end.cgroups[0]

    assert own.oom_kills == 0
    assert own.oom_kills_before == 1
