"""A data directory on a file system that may stop answering: the kernel never waits for it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from support import requires

from jupyter_kerneldoctor.recording.remote_disk import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel


@requires.root
def test_a_kernel_starts_though_the_disk_does_not_answer(start_kernel: Callable[..., LiveKernel], hung: Path) -> None:
    kernel = start_kernel(data_root=hung / "data")

    begun = time.monotonic()
    outcome = kernel.load()

    assert time.monotonic() - begun < 60  # not for ever
    assert "has not answered" in outcome.stderr
    assert kernel.run("1 + 1").result == "2"
    assert "not recording" in kernel.run("%kerneldoctor status").stdout
    assert kernel.run("import os\ntry: os.wait()\nexcept ChildProcessError: print('none')").stdout == "none\n"


@requires.root
def test_where_a_path_lies_is_told_by_its_name(hung: Path, tmp_path: Path) -> None:
    assert is_remote(hung / "data" / "recordings")
    assert not is_remote(tmp_path / "data")


REMOTE = """\
from jupyter_kerneldoctor.kernel import doctor
doctor.is_remote = lambda path: True
%load_ext kerneldoctor
"""


@requires.linux
def test_a_crash_is_written_to_memory_and_recorded(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run(REMOTE)
    files = kernel.run("import os; [os.path.realpath(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')]")
    assert "crash.txt" not in str(files.result)
    kernel.run_and_die("import faulthandler\ndef down(): faulthandler._sigsegv()\ndown()")

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    assert "Segmentation fault" in recording.crash_text
    assert "in down" in recording.crash_text


@requires.linux
def test_that_the_sidecar_is_gone_is_written_by_another_process(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run(REMOTE)
    os.kill(kernel.sidecar_pid(), 9)
    kernel.wait_sidecar_gone()
    kernel.run("1")

    kernel.wait_recorded(lambda found: found.lost_wall_s is not None)
