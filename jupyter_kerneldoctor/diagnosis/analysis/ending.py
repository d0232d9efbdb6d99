"""How a kernel ended, as the sidecar, the Jupyter server and the kernel itself recorded it."""

from dataclasses import dataclass, replace
from typing import Literal

from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Ending
from ..units import signal_name

Request = Literal["restart", "shutdown"]

REQUEST_SLACK_S = 1.0
"""A request that was noted this much after the end was still before it: two processes, two clocks read."""

_ASKED_TO = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""What a request leads to, where the kernel does not leave by itself."""

_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM")
"""A shell or a container that ran a program leaves with 128 and the number of the signal that ended it (sh(1p))."""

EXIT_PATIENCE_S = 10.0
"""A kernel obeys `exit()` right after the cell. One that lives on after it was told to stay (`keep_kernel`)."""

FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT")
"""What others send to end a program."""

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
    """Return the exit status, as the sidecar saw it or, if it did not, the server.

    The server may have started a script that runs the kernel and passes its signal on in an exit code. Where the kernel
    itself began the recording, the exit code is the kernel's own.
    """
    end, returncode = recording.end, recording.server.returncode
    if end is not None and end.kind == "signal" and end.signal:
        return ExitStatus(signal=end.signal, source=end.source)
    if end is not None and end.kind == "exit" and end.exit_code is not None:
        by_wrapper = recording.kernel.loaded_by == "server"
        return _status(end.exit_code, end.source, by_wrapper=by_wrapper)
    if returncode is None:
        return ExitStatus()
    if returncode < 0:
        return ExitStatus(signal=signal_name(-returncode), source="Jupyter server")
    return _status(returncode, "Jupyter server", by_wrapper=True)


def _status(code: int, source: str | None, *, by_wrapper: bool) -> ExitStatus:
    signal = signal_passed_on(code) if by_wrapper else None
    if signal is None:
        return ExitStatus(exit_code=code, source=source)
    return ExitStatus(
        signal=signal, source=f"exit code {code} of what ran the kernel: 128 and the number of the signal"
    )


def signal_passed_on(code: int) -> str | None:
    """Return the signal that a shell reports by this exit code; None if it reports none."""
    name = signal_name(code - 128)
    return name if name in _PASSED_ON else None


def has_ended(recording: Recording) -> bool | None:
    """Return whether the process is gone; None when that is not known."""
    if recording.end is not None or recording.server.returncode is not None or recording.server.never_ready:
        return True
    return None if recording.alive is None else not recording.alive


def missed_the_end(recording: Recording) -> bool:
    """Return whether nobody saw the end: recording was switched off, or the recorder was gone, and no server saw it."""
    return recording.switched_off or (recording.stopped_early and not exit_status(recording).known)


def request(recording: Recording) -> Request | None:
    """Return whether a restart or a shutdown was requested before the kernel ended; None if neither was."""
    if _left_by_itself(recording):
        return None
    server, end = recording.server, recording.end
    if server.requested is not None:
        late = (
            end is not None
            and server.requested_wall_s is not None
            and server.requested_wall_s > end.wall_s + _slack_s(recording)
        )
        if not late:
            return server.requested
    asked = recording.exit_request
    if asked is not None and asked.by != "cell":
        return "restart" if asked.restart else "shutdown"
    return None


def _slack_s(recording: Recording) -> float:
    """Return how late a request may be noted; None for an end that no request leads to, such as a crash."""
    status, end = exit_status(recording), recording.end
    killed_for_memory = end is not None and any(group.oom_kills for group in end.cgroups)
    plain = status.signal in _ASKED_TO or not (status.signal or status.exit_code)
    return REQUEST_SLACK_S if plain and not killed_for_memory else 0.0


def left_on_request_of_a_cell(recording: Recording) -> bool:
    """Return whether the kernel ended because a cell called `exit()`."""
    return _left_by_itself(recording) and has_ended(recording) is True


def _left_by_itself(recording: Recording) -> bool:
    asked, end = recording.exit_request, recording.end
    if asked is None or asked.by != "cell":
        return False
    return end is None or end.mono_s - asked.mono_s < EXIT_PATIENCE_S


def unseen(recording: Recording) -> bool:
    """Return whether the kernel is gone and its recorder was stopped or gone before it could record that."""
    return recording.end is None and not recording.stopped_early and has_ended(recording) is True


def ending(recording: Recording) -> Ending:
    """Return how the kernel ended, or that it lives."""
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
    return Ending("unknown", summary="Ended, not known how" if ended else "Not known from here")


def is_death(recording: Recording, ending: Ending) -> bool:
    """Return whether this is an end that the user did not ask for."""
    if ending.kind in ("running", "restart", "shutdown") or missed_the_end(recording):
        return False
    return has_ended(recording) is True
