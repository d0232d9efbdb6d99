from ...examples.stuck import look
from ...fix import Advice, Case, Death

_STOPPED = [look("work()", 1, state="T", waits_in="do_signal_stop")]
_WAITS = [look("work()", 1, waits_in="futex_wait_queue")]


class LetItGoOn(Advice):
    """Let a process go on that was stopped.

    What it does: A process that was stopped, by Ctrl-Z, by `kill -STOP` or by a debugger, does nothing until it gets
    SIGCONT. Nothing of it is lost: the cell goes on where it was. An interrupt from the menu waits until then.

    When it is offered: The kernel lives, and its process is stopped.

    What it costs: Nothing. Who stopped it may have had a reason: ask before, on a machine that others use.
    """

    id, title, causes = "let-it-go-on", "Let the process go on: kill -CONT", ("hang",)
    why = (
        "The process {pid} was stopped from outside, and does nothing until it is told to go on. The cell goes on "
        "where it was. Where a debugger such as gdb is attached, detach it."
    )
    snippet = "# in a terminal:\nkill -CONT {pid}\nps -o pid,ppid,stat,user,cmd -p {pid}  # T in STAT: it is stopped"

    FIRES = [Case("work()", stuck=_STOPPED, line=1, says=("kill -CONT 4242",))]
    SILENT = [Case("work()", stuck=_WAITS, line=1)]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Speak up where the thread that runs the cells is stopped."""
        still = death.stuck_cell
        return {} if still is not None and still.main.kind == "stopped" else None
