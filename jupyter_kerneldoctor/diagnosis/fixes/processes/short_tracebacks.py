from ...examples.stuck import at_work, frame
from ...fix import Case, Death, Fix, Proposal, Proposals

_DEEP = "import sys\nsys.setrecursionlimit(10**6)"


class ShortTracebacks(Fix):
    """Have IPython write short tracebacks.

    What it does: IPython looks up the source and the variables of each call in a traceback, also of a hundred thousand
    that are alike, and shows some of them. `%xmode Minimal` shows only the error. A low recursion limit makes the
    traceback short in the first place.

    When it is offered: A cell has ended with an error, and IPython has been formatting its traceback for long.

    What it costs: `Minimal` does not say where the error was raised; `%xmode Context` brings that back.
    """

    id, title, causes = "short-tracebacks", "Have no long traceback formatted: %xmode Minimal, a low limit", ("hang",)

    FIRES = [
        Case(
            _DEEP,
            "walk(0)",
            stacks=at_work("walk(0)", 1, frame("IPython/core/ultratb.py", "format_record", library=True)),
            says=("%xmode Minimal", "setrecursionlimit(3000)"),
        )
    ]
    SILENT = [Case(_DEEP, "q.get()")]

    def propose(self, death: Death) -> Proposals:
        if death.busy_cell is None or death.busy_cell.formats_traceback_s is None:
            return
        yield Proposal(
            why="Interrupt the kernel; its variables stay. Then run one of these lines before the cell is run again: a "
            "loop with a list of what is left to do needs no deep calls at all.",
            snippet="%xmode Minimal\n\nimport sys\nsys.setrecursionlimit(3000)  # a RecursionError comes soon",
        )
