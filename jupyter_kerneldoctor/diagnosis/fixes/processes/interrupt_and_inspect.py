from ...fix import Advice, Case, Death, quote


class InterruptAndInspect(Advice):
    """See what each thread waits for, then interrupt.

    What it does: `jupyter kerneldoctor inspect` shows the stack of each thread and child process of a kernel that does
    not answer, from outside. Interrupt it from the Kernel menu then: a wait in Python ends with a `KeyboardInterrupt`.
    Where that does nothing, it waits in native code, and only a restart helps.

    When it is offered: The kernel lives and does nothing, and no other fix is known.

    What it costs: Nothing. An interrupt ends the cell.
    """

    id, title, causes, general = "interrupt-and-inspect", "See what it waits for, then interrupt", ("hang",), True
    unless_offered = frozenset({"let-it-go-on", "end-the-loop"})
    why = (
        "{waits} The command shows what each thread does. Interrupt it from the Kernel menu then; where that does "
        "nothing, restart. With a `timeout` a wait ends by itself: `queue.get(timeout=60)`, `lock.acquire(timeout=60)`."
    )
    snippet = "!jupyter kerneldoctor inspect --kernel {pid}  # in a terminal or another notebook"

    FIRES = [Case("q.get()", line=1, says=("inspect --kernel 4242", "timeout"))]
    SILENT = [Case("q.get()", cause="fork-unsafe")]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the line at which it waits."""
        still = death.stuck_cell
        if still is None or still.line is None or death.cell is None:
            return {"waits": "The cell waits for something that does not come."}
        lines = death.cell.source.split("\n")
        text = still.main.code.strip() or (lines[still.line - 1].strip() if still.line <= len(lines) else "")
        return {"waits": f"The cell waits {f'at {quote(text)} ' if text else ''}for something that does not come."}
