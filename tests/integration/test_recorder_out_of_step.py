"""The recorder lives and cannot record: it was stopped, or the disk is full. The user is told what is true."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support import requires
from support.fixtures import mounted_tmpfs
from support.kernels import LiveKernel

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.reader import observe
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.inspection import NothingKeptError, inspect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = requires.linux

BLOCK_BYTES = os.sysconf("SC_PAGE_SIZE")
"""tmpfs takes space in pages."""


def test_a_stopped_recorder_is_not_called_gone_and_what_it_missed_is_not_made_up(kernel: LiveKernel) -> None:
    kernel.run("x = 1")
    sidecar = kernel.sidecar_pid()
    os.kill(sidecar, signal.SIGSTOP)
    try:
        kernel.run_and_die("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        recording = observe(kernel.recording())
    finally:
        os.kill(sidecar, signal.SIGCONT)

    assert (recording.alive, recording.recorder_alive, recording.end) == (False, True, None)
    answer = diagnose(recording)
    assert "no cell was running" not in answer.cause.headline
    assert "is alive but does not answer" in " ".join(evidence.text for evidence in answer.cause.evidence)
    assert answer.cell is None

    kernel.wait_sidecar_gone()
    assert diagnose(observe(kernel.recording())).end.signal == "SIGKILL"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    with mounted_tmpfs(tmp_path / "small", "2m") as disk:
        yield disk


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(BLOCK_BYTES))


def use_up_what_was_held(kernel: LiveKernel, journal: Path) -> None:
    """Run cells until no ordinary event is written any more: what is left is held for the end."""
    size = -1
    while size != (size := journal.stat().st_size):
        for number in range(10):
            kernel.run(f"# {number} " + "x" * 500)
        time.sleep(0.2)  # the recorder looks at what came together at most so often


@requires.root
def test_a_full_disk_is_named_when_somebody_asks(small_disk: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(small_disk))
    kernel = LiveKernel(small_disk, tmp_path)
    try:
        kernel.load()
        assert "disk is full" not in kernel.run("%kerneldoctor status").stdout
        recording_id = kernel.recording().id
        fill(small_disk)

        said = kernel.run("%kerneldoctor status").stdout
        assert "recording this kernel, but the disk is full: most of what happens now is lost." in said
        use_up_what_was_held(kernel, Store().path(recording_id) / JOURNAL)
        with pytest.raises(NothingKeptError, match="the disk is full"):
            inspect(Store(), recording_id, timeout_s=0.5)

        (small_disk / "filler").unlink()
        assert "disk is full" not in kernel.run("%kerneldoctor status").stdout
    finally:
        kernel.close()


@requires.root
def test_on_a_full_disk_the_last_cell_its_crash_and_the_end_are_recorded(
    small_disk: Path, start_kernel: Callable[..., LiveKernel]
) -> None:
    kernel = start_kernel(data_root=small_disk)
    kernel.load()
    kernel.wait_recorded(lambda found: found.limits)
    kernel.run(f"import subprocess; subprocess.run('dd if=/dev/zero of={small_disk}/filler', shell=True)")
    for number in range(60):
        kernel.run(f"{number}  # " + "x" * 2000)
    kernel.run_and_die("def crash():\n    import ctypes; ctypes.string_at(0)\ncrash()")
    kernel.wait_sidecar_gone()

    recording = kernel.recording()
    assert recording.end is not None
    assert recording.end.signal == "SIGSEGV"
    assert recording.end.lost
    assert recording.running_cell is not None
    assert recording.running_cell.source.endswith("crash()")
    assert "in crash" in recording.crash_text
    assert diagnose(observe(recording)).cause.id == "segfault"
