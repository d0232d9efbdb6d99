"""How a kernel ended, from all who saw it: the sidecar, the Jupyter server, and the kernel itself."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..postmortem import Ending

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Recording

Request = Literal["restart", "shutdown"]

REQUEST_SLACK_S = 1.0
"""A request that was noted this much after the end was still before it: two processes, two clocks read."""

EXIT_PATIENCE_S = 10.0
"""A kernel obeys `exit()` right after the cell. One that lives on after it was told to stay (`keep_kernel`)."""

_SUMMARIES = {
    "SIGKILL": "Killed",
    "SIGTERM": "Told to end",
    "SIGSEGV": "Crashed",
    "SIGBUS": "Crashed",
    "SIGILL": "Crashed",
    "SIGFPE": "Crashed",
    "SIGABRT": "Aborted",
}


@dataclass(frozen=True)
class ExitStatus:
    """What the operating system reported, and who read it."""

    signal: str | None = None
    exit_code: int | None = None
    source: str | None = None

    @property
    def known(self) -> bool:
        return self.signal is not None or self.exit_code is not None


def exit_status(recording: Recording) -> ExitStatus:
    """Return the exit status: the sidecar's word first, then the server's."""
    end, returncode = recording.end, recording.server.returncode
    if end is not None and end.kind == "signal" and end.signal:
        return ExitStatus(signal=end.signal, source=end.source)
    if end is not None and end.kind == "exit" and end.exit_code is not None:
        return ExitStatus(exit_code=end.exit_code, source=end.source)
    if returncode is None:
        return ExitStatus()
    if returncode < 0:
        return ExitStatus(signal=signal_name(-returncode), source="Jupyter server")
    return ExitStatus(exit_code=returncode, source="Jupyter server")


def has_ended(recording: Recording) -> bool | None:
    """Whether the process is gone; None when that cannot be told from here."""
    if recording.end is not None or recording.server.returncode is not None or recording.server.never_ready:
        return True
    return None if recording.alive is None else not recording.alive


def missed_the_end(recording: Recording) -> bool:
    """Whether nothing is known of the end: switched off before, or the recorder was gone and nobody else saw it."""
    return recording.switched_off or (recording.stopped_early and not exit_status(recording).known)


def request(recording: Recording) -> Request | None:
    """Return what the kernel was asked for from outside before it ended; None if nobody asked."""
    if _left_by_itself(recording):
        return None
    server, end = recording.server, recording.end
    if server.requested is not None:
        late = (
            end is not None
            and server.requested_wall_s is not None
            and server.requested_wall_s > end.wall_s + REQUEST_SLACK_S
        )
        if not late:
            return server.requested
    asked = recording.exit_request
    if asked is not None and asked.by != "cell":
        return "restart" if asked.restart else "shutdown"
    return None


def left_on_request_of_a_cell(recording: Recording) -> bool:
    """Whether `exit()` in a cell is what the kernel obeyed."""
    return _left_by_itself(recording) and has_ended(recording) is True


def _left_by_itself(recording: Recording) -> bool:
    asked, end = recording.exit_request, recording.end
    if asked is None or asked.by != "cell":
        return False
    return end is None or end.mono_s - asked.mono_s < EXIT_PATIENCE_S


def unseen(recording: Recording) -> bool:
    """Whether the kernel is gone, and its recorder was stopped or gone, too, before it could write that down."""
    return recording.end is None and not recording.stopped_early and has_ended(recording) is True


def ending(recording: Recording) -> Ending:
    """Judge how the kernel ended, or whether it did."""
    return replace(_ending(recording), seen=not unseen(recording))


def _ending(recording: Recording) -> Ending:
    ended, status, asked = has_ended(recording), exit_status(recording), request(recording)
    if ended is False:
        return Ending("running", summary="Running")
    if asked is not None and ended:
        summary = "Restarted, as asked" if asked == "restart" else "Shut down, as asked"
        return Ending(asked, status.signal, status.exit_code, summary)
    if missed_the_end(recording):
        why = "Recording switched off" if recording.switched_off else "Recording stopped: its recorder was gone"
        return Ending("unknown", summary=why)
    if status.signal is not None:
        return Ending("signal", status.signal, None, f"{_SUMMARIES.get(status.signal, 'Ended')} ({status.signal})")
    if status.exit_code is not None:
        return Ending("exit", None, status.exit_code, f"Left with exit code {status.exit_code}")
    if ended and left_on_request_of_a_cell(recording):
        return Ending("exit", summary="Left after exit()")
    return Ending("unknown", summary="Gone, exit status not known" if ended else "Not known from here")


def is_death(recording: Recording, ending: Ending) -> bool:
    """Whether this is an end the user should hear of."""
    if ending.kind in ("running", "restart", "shutdown") or missed_the_end(recording):
        return False
    return has_ended(recording) is True


def signal_name(number: int) -> str:
    """Return "SIGKILL" for 9; "signal 40" for a signal without a name."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
