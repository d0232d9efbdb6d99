"""Trials with real kernels: what comes of them is said, and nothing of them is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jupyter_client.connect import LocalPortCache

from jupyter_kerneldoctor.recording.model import Cell, End, Kernel, Limit, Recording
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.trial import Plan, Wishes, run
from jupyter_kerneldoctor.trial.fit import Fit, fit
from jupyter_kerneldoctor.trial.kernel import OwnKernel
from jupyter_kerneldoctor.trial.memory_limit import NoMemoryLimitError, memory_limit
from jupyter_kerneldoctor.trial.plan import PlannedCell

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
LIMIT = 300 * MIB
GROW = "kept = []\nwhile True: kept.append(b'x' * (10 << 20))"
PRODUCT = "for pair in list(itertools.product(range(4_000), repeat=2)):\n    if pair == (0, 9): break"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """The directory of the notebook."""
    (tmp_path / "notebook").mkdir()
    return tmp_path / "notebook"


def plan(directory: Path, *sources: str, changed: int = 1, **more: object) -> Plan:
    """Run these cells; the last `changed` of them are said to be changed by a fix."""
    cells = tuple(
        PlannedCell(source, number, is_changed=number > len(sources) - changed)
        for number, source in enumerate(sources, 1)
    )
    known = {"python": sys.executable, "directory": directory, "copies": True, "limit_bytes": LIMIT, "patience_s": 60.0}
    fix = {"id": "f", "title": "Less", "why": ""}
    return Plan("a recording", cells, **{**known, "fix": fix, "before": "killed at the limit", **more})


@pytest.fixture(autouse=True)
def needs_a_limit() -> None:
    try:
        with memory_limit(LIMIT):
            pass
    except NoMemoryLimitError as error:
        pytest.skip(f"cannot run here: {error}")


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No directory, process or control group of a trial, and nothing that its recorder keeps in memory."""
    disk, pids = tmp_path / "disk", []
    before = {*Path("/dev/shm").iterdir()}  # numbers of processes are given again
    disk.mkdir()
    monkeypatch.setenv("TMPDIR", str(disk))
    start = OwnKernel.start

    def noted(kernel: OwnKernel, *given: object) -> bool:
        is_ready = start(kernel, *given)
        pids.append(kernel.pid)
        return is_ready

    monkeypatch.setattr(OwnKernel, "start", noted)
    yield
    assert list(disk.glob("kerneldoctor-try-*")) == []
    assert [
        path for path in Path("/proc").glob("[0-9]*") if str(disk / "kerneldoctor-try-") in _environment(path)
    ] == []
    assert [*Path("/sys/fs/cgroup").rglob(f"kerneldoctor-{os.getpid()}-*")] == []
    assert {path for pid in pids for path in Path("/dev/shm").glob(f"kerneldoctor-*-{pid}-*")} <= before


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_text("utf-8", "replace")
    except OSError:
        return ""


@pytest.mark.parametrize("kind", ["cgroup", "rlimit"])
def test_what_fits_lives(notebook: Path, kind: str) -> None:
    told = []

    outcome = run(plan(notebook, "x = 1", "y = b'x' * (100 << 20); print(x)"), told.append, kinds=(kind,))

    assert outcome.kind == "lived"
    assert outcome.text.startswith("Lived: peak 1")
    assert "MiB of 300 MiB (before: killed at the limit), " in outcome.text
    assert 100 * MIB < outcome.peak_bytes < 250 * MIB
    assert [one.what for one in told] == ["started", "cell", "cell over", "cell", "cell over"]


def test_what_does_not_fit_dies_again_and_it_is_said_of_what(notebook: Path) -> None:
    outcome = run(plan(notebook, "x = 1", GROW))

    assert (outcome.kind, outcome.cause, outcome.execution_count) == ("died", "oom-cgroup", 2)
    assert "Died again" in outcome.text
    assert "ran out of memory in cell [2]" in outcome.text
    assert not outcome.lived


def test_below_a_limit_of_the_process_memory_is_refused_instead(notebook: Path) -> None:
    outcome = run(plan(notebook, "x = 1", GROW), kinds=("rlimit",))

    assert (outcome.kind, outcome.error) == ("out of memory", "MemoryError")
    assert "Out of memory again: cell [2] raises MemoryError" in outcome.text


def test_the_limits_that_the_recorded_process_had_hold_here_too(notebook: Path) -> None:
    told = []
    made = replace(plan(notebook, "x = 1", "b'x' * (9 << 30)"), rlimits={"AS": 8 << 30})

    outcome = run(made, told.append)

    assert outcome.error == "MemoryError", "what the control group alone would have killed it for"
    assert told[0].limited_by.endswith(" and by `ulimit -v` of 8.0 GiB, as recorded")


def test_an_exception_that_the_fix_intends_is_told_from_others(notebook: Path) -> None:
    meant = {"id": "f", "title": "Raise a ValueError in place of the crash", "why": ""}

    other = run(plan(notebook, "raise ValueError('too much')"))
    intended = run(plan(notebook, "raise ValueError('too much')", fix=meant))

    assert (other.kind, other.lived) == ("raised", False)
    assert "raises ValueError: too much" in other.text
    assert intended.lived
    assert "as the fix says" in intended.text


def test_a_cell_that_fails_before_the_fix_says_nothing_of_it(notebook: Path) -> None:
    outcome = run(plan(notebook, "open('gone.csv')", "print(1)"))

    assert (outcome.kind, outcome.execution_count) == ("differs", 1)
    assert "Not tried" in outcome.text


def test_an_exception_that_was_recorded_is_no_news(notebook: Path) -> None:
    made = plan(notebook, "1 / 0", "print(1)")
    before = PlannedCell("1 / 0", 1, raised="ZeroDivisionError")

    assert run(replace(made, cells=(before, made.cells[1]))).kind == "lived"


def test_a_kernel_whose_port_was_taken_meanwhile_gets_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = LocalPortCache.find_available_port
    with socket.create_server(("127.0.0.1", 0)) as other, tempfile.TemporaryDirectory() as work:
        taken = iter([other.getsockname()[1]])
        monkeypatch.setattr(LocalPortCache, "find_available_port", lambda self, ip: next(taken, None) or find(self, ip))
        kernel = OwnKernel([sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], Path(work))
        try:
            assert kernel.start(dict(os.environ), tmp_path)
            assert kernel.execute("1 + 1", lambda: True).how == "ok"
        finally:
            kernel.close()


def test_the_time_limit_is_said(notebook: Path) -> None:
    made = plan(notebook, "while True: pass", patience_s=2.0, failed_in=1, failed_after_s=0.5)

    past, early = run(made), run(replace(made, failed_after_s=50.0))

    assert past.kind == early.kind == "still running"
    assert (past.lived, early.lived) == (True, False)
    assert "still running after 2" in past.text
    assert early.text.startswith("Not decided")


def test_it_can_be_stopped_and_children_go_with_it(notebook: Path) -> None:
    stop = threading.Event()
    cell = "import subprocess, time\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\ntime.sleep(1000)"

    outcome = run(plan(notebook, cell), lambda told: threading.Timer(1.0, stop.set).start(), stop, kinds=("rlimit",))

    assert outcome.kind == "stopped"


def test_a_kernel_that_does_not_start_is_said_to(notebook: Path) -> None:
    outcome = run(plan(notebook, "1", python="/bin/false"))

    assert outcome.kind == "not started"


def test_files_of_the_notebook_are_read_but_not_changed(notebook: Path) -> None:
    (notebook / "data.txt").write_text("as it was")
    cell = "assert open('data.txt').read() == 'as it was'\nopen('data.txt', 'w').write('changed')"

    assert run(plan(notebook, cell)).kind == "lived"
    assert (notebook / "data.txt").read_text() == "as it was"
    assert run(plan(notebook, cell, copies=False)).kind == "lived"
    assert (notebook / "data.txt").read_text() == "changed"


TORCH = """
from types import SimpleNamespace

class DataLoader:
    def __init__(self, data, batch_size):
        self.rows = batch_size

    def __iter__(self):
        return iter([self.rows] * 3)

def net(rows):
    return SimpleNamespace(kept=b"x" * (rows << 21), backward=lambda: None)

utils = SimpleNamespace(data=SimpleNamespace(DataLoader=DataLoader))
"""
"""What stands for the library: a row of a batch takes 2 MiB."""


def test_two_small_batches_tell_the_largest_that_fits(notebook: Path) -> None:
    (notebook / "torch.py").write_text(TORCH)
    loop = "for rows in torch.utils.data.DataLoader(None, batch_size=160):\n    torch.net(rows).backward()"
    cells = (
        Cell("import torch", 1, seq=1, started_mono_s=1.0, ended_mono_s=2.0),
        Cell(loop, 2, seq=2, started_mono_s=3.0),
    )
    kernel = Kernel(ProcessIdentity(1, 1, None), executable=sys.executable, directory=str(notebook))
    limits, end = (Limit("cgroup", "limit", LIMIT, ""),), End("signal", 9.0, 9.0, "SIGKILL")
    recording = Recording("r", kernel, cells=cells, limits=limits, end=end)
    post_mortem = {"state": "died", "headline": "It died.", "incidents": [], "end": {"summary": "Killed"}}

    found = fit(Fit(recording, post_mortem, Wishes()))

    assert found.sizes == (8, 16)
    assert 60 < found.low < found.largest < found.high < 160
    assert found.suggested == 64
    assert "+for rows in torch.utils.data.DataLoader(None, batch_size=64):" in found.edits[0].diff
    assert "A row takes" in found.text


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def recording(start_kernel, low_memory, tmp_path: Path) -> str:
    """A kernel that ran out of memory in a cell for which there is a fix."""
    kernel = start_kernel(prefix=low_memory.prefix)
    kernel.load()
    kernel.run("import itertools")
    kernel.run_and_die(PRODUCT)
    assert kernel.recording().kernel.uid == os.geteuid()
    return kernel.recording().id


def command(tmp_path: Path, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(tmp_path / "data")}
    call = [sys.executable, "-m", "jupyter_kerneldoctor", "try", *words]
    return subprocess.run(call, capture_output=True, text=True, check=False, env=own, **more)


@pytest.mark.timeout(400)
def test_the_command_asks_runs_and_answers(recording: str, tmp_path: Path) -> None:
    refused = command(tmp_path, stdin=subprocess.DEVNULL)  # the last death
    lived = command(tmp_path, recording, "--yes")
    document = json.loads(command(tmp_path, recording, "--yes", "--json", "--fix", "lazy-product").stdout)

    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    assert recording in refused.stdout
    assert "cells [1] to [3]" in lived.stdout
    assert sys.executable in lived.stdout
    assert "-for pair in list(" in lived.stdout
    assert "cell [3] (changed): done" in lived.stdout
    assert "Lived: peak" in lived.stdout
    assert lived.returncode == 0
    assert (document["fix"], document["lived"], document["kind"]) == ("lazy-product", True, "lived")


def test_the_command_can_be_interrupted(start_kernel, low_memory, tmp_path: Path) -> None:
    kernel = start_kernel(prefix=low_memory.prefix)
    kernel.load()
    kernel.run("import itertools, os, time; time.sleep(100 if 'SLOW' in os.environ else 0)")
    kernel.run_and_die(PRODUCT)
    own = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(tmp_path / "data"), "SLOW": "1"}
    call = [sys.executable, "-u", "-m", "jupyter_kerneldoctor", "try", kernel.recording().id, "--yes"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=own, preexec_fn=_heeds_interrupts)  # noqa: PLW1509
    assert process.stdout is not None
    while "Memory is limited" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)

    assert process.wait(30) == 130
    assert "Stopped" in process.stdout.read()


def _heeds_interrupts() -> None:
    """Undo what a shell does to programs in the background of a script: they ignore SIGINT, as do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
