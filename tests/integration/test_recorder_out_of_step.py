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
from jupyter_kerneldoctor.inspection import NothingKeptError, inspect
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.reader import observe
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def wait_until_the_last_block_is_full(file: Path) -> None:
    """Half a line goes into what is left of the block that the file has."""
    deadline = time.monotonic() + 10
    while file.stat().st_size % BLOCK_BYTES:
        assert time.monotonic() < deadline, "The recorder does not write."
        time.sleep(0.01)


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
        assert "recording this kernel, but the disk is full: what happens now is not kept." in said
        kernel.run("# " + "x" * 20_000)
        wait_until_the_last_block_is_full(Store().path(recording_id) / JOURNAL)
        with pytest.raises(NothingKeptError, match="the disk is full"):
            inspect(Store(), recording_id, patience_s=0.5)

        (small_disk / "filler").unlink()
        assert "disk is full" not in kernel.run("%kerneldoctor status").stdout
    finally:
        kernel.close()
