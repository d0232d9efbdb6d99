"""The fix `preallocate-array`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..case import Case
from ..family import Family
from ..fix import Fix, Proposal
from ..frameworks.growing import growing
from ..units import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..death import Death


class PreallocateArray(Fix):
    """Put the pieces of an array together once, after the loop.

    What it does
    ------------
    `A = np.vstack([A, piece])` in a loop copies all that is there in each round, and holds the old array and the new
    one at the same time. Pieces in a list are put together once.

    When it is offered
    ------------------
    Memory ran out in such a loop that uses the array for nothing else.

    What it costs
    -------------
    Nothing; where the final size is known, an array of that size to be filled takes less still.
    """

    id, title, causes = "preallocate-array", "Put the array together once, after the loop", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np",
            "A = np.empty((0, 3))\nfor p in paths:\n    A = np.vstack([A, load(p)])  # grow\nprint(A.mean())",
            becomes="A = np.empty((0, 3))\nA_parts = [A]\nfor p in paths:\n    A_parts.append(load(p))  # grow\n"
            "A = np.vstack(A_parts)\nprint(A.mean())",
        ),
        Case(
            "from numpy import concatenate as cat",
            "def read(n):\n\tall_rows = first()\n\tfor i in range(n):\n\t\tall_rows = cat((all_rows, row(i)), axis=1)\n"
            "\treturn all_rows",
            "data = read(10**6)",
            becomes={
                2: "def read(n):\n\tall_rows = first()\n\tall_rows_parts = [all_rows]\n\tfor i in range(n):\n"
                "\t\tall_rows_parts.append(row(i))\n\tall_rows = cat(all_rows_parts, axis=1)\n\treturn all_rows"
            },
        ),
    ]
    SILENT = [
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([A, load(p)])\n    print(A.shape)"),
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([B, load(p)])"),
        Case("import numpy as np", "A = np.vstack([A, load()])"),
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([A, f(p)])\nbig = [0] * 10**10", line=3),
        Case("import jax.numpy as np", "for p in paths:\n    A = np.vstack([A, load(p)])"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Keep the pieces in a list."""
        names = ("vstack", "hstack", "concatenate", "append")
        for one in growing(death.code, *(f"numpy.{name}" for name in names)) if death.is_of_this_cell else ():
            if not death.was_running(one.loop, one.call.scope):
                continue
            yield Proposal(
                one.gathered(),
                f"{quote(one.call.text)} copies all of {quote(one.name)} in each round, and for a moment both copies "
                "are there. A list of the pieces is put together once.",
                (death.memory.missing_bytes or 0) // 2,
            )
