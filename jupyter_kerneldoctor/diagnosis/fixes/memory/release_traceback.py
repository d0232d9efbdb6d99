from jupyter_kerneldoctor.recording.model import Cell

from ...case import Ran
from ...fix import Advice, Case, Death, Family, size
from ...units import cell_name

_SMALL = 0.1  # of the limit
_TRAIN = "def train():\n    x = np.ones((7000, 7000))\n    raise ValueError"


class ReleaseTraceback(Advice):
    """Let go of the traceback of the last error: it keeps the variables of the functions that it went through.

    What it does: After an exception the traceback stays, for `%debug`, and with it all local variables of all functions
    in it: the batch, the network's outputs, the half-made table. The next run of the cell comes on top of that. The
    snippet lets go of them; so does any cell that fails in a small way, `1/0`. `del` and `gc.collect()` alone do not.

    When it is offered: Memory ran out after a cell that ended with an error and left a good part of the memory in use.

    What it costs: `%debug` has nothing to look at any more.
    """

    id, title, causes = "release-traceback", "Let go of the last traceback before you run it again", (Family.MEMORY,)
    share = 1.0  # what is kept is a part of what fills the kernel
    why = (
        "{cell_} ended with {error}, and its traceback still keeps what its functions held: {held}. Let go of it at "
        "the top of the cell, or restart before you run it again."
    )
    snippet = (
        "import gc\nimport sys\n\nif getattr(sys, 'last_traceback', None) is not None:\n"
        "    sys.last_traceback.tb_next = None\n    gc.collect()"
    )

    FIRES = [
        Case(
            _TRAIN,
            Ran("train()", 100, 800, error="ValueError", after_mib=700),
            "train()",
            before_mib=700,
            says=("ValueError", "600 MiB", "last_traceback"),
        )
    ]
    SILENT = [
        Case(_TRAIN, Ran("train()", 100, 800), "train()", before_mib=700),
        Case(_TRAIN, Ran("train()", 100, 800, error="ValueError", after_mib=110), "train()", before_mib=110),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the last cell that failed and left memory in use."""
        before = [one for one in death.recording.cells if one.finished and one is not death.cell]
        failed = [one for one in before if one.error not in (None, "KeyboardInterrupt") and _left(one)]
        limit, held = death.memory.limit_bytes, sum(_left(one) for one in failed[-1:])
        if not failed or limit is None or held < _SMALL * limit:
            return None
        name = cell_name(failed[-1].execution_count)
        cell = f"{name[0].upper()}{name[1:]}"
        return {"cell_": cell, "error": str(failed[-1].error), "held": size(held)}


def _left(cell: Cell) -> int:
    """Return how much more was in use after a cell than before it."""
    return max(0, (cell.rss_after_bytes or 0) - (cell.rss_before_bytes or cell.rss_after_bytes or 0))
