"""The exit status of a process that is not ours, as a zombie and after it was reaped."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest
from support import requires

from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.sidecar.exit_status import UNKNOWN, decode, exit_status

pytestmark = requires.linux


@pytest.mark.parametrize(
    ("code", "signal_name", "exit_code"),
    [
        ("raise SystemExit(0)", None, 0),
        ("raise SystemExit(3)", None, 3),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL", None),
        ("import os; os.abort()", "SIGABRT", None),
    ],
)
def test_a_zombie_tells(code: str, signal_name: str | None, exit_code: int | None) -> None:
    child = subprocess.Popen([sys.executable, "-c", code])
    start = identify(child.pid).start
    pidfd = os.pidfd_open(child.pid)
    select.select([pidfd], [], [])

    status = exit_status(child.pid, start, pidfd)

    assert (status.signal, status.exit_code, status.source) == (signal_name, exit_code, f"/proc/{child.pid}/stat")
    child.wait()


def test_a_process_that_was_reaped_without_a_pidfd_is_unknown() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    start = identify(child.pid).start
    child.wait()

    assert exit_status(child.pid, start, None) == UNKNOWN


def test_another_zombie_that_got_the_id_tells_nothing() -> None:
    another = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    os.waitid(os.P_PID, another.pid, os.WEXITED | os.WNOWAIT)

    start_of_the_one_before = identify(another.pid).start - 1
    assert exit_status(another.pid, start_of_the_one_before, None) == UNKNOWN
    another.wait()


def test_a_core_dump_and_real_time_signals_are_understood() -> None:
    assert decode(signal.SIGSEGV | 0x80, "x").signal == "SIGSEGV"
    assert decode(40, "x").signal == "SIG40"
    assert decode(7 << 8, "x").exit_code == 7
