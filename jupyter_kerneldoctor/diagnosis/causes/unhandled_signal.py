from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..code.timers import Timer
from ..examples import recording
from ..texts import evidence, usual_reasons
from ..units import cell_name, sentence
from .cpu_time_limit import sent_by_others

_NO_MEANING = "it got a signal without a fixed meaning"
_WHAT = {
    "SIGALRM": "a timer ran out",
    "SIGVTALRM": "a timer for processor time ran out",
    "SIGPROF": "a profiler's timer ran out",
    "SIGUSR1": _NO_MEANING,
    "SIGUSR2": _NO_MEANING,
    "SIGPIPE": "it wrote to a pipe that nobody reads any more",
    "SIGIO": "a signal said that input is waiting",
    "SIGPOLL": "a signal said that input is waiting",
    "SIGPWR": "a signal told of a failing power supply",
    "SIGSTKFLT": _NO_MEANING,
    "SIGXFSZ": "a file grew beyond its size limit",
    "SIGTRAP": "native code stopped as if for a debugger",
    "SIGSYS": "it made a system call that a sandbox forbids",
    "SIGXCPU": "it got a signal that its time was up",
}
"""What each signal tells; in all of these cases the process is ended where it has no handler (signal(7))."""

_BATCH = "Batch systems and administrators' scripts send it before a job's time ends."
_SENDERS = {
    "SIGALRM": "`signal.alarm` and `signal.setitimer` send it when the time is up.",
    "SIGUSR1": _BATCH,
    "SIGUSR2": _BATCH,
    "SIGPIPE": "Python ignores it, so a library or the code must have set it back to its default.",
    "SIGXFSZ": "The limit is that of `ulimit -f`. Python ignores this signal, so something set it back to its default.",
    "SIGTRAP": "Libraries such as GLib send it instead of calling `abort()`; so does a debugger's breakpoint.",
    "SIGSYS": "The filter (seccomp) of a container or sandbox sends it.",
    "SIGXCPU": "The kernel was far from its own limit (RLIMIT_CPU). Batch systems send it when a job's time ends.",
}
_OWN = frozenset({"SIGALRM", "SIGVTALRM", "SIGPROF", "SIGPIPE", "SIGXFSZ", "SIGTRAP", "SIGSYS"})
"""Signals that a program brings on itself; the others are sent by another."""


class UnhandledSignal(Cause):
    """The kernel got a signal that a program is expected to handle; it did not, and such a signal then ends it.

    What it means: Signals are short messages of the operating system: a timer ran out, a pipe has no reader any more,
    or something to which only the program itself gives a meaning. Most of them end a process that has installed no
    handler.

    How it is recognised: The process was ended by SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE, SIGVTALRM, SIGPROF or another
    signal that ends a process by default (signal(7)), does not tell of a crash, and is not used to end programs. Where
    a cell started the timer, that line is named. Otherwise the report lists who usually sends the signal, and how to
    find out.

    What to do: Install a handler before the signal can come: `signal.signal(signal.SIGALRM, handler)`, and switch a
    timer off when the work is done (`signal.alarm(0)`). For a signal from a batch system, ask for another one, or save
    the work in the handler.

    Example: `signal.alarm(5)` without a handler, and a cell that takes longer.
    """

    id, title, family = "unhandled-signal", "A signal that nobody handled", Family.OUTSIDE

    def judge(self, death: Death) -> CauseFinding | None:
        signal = death.signal
        if not death.is_unasked_end or signal is None or (signal == "SIGXCPU" and not sent_by_others(death)):
            return None
        if signal not in _WHAT and not signal.startswith(("SIGRT", "signal ")):
            return None
        timer, lost = death.timer, death.lost_handler
        line = timer.line if timer is not None and timer.cell is death.cell else death.line
        return self.finding(
            death,
            Certainty.LIKELY if timer is None and lost is None else Certainty.STRONG,
            f"The kernel ended {death.where(line)} because {_what(death, timer)}.",
            (
                *_started(timer),
                *_taken_away(death),
                *(evidence.said_last(death.farewell) if signal in ("SIGTRAP", "SIGSYS") else ()),
                Evidence(f"{sentence(signal)} ends a process that has no handler for it.", source="signal(7)"),
                *([Evidence(_SENDERS[signal])] if signal in _SENDERS else []),
            ),
            line=line,
            summary=f"Ended by {signal}, which nobody handled",
            family=Family.OWN_END if signal in _OWN else self.family,
            general=timer is None and lost is None,
            not_known="What sent the signal, and why, is not known.",
            usual_reasons=usual_reasons.of_an_unhandled_signal(death),
        )

    def fires_on(self) -> Recordings:
        """A timer of the cell, one of an earlier cell, signals from outside, and a real-time signal."""
        yield recording("import signal\nsignal.alarm(2)\nwork()", signal="SIGALRM")
        yield recording("import signal as s\ns.setitimer(s.ITIMER_PROF, 5)", "work()", signal="SIGPROF")
        for signal in ("SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGVTALRM", "SIGIO", "SIGXFSZ", "SIGTRAP", "SIGSYS"):
            yield recording("work()", signal=signal, server="watched")
        yield recording("work()", signal="SIGRTMIN")
        yield recording("x = 1", signal="SIGUSR1", idle=True)
        unlimited = SystemState(-1, "end", rlimits={"CPU": Rlimit()}, cpu_s=9.0)
        yield recording("work()", signal="SIGXCPU", system_states=[unlimited])

    def silent_on(self) -> Recordings:
        """Sent by the cell itself, sent to end the program, sent by a crash; a timer beside another end."""
        yield recording("import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)", signal="SIGUSR1")
        yield recording("work()", signal="SIGTERM")
        yield recording("work()", signal="SIGBUS")
        used_up = SystemState(-0.1, "end", rlimits={"CPU": Rlimit(4, 10)}, cpu_s=3.0)
        yield recording("work()", signal="SIGXCPU", system_states=[used_up])
        yield recording("import signal\nsignal.alarm(100)\nwork()", signal="SIGKILL")


def _what(death: Death, timer: Timer | None) -> str:
    if death.signal == "SIGTRAP" and death.farewell is not None:
        return f"native code gave up with the words {quote(death.farewell, 100)}"
    if death.signal == "SIGALRM" and timer is None:
        return "it got the signal of a timer"
    return _WHAT.get(death.signal or "", "it got a signal")


def _started(timer: Timer | None) -> Iterator[Evidence]:
    if timer is not None:
        name = cell_name(timer.cell.execution_count)
        text = f"Line {timer.line} of {name} starts this timer: {quote(timer.text, 100)}."
        yield Evidence(text, timer.line, "line", "cell source")


def _taken_away(death: Death) -> Iterator[Evidence]:
    if (lost := death.lost_handler) is not None:
        name = death.code.cell_name(lost.cell)
        text = f"Line {lost.node.lineno} of {name} gives {death.signal} its default action: {quote(lost.text, 100)}."
        yield Evidence(text, lost.node.lineno, "line", "cell source")
