"""Kernels that run out of memory under a real limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from support import requires

from jupyter_kerneldoctor.diagnosis import diagnose

if TYPE_CHECKING:
    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux


def killed_at_the_limit(kernel: LiveKernel) -> Recording:
    """Return the recording, once it is known to tell of the kill."""
    recording = kernel.recording()
    answer = diagnose(recording)
    assert recording.end.signal == "SIGKILL"
    assert answer.cause.id == "oom-cgroup"
    assert answer.cause.certainty.word == "proven" or not recording.samples, "only before the first look it is likely"
    if recording.end.source != "the system's log":  # else Linux ended the recorder, too, before it had a turn
        assert recording.end.cgroups[0].oom_kills_after == 1
        assert recording.end.cgroups[0].limit_bytes == 300 << 20
    return recording


def test_a_kill_by_the_limit_raises_the_counter_of_its_group(limited_kernel: LiveKernel) -> None:
    limited_kernel.wait_recorded(lambda found: found.samples)  # a kernel that dies sooner has none
    limited_kernel.run_and_die("pile = []\nwhile True:\n    pile.append(bytearray(1_000_000))")
    recording = killed_at_the_limit(limited_kernel)

    assert max(sample.rss_bytes for sample in recording.samples) > 100 << 20
    assert any(limit.kind == "cgroup" and limit.bytes == 300 << 20 for limit in recording.limits)


def test_one_jump_beyond_the_limit_is_recorded_too(limited_kernel: LiveKernel) -> None:
    limited_kernel.run_and_die("huge = b'x' * 2_000_000_000")

    killed_at_the_limit(limited_kernel)


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
