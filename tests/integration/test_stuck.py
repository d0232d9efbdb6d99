"""A cell that runs and does nothing: it is recorded what all its threads and children wait for, also on demand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from support import requires

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.sidecar_launch import SIDECAR
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.inspection import KernelGoneError, NoAnswerError, NotRecordedError, _signal, inspect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import Stuck

pytestmark = requires.linux

FORK_WITH_A_LOCK_HELD = """\
import os, threading, time

lock = threading.Lock()

def writer():
    with lock:
        time.sleep({seconds})

def child():
    with lock:
        pass
    os._exit(0)

threading.Thread(target=writer).start()
time.sleep(0.2)
pid = os.fork()
if pid == 0:
    child()
os.waitpid(pid, 0)
"""


def test_a_child_that_waits_for_a_lock_nobody_holds_is_recorded_and_so_is_its_end(kernel: LiveKernel) -> None:
    kernel.client.execute(FORK_WITH_A_LOCK_HELD.format(seconds=5))
    recording = kernel_said(kernel, lambda stuck: not stuck[-1].over)
    stuck = recording.stuck[-1]
    (child,) = [child for child in stuck.children if child.forked]

    assert 9.5 < stuck.mono_s - stuck.since_mono_s < 16
    assert [frame.function for frame in child.stack][:2] == ["child", "<module>"]
    assert child.stack[0].line == 10
    assert child.state == "S"
    main_thread = stuck.threads[0]
    assert main_thread.main
    assert (main_thread.frames[0].function, main_thread.frames[0].line) == ("<module>", 19)

    os.kill(child.pid, signal.SIGKILL)
    recording = kernel_said(kernel, lambda stuck: stuck[-1].over)
    assert len(recording.stuck) == 2


def test_a_cell_that_works_is_never_stuck(start_kernel: Callable[..., LiveKernel]) -> None:
    """Neither one that computes nor one whose child does."""
    own, childs = start_kernel(), start_kernel()
    for kernel in (own, childs):
        kernel.load()
    own.client.execute("while True: pass")
    childs.client.execute("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: pass'])")
    time.sleep(12.5)

    for kernel in (own, childs):
        assert kernel.recording().stuck == ()
        assert kernel.recording().running_cell is not None


def kernel_said(kernel: LiveKernel, true: Callable[[tuple[Stuck, ...]], bool]) -> Any:
    deadline = time.monotonic() + 60
    while True:
        recording = kernel.recording()
        if recording.stuck and true(recording.stuck):
            return recording
        assert time.monotonic() < deadline, recording.stuck
        time.sleep(0.1)


def test_inspect_tells_what_everybody_is_doing(kernel: LiveKernel, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(kernel.data_root))
    kernel.client.execute(FORK_WITH_A_LOCK_HELD.format(seconds=600))
    document = asked_until(kernel, lambda document: document["children"] and document["children"][0]["frames"])
    main_thread, (child,) = document["threads"][0], document["children"]
    (writer,) = [t for t in document["threads"] if t["frames"] and t["frames"][0]["function"] == "writer"]

    assert document["cell"]["line"] == 19
    assert document["cell"]["line_source"] == "os.waitpid(pid, 0)"
    assert main_thread["main"]
    assert child["forked"]
    assert child["frames"][0]["function"] == "child"
    assert child["frames"][0]["execution_count"] == 2
    assert child["frames"][0]["line"] == 10
    assert writer["frames"][0]["code"] == "time.sleep(600)"
    if main_thread["waits_in"] is not None:  # not everywhere may one read it
        assert main_thread["doing"] == "waits for another process to end"
        assert child["doing"] == "waits for a lock or for another thread"
        assert writer["doing"] == "sleeps"

    assert main(["inspect"]) == 0
    said = capsys.readouterr().out
    assert "It is in line 19:\n    os.waitpid(pid, 0)\n" in said
    assert "child (cell [2], line 10): `with lock:`" in said
    assert "of the kernel itself" in said
    os.kill(child["pid"], signal.SIGKILL)


def test_inspect_of_an_idle_kernel(living_kernel: LiveKernel) -> None:
    document = asked_until(living_kernel, lambda document: document["threads"][0]["frames"])

    assert document["cell"] is None
    assert document["threads"][0]["doing"] == "waits for the next cell"
    assert document["children"] == []
    assert living_kernel.run("6 * 7").result == "42"


def test_inspect_says_why_it_cannot(start_kernel: Callable[..., LiveKernel], capsys: Any, monkeypatch: Any) -> None:
    kernel = start_kernel()
    monkeypatch.setenv(ROOT_VARIABLE, str(kernel.data_root))
    assert main(["inspect", "--json"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()[0]) == ("null\n", "No recorded kernel is running.")

    kernel.load()
    store, sidecar = Store(kernel.data_root), kernel.sidecar_pid()
    (recording_id,) = store.ids()
    asked_until(kernel, lambda _: True)
    os.kill(sidecar, signal.SIGSTOP)
    with pytest.raises(NoAnswerError, match="did not answer"):
        inspect(store, recording_id, timeout_s=0.2)
    os.kill(sidecar, signal.SIGKILL)
    kernel.wait_sidecar_gone()
    with pytest.raises(NotRecordedError, match="not being recorded"):
        inspect(store, recording_id)
    kernel.run_and_die("import os\nos._exit(3)")
    with pytest.raises(KernelGoneError, match="not running any more"):
        inspect(store, recording_id)
    assert main(["inspect", recording_id]) == 1
    assert "report" in capsys.readouterr().err


def test_a_sidecar_that_does_not_listen_yet_is_not_ended_by_asking(tmp_path: Path) -> None:
    """SIGUSR1 ends a process that has no handler for it."""
    starting = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", str(SIDECAR), str(tmp_path)])
    try:
        assert _signal(identify(starting.pid), tmp_path) is False
        time.sleep(0.1)
        assert starting.poll() is None
    finally:
        starting.kill()
        starting.wait()


def asked_until(kernel: LiveKernel, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    kernel.sidecar_pid()
    store = Store(kernel.data_root)
    deadline = time.monotonic() + 60
    while True:
        (recording_id, *_) = store.ids()
        document = inspect(store, recording_id, timeout_s=10)
        if true(document):
            return document
        assert time.monotonic() < deadline, document
        time.sleep(0.1)
