"""`unhandled-signal`: a signal that a program is meant to handle, and nobody did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import Rlimit, Surroundings

from ..cause import Cause
from ..certainty import certainty
from ..code.timers import Timer, timers
from ..examples import recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import cell_name, quote
from .cpu_time_limit import sent_by_others

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_WHAT = {
    "SIGALRM": "a timer ran out",
    "SIGVTALRM": "a timer for processor time ran out",
    "SIGPROF": "a profiler's timer ran out",
    "SIGUSR1": "a signal came that this program gives no meaning to",
    "SIGUSR2": "a signal came that this program gives no meaning to",
    "SIGPIPE": "it wrote to somebody who no longer reads",
    "SIGIO": "a signal said that input is waiting",
    "SIGPOLL": "a signal said that input is waiting",
    "SIGPWR": "a signal told of a failing power supply",
    "SIGSTKFLT": "a signal came that this program gives no meaning to",
    "SIGXFSZ": "a file grew beyond the size that files may have here",
    "SIGTRAP": "native code stopped as if for a debugger",
    "SIGSYS": "it called on the operating system in a way that a sandbox forbids",
    "SIGXCPU": "a signal said that its processor time is used up, which it was not",
}
"""What each signal tells; in all of these cases the process is ended where it has no handler (signal(7))."""

_SENDERS = {
    "SIGALRM": "`signal.alarm` and `signal.setitimer` send it when the time is up.",
    "SIGUSR1": "Batch systems send it before the end of a job's time, and administrators' scripts do.",
    "SIGUSR2": "Batch systems send it before the end of a job's time, and administrators' scripts do.",
    "SIGPIPE": "Python ignores it, so a library or the code must have set it back to its default.",
    "SIGXFSZ": "The limit is that of `ulimit -f`. Python ignores this signal, so something set it back to its default.",
    "SIGTRAP": "Libraries such as GLib do that on an error they cannot report, instead of `abort()`; a debugger's "
    "breakpoint does as well.",
    "SIGSYS": "The filter (seccomp) of a container or sandbox sends it.",
    "SIGXCPU": "It was far from a limit of its own (RLIMIT_CPU); batch systems send it when a job's time ends.",
}
_LESS_SURE = {"SIGTRAP": 0.8, "SIGSYS": 0.85, "SIGXCPU": 0.85}
"""Where the signal alone does not tell why."""

_OWN = frozenset({"SIGALRM", "SIGVTALRM", "SIGPROF", "SIGPIPE", "SIGXFSZ", "SIGTRAP", "SIGSYS"})
"""Signals that a program brings on itself; the others are sent by another."""


class UnhandledSignal(Cause):
    """A signal came that a program is expected to handle; the kernel did not, and such a signal then ends it.

    What it means
    -------------
    Signals are short messages of the operating system: a timer that ran out, a signal with a meaning of the program's
    own, a pipe without a reader. For most of them, the process is ended if it has installed no handler.

    How it is recognised
    --------------------
    The process was ended by SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE, SIGVTALRM, SIGPROF or another signal that ends a
    process by default (signal(7)) and neither tells of a crash nor is used to end programs. Where a cell started the
    timer, that line stands in the evidence.

    What to do
    ----------
    Install a handler before the signal can come: `signal.signal(signal.SIGALRM, handler)`, and switch a timer off
    when the work is done (`signal.alarm(0)`). For a signal from a batch system, ask for another one, or save the work
    in the handler.

    Example
    -------
    `signal.alarm(5)` without a handler, and a cell that takes longer.
    """

    id = "unhandled-signal"
    title = "A signal that nobody handled"
    family = Family.OUTSIDE

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        signal = death.signal
        if not death.is_unasked_end or signal is None or not _is_one(signal):
            return None
        if signal == "SIGXCPU" and not sent_by_others(death):
            return None
        started = _timers(death)
        line = started[-1].line if started and started[-1].cell is death.cell else death.line
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, _LESS_SURE.get(signal, 0.95)),
            f"The kernel ended {death.where(line)} because {_what(death, started)}{_unhandled(death)}.",
            evidence=(
                *evidence.exit_status(death),
                *_default(signal),
                *_who_started(started),
                *_said(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=line,
            summary=f"Ended by {signal}, which nobody handled",
            family=Family.OWN_END if signal in _OWN else self.family,
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """A timer of the cell, one of an earlier cell, signals from outside, and a real-time signal."""
        yield recording("import signal\nsignal.alarm(2)\nwork()", signal="SIGALRM")
        yield recording("import signal as s\ns.setitimer(s.ITIMER_PROF, 5)", "work()", signal="SIGPROF")
        for signal in ("SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGVTALRM", "SIGIO", "SIGXFSZ", "SIGTRAP", "SIGSYS"):
            yield recording("work()", signal=signal, server="watched")
        yield recording("work()", signal="SIGRTMIN")
        yield recording("x = 1", signal="SIGUSR1", idle=True)
        unlimited = Surroundings(-1, "end", rlimits={"CPU": Rlimit()}, cpu_s=9.0)
        yield recording("work()", signal="SIGXCPU", surroundings=[unlimited])

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Sent by the cell itself, sent to end the program, sent by a crash; a timer beside another end."""
        yield recording("import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)", signal="SIGUSR1")
        yield recording("work()", signal="SIGTERM")
        yield recording("work()", signal="SIGBUS")
        used_up = Surroundings(-0.1, "end", rlimits={"CPU": Rlimit(4, 10)}, cpu_s=3.0)
        yield recording("work()", signal="SIGXCPU", surroundings=[used_up])
        yield recording("import signal\nsignal.alarm(100)\nwork()", signal="SIGKILL")


def _what(death: Death, started: tuple[Timer, ...]) -> str:
    if death.signal == "SIGTRAP" and death.farewell is not None:
        return f"native code gave up with the words {quote(death.farewell, 100)}"
    if death.signal == "SIGALRM" and not started:
        return "the signal of a timer came"
    return _WHAT.get(death.signal or "", "a signal came")


def _unhandled(death: Death) -> str:
    return "" if death.signal == "SIGTRAP" else ", and nothing in it handled that"


def _is_one(signal: str) -> bool:
    return signal in _WHAT or signal.startswith(("SIGRT", "signal "))


def _default(signal: str) -> Iterator[Evidence]:
    yield Evidence(
        f"A process without a handler for {signal} is ended by it. {_SENDERS.get(signal, '')}".strip(),
        source="signal(7)",
    )


def _timers(death: Death) -> tuple[Timer, ...]:
    if death.signal not in ("SIGALRM", "SIGVTALRM", "SIGPROF"):
        return ()
    return tuple(one for one in death.find(timers) or () if one.signal in (death.signal, None))


def _who_started(started: tuple[Timer, ...]) -> Iterator[Evidence]:
    for timer in started[-1:]:
        yield Evidence(
            f"Line {timer.line} of {cell_name(timer.cell.execution_count)} starts such a timer: "
            f"{quote(timer.text, 100)}.",
            timer.line,
            "line",
            "cell source",
        )


def _said(death: Death) -> Iterator[Evidence]:
    if death.signal in ("SIGTRAP", "SIGSYS"):
        yield from evidence.said_last(death.farewell)
