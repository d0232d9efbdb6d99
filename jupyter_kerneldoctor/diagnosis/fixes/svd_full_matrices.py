"""The fix `svd-full-matrices`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..case import Case
from ..code.arrays import Value
from ..family import Family
from ..fix import SetArgument

if TYPE_CHECKING:
    from ..code.notebook import Call
    from ..death import Death

_FLOAT_BYTES = 8


class SvdFullMatrices(SetArgument):
    """Ask the singular value decomposition only for the columns you need.

    What it does
    ------------
    `np.linalg.svd(X)` completes U to a square: for 50,000 rows and 20 columns U alone is 50,000 by 50,000, 18.6 GiB.
    With `full_matrices=False` U has as many columns as there are singular values, here 20.

    When it is offered
    ------------------
    Memory ran out on a line that calls `svd` of NumPy or SciPy without `full_matrices`, and the square is a good part
    of what was missing, where the shape of the matrix was recorded.

    What it costs
    -------------
    Nothing that most programs use: the columns left out belong to no singular value.
    """

    id, title, causes = "svd-full-matrices", "Ask the SVD only for the columns you need", (Family.MEMORY,)
    functions, argument, position, value = ("numpy.linalg.svd", "scipy.linalg.svd"), "full_matrices", 1, "False"
    why = "makes U a square of as many columns as rows. With `full_matrices=False` it has one for each singular value."

    FIRES = [
        Case(
            "import numpy as np\nX = np.random.rand(50_000, 20)",
            "U, s, Vt = np.linalg.svd(X)",
            becomes="U, s, Vt = np.linalg.svd(X, full_matrices=False)",
            says=("saves 18.6 GiB",),
        ),
        Case(
            "from scipy.linalg import svd",
            "%%time\ns = svd(\n    load('größe'),  # viel\n)[1]",
            becomes="%%time\ns = svd(\n    load('größe'), full_matrices=False,  # viel\n)[1]",
        ),
    ]
    SILENT = [
        Case("import numpy as np", "np.linalg.svd(X, full_matrices=False)"),
        Case("import numpy as np", "np.linalg.svd(X, True)"),
        Case("import numpy as np\nX = np.ones((2000, 1999))", "np.linalg.svd(X)"),  # one column more is no matter
        Case("import numpy as np", "np.linalg.svd(X, **options)"),
        Case("import numpy as np", "np.linalg.svd(X)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np", "np.linalg.svd(X)", cause="segfault"),
        Case("def svd(X): pass", "svd(X)"),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the square, or all that was missing where the shape is not known."""
        given = call.argument(0)
        match given and death.values.of(given, call.scope):
            case Value(shape=(rows, columns)):
                return (max(rows, columns) - min(rows, columns)) * max(rows, columns) * _FLOAT_BYTES
        return death.memory.missing_bytes
