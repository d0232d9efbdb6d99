from ...fix import Advice, Case, Death

_TIMERS = ("SIGALRM", "SIGVTALRM", "SIGPROF")
_TIMER = (
    "import signal\n\ndef on_time_out(number, frame):\n    raise TimeoutError('took too long')\n\n"
    "signal.signal(signal.{signal}, on_time_out)  # before the timer is started\n"
    "try:\n    ...  # the work\nfinally:\n    signal.{off}  # the timer is off again"
)
_OTHER = (
    "import signal\n\ndef on_signal(number, frame):\n    raise InterruptedError(signal.Signals(number).name)\n\n"
    "signal.signal(signal.{signal}, on_signal)  # in the first cell; save in it what must not get lost"
)


class SignalHandler(Advice):
    """Install a handler before the signal can come.

    What it does: A signal without a handler ends the process. With the handler of the snippet it raises an error in the
    cell: a `TimeoutError` where a timer sent it, which is turned off when the work is done in time.

    When it is offered: A signal that nobody handled ended the kernel.

    What it costs: Nothing. The cell gets an error in place of a dead kernel.
    """

    id, title = "signal-handler", "Get an error in place of the dead kernel: install a handler for the signal"
    causes = ("unhandled-signal",)
    why = "{signal} came {where}, and no handler was installed. Install one first{then}."
    snippet = "{code_}"

    FIRES = [
        Case(
            "import signal\nsignal.alarm(1)\nwork()",
            cause="unhandled-signal",
            signal="SIGALRM",
            says=("signal.signal(signal.SIGALRM", "alarm(0)"),
        ),
        Case("work()", cause="unhandled-signal", signal="SIGUSR1", says=("raise InterruptedError", "signal.SIGUSR1")),
    ]
    SILENT = [Case("import signal\nsignal.alarm(1)", cause="killed-externally", signal="SIGTERM")]

    def facts(self, death: Death) -> dict[str, str]:
        """Tell a timer, which has to be turned off, from what others send."""
        name = death.signal or ""
        if name not in _TIMERS:
            return {"then": "", "code_": _OTHER.format(signal=name)}
        clock = {"SIGALRM": "alarm(0)", "SIGVTALRM": "setitimer(signal.ITIMER_VIRTUAL, 0)"}
        off = clock.get(name, "setitimer(signal.ITIMER_PROF, 0)")
        then = ", and turn the timer off when the work is done"
        return {"then": then, "code_": _TIMER.format(signal=name, off=off)}
