"""The fix `corrcoef-rowvar`."""

from ..case import Case
from ..code.arrays import Value
from ..code.notebook import Call
from ..death import Death
from ..family import Family
from ..fix import SetArgument

_FLOAT_BYTES = 8


class CorrcoefRowvar(SetArgument):
    """Correlate the columns, not the rows.

    What it does
    ------------
    `np.corrcoef(X)` and `np.cov(X)` take each row for a variable: 30,000 rows of 20 columns give a result of 30,000 by
    30,000, 6.7 GiB. With `rowvar=False` the columns are the variables, and the result is 20 by 20.

    When it is offered
    ------------------
    Memory ran out on a line that calls one of them without `rowvar`, and X has more rows than columns, or a shape that
    was not recorded.

    What it costs
    -------------
    Another result: the one that was most likely meant.
    """

    id, title, causes = "corrcoef-rowvar", "Correlate the columns, not the rows: rowvar=False", (Family.MEMORY,)
    functions, argument, position, value = ("numpy.corrcoef", "numpy.cov"), "rowvar", 2, "False"
    why = "takes each row for a variable, so the result has as many rows and columns as the data have rows."

    FIRES = [
        Case(
            "import numpy as np\nX = np.random.rand(30_000, 20)",
            "R = np.corrcoef(X)",
            becomes="R = np.corrcoef(X, rowvar=False)",
        ),
    ]
    SILENT = [
        Case("import numpy as np\nX = np.random.rand(20, 30_000)", "R = np.corrcoef(X)"),
        Case("import numpy as np", "R = np.corrcoef(X, rowvar=True)"),
        Case("import numpy as np", "R = np.corrcoef(X)\nbig = [0] * 10**10", line=2),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the result; nothing where the rows are the fewer."""
        given = call.argument(0)
        match given and death.values.of(given, call.scope):
            case Value(shape=(rows, columns)):
                return (rows * rows - columns * columns) * _FLOAT_BYTES if rows > columns else 0
        return death.memory.missing_bytes
