from ...fix import Advice, Case, Death, quote


class InterruptAndInspect(Advice):
    """See what each thread waits for, then interrupt.

    What it does: `jupyter kerneldoctor inspect` shows the stack of each thread and child process of a kernel that does
    not answer, from outside. Interrupt it from the Kernel menu then: a wait in Python ends with a `KeyboardInterrupt`.
    Where that does nothing, it waits in native code, and only a restart helps.

    When it is offered: The kernel lives and does nothing, and no other fix is known.

    What it costs: Nothing. An interrupt ends the cell.
    """

    id, title, causes, general = "interrupt-and-inspect", "See what it is doing, then interrupt", ("hang",), True
    unless_offered = frozenset({"let-it-go-on", "end-the-loop"})
    why = (
        "{waits} The command shows what each thread does. Interrupt it from the Kernel menu then; where that does "
        "nothing, restart. With a `timeout` a wait ends by itself: `queue.get(timeout=60)`, `lock.acquire(timeout=60)`."
    )
    snippet = "# in a terminal{when_}:\njupyter kerneldoctor inspect{which_}"

    FIRES = [Case("q.get()", line=1, says=("inspect --kernel 4242", "timeout"))]
    SILENT = [Case("q.get()", cause="fork-unsafe")]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the line at which it waits, and the kernel while it waits there."""
        waits_now, still = death.recording.alive and not death.is_past, death.stuck_cell
        command = {"which_": f" --kernel {death.recording.kernel.process.pid}", "when_": ""}
        if not waits_now:
            command = {"which_": "", "when_": ", when it happens again"}
        if still is None or still.line is None or death.cell is None:
            return {"waits": "The cell does not come to its end.", **command}
        lines = death.cell.source.split("\n")
        text = still.main.code.strip() or (lines[still.line - 1].strip() if still.line <= len(lines) else "")
        waits = f"The cell waits {f'at {quote(text)} ' if text else ''}for something that does not come."
        return {"waits": waits, **command}
