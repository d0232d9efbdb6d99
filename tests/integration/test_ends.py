"""How a kernel ended: the exit status, what was running, and what it said last."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel


@pytest.mark.parametrize(
    ("source", "signal_name", "exit_code"),
    [
        ("import os\nos.kill(os.getpid(), 9)", "SIGKILL", None),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV", None),
        ("import os\nos.abort()", "SIGABRT", None),
        ("import os\nos._exit(0)", None, 0),
        ("import os\nos._exit(3)", None, 3),
    ],
)
def test_exit_status_and_cell_of_a_death(
    kernel: LiveKernel, source: str, signal_name: str | None, exit_code: int | None
) -> None:
    status = kernel.run_and_die(source)
    recording = kernel.recording()

    assert recording.end is not None
    assert (recording.end.signal, recording.end.exit_code) == (signal_name, exit_code)
    assert status == (exit_code if signal_name is None else -signal.Signals[signal_name])
    assert recording.running_cell is not None
    assert recording.running_cell.source == source
    assert recording.alive is False
    kernel.wait_sidecar_gone()


def test_the_status_is_known_also_when_the_parent_has_read_it_first(kernel: LiveKernel) -> None:
    sidecar = kernel.sidecar_pid()
    os.kill(sidecar, signal.SIGSTOP)
    try:
        kernel.run_and_die("import os\nos._exit(7)")  # waits, and so reaps
    finally:
        os.kill(sidecar, signal.SIGCONT)

    end = kernel.wait_recorded(lambda found: found.end is not None).end
    if not _pidfd_tells_exit_status():
        assert end.kind == "unknown"
    else:
        assert (end.exit_code, end.source) == (7, "PIDFD_GET_INFO")


def _pidfd_tells_exit_status() -> bool:
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    return release >= (6, 15)


def test_a_crash_leaves_the_python_traceback(kernel: LiveKernel) -> None:
    kernel.run_and_die("import ctypes\n\ndef inner():\n    ctypes.string_at(0)\n\ninner()")

    crash = kernel.recording().crash_text
    assert "Segmentation fault" in crash
    assert "line 4 in inner" in crash


def test_a_users_own_faulthandler_wins(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("import faulthandler; own = open('own.txt', 'w'); faulthandler.enable(file=own)")
    kernel.load()
    kernel.run_and_die("import ctypes\nctypes.string_at(0)")

    assert kernel.recording().crash_text == ""


def test_the_cell_that_loads_the_extension_is_recorded_too(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run_and_die("%load_ext kerneldoctor\nimport os\nos._exit(1)")

    running = kernel.recording().running_cell
    assert running is not None
    assert running.source.startswith("%load_ext")
    assert running.execution_count == 1


def test_a_shutdown_that_was_asked_for_is_seen(kernel: LiveKernel) -> None:
    kernel.run("x = 1")
    kernel.manager.shutdown_kernel(now=False)

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    assert recording.exit_request is not None
    assert (recording.exit_request.by, recording.exit_request.restart) == ("message", False)


def test_a_restart_that_was_asked_for_is_seen(kernel: LiveKernel) -> None:
    kernel.manager.restart_kernel(now=False)

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    assert recording.exit_request is not None
    assert recording.exit_request.restart


def test_exit_in_a_cell_is_told_from_a_shutdown(kernel: LiveKernel) -> None:
    kernel.run_and_die("if True: exit()")

    recording = kernel.recording()
    assert recording.exit_request is not None
    assert recording.exit_request.by == "cell"
    assert recording.cells[-1].asked_exit
    assert (recording.end.kind, recording.end.exit_code) == ("exit", 0)


def test_an_interrupt_is_no_end(kernel: LiveKernel) -> None:
    message = kernel.client.execute("import time\ntime.sleep(60)")
    kernel.wait_recorded(lambda found: found.running_cell is not None and "sleep" in found.running_cell.source)
    kernel.manager.interrupt_kernel()
    kernel.client.get_shell_msg(timeout=30)

    assert message
    recording = kernel.wait_recorded(lambda found: found.cells[-1].error == "KeyboardInterrupt")
    assert recording.alive
    assert recording.end is None


def test_switching_off_ends_the_recording_not_the_kernel(kernel: LiveKernel) -> None:
    kernel.run("%kerneldoctor off")
    kernel.wait_sidecar_gone()

    assert kernel.recording().switched_off
    assert "not recording" in kernel.run("%kerneldoctor status").stdout
    assert "is recording" in kernel.run("%kerneldoctor on").stdout
    assert len(kernel.recordings()) == 2
