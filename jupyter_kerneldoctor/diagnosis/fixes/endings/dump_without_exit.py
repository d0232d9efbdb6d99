from ...edits import drop_argument
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SET = "import faulthandler as f\nf.dump_traceback_later(60, exit=True)"


class DumpWithoutExit(Fix):
    """Let the hang detector write what it sees, and leave the kernel alone.

    What it does: `faulthandler.dump_traceback_later(..., exit=True)` ends the process when the time is up, whatever
    runs then, also cells later. The edit keeps the report and takes `exit=True` away. The snippet switches the detector
    off.

    When it is offered: The kernel left with exit code 1, and a cell had set this detector.

    What it costs: What really hangs goes on hanging: interrupt it.
    """

    id, title, causes = "dump-without-exit", "Let the hang detector only report: without exit=True", ("exit-call",)

    FIRES = [
        Case(
            _SET,
            "work()",
            exit_code=1,
            becomes={1: "import faulthandler as f\nf.dump_traceback_later(60)"},
            says=("cancel_dump_traceback_later()", "cell [1]"),
        )
    ]
    SILENT = [Case(_SET, "work()", exit_code=3), Case("work()", exit_code=1)]

    def propose(self, death: Death) -> Proposals:
        for call in death.code.calls("faulthandler.dump_traceback_later"):
            if death.status.exit_code == 1 and call.argument("exit") is not None:
                where = death.code.cell_name(call.cell)
                why = f"{quote(call.text)} ({where}) ends the kernel when its time is up, whichever cell runs then."
                snippet = "import faulthandler\nfaulthandler.cancel_dump_traceback_later()  # when the work is done"
                yield Proposal(drop_argument(call, "exit"), why, snippet=snippet)
