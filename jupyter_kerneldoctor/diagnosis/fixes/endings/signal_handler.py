from ...fix import Advice, Case


class SignalHandler(Advice):
    """Install a handler before the signal can come.

    What it does: A signal without a handler ends the process. With the handler of the snippet a timer raises a
    `TimeoutError` in the cell, and `alarm(0)` turns the timer off when the work is done in time.

    When it is offered: A signal that nobody handled ended the kernel.

    What it costs: Nothing. The cell gets an error in place of a dead kernel.
    """

    id, title = "signal-handler", "Get a TimeoutError in place of the dead kernel: install a handler for the signal"
    causes = ("unhandled-signal",)
    why = (
        "{signal} came {where}, and no handler was installed. Install one first, and turn the timer off when the work "
        "is done."
    )
    snippet = (
        "import signal\n\ndef on_time_out(number, frame):\n    raise TimeoutError('took too long')\n\n"
        "signal.signal(signal.{signal}, on_time_out)  # before the timer is started\n"
        "try:\n    ...  # the work\nfinally:\n    signal.alarm(0)  # the timer is off again"
    )

    FIRES = [
        Case(
            "import signal\nsignal.alarm(1)\nwork()",
            cause="unhandled-signal",
            signal="SIGALRM",
            says=("signal.signal(signal.SIGALRM", "alarm(0)"),
        )
    ]
    SILENT = [Case("import signal\nsignal.alarm(1)", cause="killed-externally", signal="SIGTERM")]
