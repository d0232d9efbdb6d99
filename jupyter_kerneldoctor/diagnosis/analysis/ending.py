"""How a kernel ended, as the sidecar, the Jupyter server and the kernel itself recorded it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Ending
from ..units import signal_name
from .memory_refusals import is_used_up

Request = Literal["restart", "shutdown"]

REQUEST_SLACK_S = 1.0
"""A request that was noted this much after the end was still before it: two processes, two clocks read."""

CRASHES = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS")
"""Signals of a program that fails by itself."""

_OF_THE_LOADER = 127
"""What glibc's dynamic linker leaves with where it gets no memory for a thread's own data."""

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
    "SIGABRT": "Aborted",
    **dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"), "Crashed"),
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


def signal_passed_on(code: int) -> str | None:
    """Return the signal that a shell reports by this exit code; None if it reports none."""
    name = signal_name(code - 128)
    return name if name in _PASSED_ON else None


def _status(code: int, source: str | None, *, by_wrapper: bool) -> ExitStatus:
    signal = signal_passed_on(code) if by_wrapper else None
    if signal is None:
        return ExitStatus(exit_code=code, source=source)
    passed_on = f"exit code {code} of what ran the kernel: 128 and the number of the signal"
    return ExitStatus(signal=signal, source=passed_on)


@dataclass(frozen=True)
class RecordedEnd:
    """The end of a kernel, or that it lives. Each property is computed when it is first read."""

    recording: Recording

    @cached_property
    def status(self) -> ExitStatus:
        """What the operating system reported, as the sidecar saw it or, if it did not, the server.

        The server may have started a script that runs the kernel and passes its signal on in an exit code. Where the
        kernel itself began the recording, the exit code is the kernel's own.
        """
        end, returncode = self.recording.end, self.recording.server.returncode
        if end is not None and end.kind == "signal" and end.signal:
            return ExitStatus(signal=end.signal, source=end.source)
        if end is not None and end.kind == "exit" and end.exit_code is not None:
            by_wrapper = self.recording.kernel.loaded_by == "server"
            return _status(end.exit_code, end.source, by_wrapper=by_wrapper)
        if returncode is None:
            return ExitStatus()
        if returncode < 0:
            return ExitStatus(signal=signal_name(-returncode), source="Jupyter server")
        return _status(returncode, "Jupyter server", by_wrapper=True)

    @cached_property
    def ended(self) -> bool | None:
        """Whether the process is gone; None when that cannot be told."""
        server = self.recording.server
        if self.recording.end is not None or server.returncode is not None or server.never_ready:
            return True
        return None if self.recording.alive is None else not self.recording.alive

    @cached_property
    def request(self) -> Request | None:
        """The restart or shutdown that was requested before the kernel ended; None if neither was."""
        server, end, asked = self.recording.server, self.recording.end, self.recording.exit_request
        if self._left_by_itself or self._failed_without_memory:
            return None
        if server.requested is not None:
            noted_s = server.requested_wall_s
            if end is None or noted_s is None or noted_s <= end.wall_s + self._request_slack_s:
                return server.requested
        if asked is not None and asked.by != "cell":
            return "restart" if asked.restart else "shutdown"
        return None

    @property
    def _failed_without_memory(self) -> bool:
        """Whether it crashed with its memory used up: a request that came meanwhile is not why it ended."""
        if self.status.exit_code == _OF_THE_LOADER:
            return any("cannot allocate memory" in one.text for one in self.recording.output)
        return self.status.signal in CRASHES and any(map(is_used_up, self.recording.system_states[-1:]))

    @property
    def _request_slack_s(self) -> float:
        """How late a request may be noted; 0 for an end that no request leads to, such as a crash."""
        status, end = self.status, self.recording.end
        killed_for_memory = end is not None and any(group.oom_kills for group in end.cgroups)
        plain = status.signal in _ASKED_TO or not (status.signal or status.exit_code)
        return REQUEST_SLACK_S if plain and not killed_for_memory else 0.0

    @property
    def told_to_exit(self) -> bool:
        """Whether it ended because a cell called `exit()`."""
        return self._left_by_itself and self.ended is True

    @property
    def _left_by_itself(self) -> bool:
        asked, end = self.recording.exit_request, self.recording.end
        if asked is None or asked.by != "cell":
            return False
        return end is None or end.mono_s - asked.mono_s < EXIT_PATIENCE_S

    @property
    def stopped_early(self) -> bool:
        """Whether the recording stopped while the kernel ran on."""
        return self.recording.stopped_early

    @property
    def missed_the_end(self) -> bool:
        """Whether nobody saw the end: recording was switched off, or the recorder was gone, and no server saw it."""
        return self.recording.switched_off or (self.stopped_early and not self.status.known)

    @property
    def is_unseen(self) -> bool:
        """Whether the kernel is gone and its recorder was stopped or gone before it could record that."""
        return self.recording.end is None and not self.stopped_early and self.ended is True

    @property
    def is_unasked_end(self) -> bool:
        """Whether it is gone without a request, and the end was seen or recorded up to: here the causes compete."""
        return self.ended is True and self.request is None and not self.missed_the_end

    @cached_property
    def ending(self) -> Ending:
        """How it ended, or that it lives."""
        return replace(self._ending(), seen=not self.is_unseen)

    def _ending(self) -> Ending:
        status, asked = self.status, self.request
        if self.ended is False:
            return Ending("running", summary="Running")
        if asked is not None and self.ended:
            summary = "Restarted, as asked" if asked == "restart" else "Shut down, as asked"
            return Ending(asked, status.signal, status.exit_code, summary)
        if self.missed_the_end:
            stopped = "Recording switched off" if self.recording.switched_off else ""
            return Ending("unknown", summary=stopped or "Recording stopped: its recorder was gone")
        if status.signal is not None:
            return Ending("signal", status.signal, None, f"{_SUMMARIES.get(status.signal, 'Ended')} ({status.signal})")
        if status.exit_code is not None:
            return Ending("exit", None, status.exit_code, f"Left with exit code {status.exit_code}")
        if self.told_to_exit:
            return Ending("exit", summary="Left after exit()")
        return Ending("unknown", summary="Ended, not known how" if self.ended else "Not known from here")
