import ast

from ...calls import calls_at
from ...code.arrays import Value
from ...code.calls import last_name
from ...code.trees import unparse
from ...edits import Changes, replace
from ...fix import Call, Case, Death, Family, Proposal, Proposals, SetArgument, quote

_FLOAT_BYTES = 8
_OF_ROWS = {"argsort", "argpartition", "argmax", "nlargest"}
_FRAME = "import pandas as pd\ndef similar(table): return table.T.corr() > 0.9"


class CorrcoefRowvar(SetArgument):
    """Correlate the columns, not the rows.

    What it does: `np.corrcoef(X)` and `np.cov(X)` take each row for a variable: 30,000 rows of 20 columns give a result
    of 30,000 by 30,000, 6.7 GiB. With `rowvar=False` the columns are the variables, and the result is 20 by 20. In
    pandas `table.T.corr()` does the same, and `table.corr()` is about the columns.

    When it is offered: Memory ran out on a line that calls one of them on rows, and X has more rows than columns, or a
    shape that was not recorded.

    What it costs: Another result: the one that was most likely meant.
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
        Case(
            "import numpy as np\nX = np.ones((30_000, 20))",
            "R = np.corrcoef(X)\nbest = np.argsort(-R, axis=None)[:9]",
            becomes={"corrcoef(X)": "corrcoef(X, rowvar=False)"},
        ),
        Case(_FRAME, "similar(pd.DataFrame(x))", becomes={"T.corr": "corr"}),
    ]
    SILENT = [
        Case("import numpy as np\nX = np.random.rand(20, 30_000)", "R = np.corrcoef(X)"),
        Case("import numpy as np", "R = np.corrcoef(X, rowvar=True)"),
        Case("import numpy as np\nX = np.ones((30_000, 20))", "near = np.corrcoef(X).argsort(axis=1)[:, -9:]"),
        Case(_FRAME.replace(".T", ""), "similar(pd.DataFrame(x))"),
        Case("import numpy as np", "R = np.corrcoef(X)\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        yield from super().propose(death)
        for call in calls_at(death, "pandas.DataFrame.corr", "pandas.DataFrame.cov"):
            match call.node.func:
                case ast.Attribute(
                    value=ast.Attribute(attr="T", value=table)
                    | ast.Call(func=ast.Attribute(attr="transpose", value=table), args=[], keywords=[]) as turned
                ):
                    if saved := self._saved(table, call, death):
                        why = f"{quote(call.text)} correlates the rows: the result has a number for each pair of rows."
                        yield Proposal(replace(call.scope, turned, call.scope.segment(table)), why, saved)

    def change(self, call: Call, death: Death) -> Changes:
        """Give it the argument, but where something is looked for in each row: there the rows are meant."""
        axes = ((one, Call(one, call.scope, "").argument("axis")) for one in call.scope.calls)
        used = {last_name(one.func) for one, axis in axes if axis is None or unparse(axis) != "None"}
        return () if used & _OF_ROWS else super().change(call, death)

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the result; nothing where the rows are the fewer."""
        given = call.argument(0)
        return death.memory.missing_bytes if given is None else self._saved(given, call, death)

    def _saved(self, table: ast.expr, call: Call, death: Death) -> int | None:
        match death.values.of(table, call.scope):
            case Value(shape=(rows, columns)):
                return (rows * rows - columns * columns) * _FLOAT_BYTES if rows > columns else 0
        return death.memory.missing_bytes
