from ...edits import replace
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SMALL = "import threading\nthreading.stack_size(64 * 1024)  # many"


class UsualStackSize(Fix):
    """Give threads the usual stack.

    What it does: Each call takes a piece of its thread's stack, and calls in native code take large ones. Linux gives a
    thread 8 MB of addresses, and memory only for what it uses of them: a small stack saves next to nothing. The edit
    sets the usual size again.

    When it is offered: A thread crashed as its stack was full, and a cell had made the stacks of threads small.

    What it costs: Addresses, which are plenty on a 64-bit system.
    """

    id, title, causes = "usual-stack-size", "Give threads the usual stack: threading.stack_size(0)", ("stack-overflow",)

    FIRES = [Case(_SMALL, "read_all()", becomes={"64 * 1024": "0"}, says=("`threading.stack_size(64 * 1024)`", "8 MB"))]
    SILENT = [
        Case("import threading\nthreading.stack_size(64 << 20)", "read_all()"),
        Case(_SMALL, "read_all()", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        if (small := death.small_stacks) is not None:
            where = death.code.cell_name(small.cell)
            why = (
                f"{quote(small.text)} ({where}) leaves native code too little room. The usual 8 MB are addresses only: "
            )
            why += "memory is taken for what is used of them."
            yield Proposal(replace(small.scope, small.node.args[0], "0"), why)
