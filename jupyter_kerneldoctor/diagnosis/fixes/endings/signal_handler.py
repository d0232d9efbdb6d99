import re

from ...code.cellsource import line_of
from ...code.timers import lost_handlers
from ...edits import Changes, import_as, insert_before, replace
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_TIMERS = {"SIGALRM": "ITIMER_REAL", "SIGVTALRM": "ITIMER_VIRTUAL", "SIGPROF": "ITIMER_PROF"}
_TIMED = (
    "import signal\n\ndef on_time_out(number, frame):\n    raise TimeoutError('took too long')\n\n"
    "signal.signal(signal.{signal}, on_time_out)  # before the timer is started\n"
    "try:\n    ...  # the work\nfinally:\n    signal.setitimer(signal.{timer}, 0)  # the timer is off again"
)
_TOLD = (
    "import signal, threading\n\nready = threading.Event()\n"
    "signal.signal(signal.{signal}, lambda number, frame: ready.set())  # before anybody can send it\n"
    "ready.wait(timeout=60)"
)
_USED_UP = (
    "import signal\n\ndef on_time_out(number, frame):\n    raise TimeoutError('the processor time is used up')\n\n"
    "signal.signal(signal.SIGXCPU, on_time_out)  # before the work begins\n"
    "try:\n    ...  # the work\nexcept TimeoutError:\n    ...  # save what there is: the next limit ends the kernel"
)
_BROKEN = (
    "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python has it: BrokenPipeError is raised\n"
    "try:\n    ...  # what writes\nexcept BrokenPipeError:\n    pass  # who read has enough"
)


class SignalHandler(Fix):
    """Have a handler in place whenever the signal can come.

    What it does: A signal without a handler ends the process. Where a cell takes a handler away while its timer still
    runs, the edit stops the timer first. Where a cell gives SIGPIPE its default action, the edit has it ignored, as
    Python does: the write then raises BrokenPipeError. Else the snippet installs a handler.

    When it is offered: A signal that nobody handled ended the kernel.

    What it costs: Nothing. The cell gets an error in place of a dead kernel.
    """

    id, title = "signal-handler", "Install a handler for the signal before it can come"
    causes = ("unhandled-signal",)
    words_stay = True

    FIRES = [
        Case(
            "import signal\nsignal.alarm(1)\nwork()",
            signal="SIGALRM",
            says=("signal.signal(signal.SIGALRM", "ITIMER_REAL, 0"),
        ),
        Case(
            "import signal\nold = signal.signal(signal.SIGPROF, tick)\n"
            "signal.setitimer(signal.ITIMER_PROF, 1)\nwork()\nsignal.signal(signal.SIGPROF, old)",
            "work()",
            signal="SIGPROF",
            becomes={
                "signal(signal.SIGPROF, old)": "setitimer(signal.ITIMER_PROF, 0)\nsignal.signal(signal.SIGPROF, old)"
            },
            says=("Stop the timer before",),
        ),
        Case(
            "import signal as s\ns.signal(s.SIGPIPE, s.SIG_DFL)",
            "p.stdin.write(text)",
            signal="SIGPIPE",
            becomes={1: "import signal as s\ns.signal(s.SIGPIPE, s.SIG_IGN)"},
            says=("BrokenPipeError in place of the dead kernel",),
        ),
        Case("work()", signal="SIGXCPU", says=("signal.SIGXCPU, on_time_out", "except TimeoutError:")),
        Case("wait()", signal="SIGUSR1", says=("signal.SIGUSR1, lambda", "ready.wait")),
    ]
    SILENT = [Case("import signal\nsignal.alarm(1)", cause="killed-externally", signal="SIGTERM")]

    def propose(self, death: Death) -> Proposals:
        signal, lost = death.signal or "", death.lost_handler
        told = f"{signal} came {death.where()}, and no handler was installed."
        if lost is not None and signal in _TIMERS:
            edits = tuple(
                change for one in lost_handlers(death.code, signal) for change in _stop_first(one, signal, death)
            )
            why = f"{quote(lost.text)} takes the handler away while the timer runs; its next signal ends the kernel."
            title = "Stop the timer before you take its handler away"
            yield Proposal(edits, why, title=title, snippet=_TIMED.format(signal=signal, timer=_TIMERS[signal]))
        elif signal == "SIGPIPE":
            why = "The kernel wrote to a program that had stopped reading. "
            edits = () if lost is None else _ignored(lost)
            why += (
                ""
                if lost is None
                else f"{quote(lost.text)} lets that end the process, as it does for programs in a shell."
            )
            title = "Get a BrokenPipeError in place of the dead kernel: SIG_IGN for SIGPIPE"
            yield Proposal(edits, why.strip(), title=title, snippet=_BROKEN)
        elif signal in _TIMERS:
            title = "Get a TimeoutError in place of the dead kernel: install a handler for the signal"
            why = f"{told} Install one first, and turn the timer off when the work is done."
            yield Proposal((), why, title=title, snippet=_TIMED.format(signal=signal, timer=_TIMERS[signal]))
        elif signal == "SIGXCPU":
            title = "Get a TimeoutError in place of the dead kernel: install a handler for the signal"
            yield Proposal((), f"{told} Install one first, and save what there is.", title=title, snippet=_USED_UP)
        elif signal.startswith(("SIGUSR", "SIGRT", "SIGIO")):
            yield Proposal(
                (), f"{told} Install one before who sends it is started.", snippet=_TOLD.format(signal=signal)
            )


def _stop_first(lost: Call, signal: str, death: Death) -> Changes:
    before = line_of(lost.scope.tree.source, lost.statement.lineno - 1) if lost.statement.lineno > 1 else ""
    if re.search(r"\b(?:setitimer|alarm)\(", before):
        return ()
    name, imported = import_as(lost.scope, death.code, "signal", "signal")
    return imported + insert_before(lost.scope, lost.statement, f"{name}.setitimer({name}.{_TIMERS[signal]}, 0)")


def _ignored(lost: Call) -> Changes:
    given = lost.node.args[1]
    text = lost.scope.segment(given)
    return replace(lost.scope, given, text.replace("SIG_DFL", "SIG_IGN")) if text.endswith(".SIG_DFL") else ()
