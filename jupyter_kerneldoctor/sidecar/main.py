"""Starts a sidecar: for one kernel, or for all kernels of a Jupyter server that loaded nothing."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from ..recording.sidecar_launch import REPORT_FD_VARIABLE, SHARED
from .inbox import Inbox
from .recorder import Recorder

_REPORT_S = 60
"""How long the printing of a report may take."""


def main(arguments: list[str]) -> None:
    """Watch one kernel until it ends: DIRECTORY SOCKET_FD [KERNEL_PIDFD]; or many: --shared SOCKET_FD."""
    os.umask(0o077)
    _ask_to_be_killed_last()
    _hear_all_signals()
    for descriptor in arguments[1:]:  # no process that this one starts shares them (`stacks.discovery_process`)
        os.set_inheritable(int(descriptor), False)
    wanted = os.environ.pop(REPORT_FD_VARIABLE, None)
    report_fd = None if wanted is None else int(wanted)
    if report_fd is not None:
        os.set_inheritable(report_fd, False)
    inbox = Inbox(socket.socket(fileno=int(arguments[1])))
    if arguments[0] == SHARED:
        from .shared import SharedWatcher  # noqa: PLC0415 - most watch one kernel

        SharedWatcher(inbox).run()
        return
    directory = Path(arguments[0])
    recorder = Recorder(directory, int(arguments[2]) if len(arguments) > 2 else None)
    recorder.record(inbox)
    if report_fd is not None and recorder.has_ended:
        _report(directory.name, report_fd)


def _hear_all_signals() -> None:
    """Undo what user code has blocked or ignored, which is inherited.

    Else no request would be heard, no child waited for, and none ended by its alarm.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _report(recording_id: str, descriptor: int) -> None:
    """Become the process that prints the report: this one is done, and has no room for the rules. Raises OSError."""
    os.dup2(descriptor, 1)
    signal.alarm(_REPORT_S)  # a pipe that is full and that nobody reads would keep it for ever
    command = ["-m", "jupyter_kerneldoctor", "report", recording_id, "--if-died"]
    os.execv(sys.executable, [sys.executable, *command])  # noqa: S606 - it is our own


def _ask_to_be_killed_last() -> None:
    """Let Linux end others first where memory runs out, as far as that is permitted (proc_pid_oom_score_adj(5)).

    Without CAP_SYS_RESOURCE the value may go no lower than a privileged process set it: 100 in a systemd user session.
    """
    for value in (-999, 0, 100):
        try:
            with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
                if int(file.read()) > value:
                    file.write(b"%d" % value)
                return
        except (OSError, ValueError):
            continue
