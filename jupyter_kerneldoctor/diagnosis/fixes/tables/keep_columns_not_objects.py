from ...calls import calls_at
from ...fix import Advice, Call, Case, Death, Family

_FRAME = "import pandas as pd\ndf = pd.read_csv('a.csv')"


class KeepColumnsNotObjects(Advice):
    """Work on whole columns; do not make Python objects of all their values.

    What it does: A column of a data frame holds 8 bytes for each number. As Python objects, in dicts, lists or a
    `Series` for each row, a value takes 50 to 500 bytes. Arithmetic on columns needs none of them, and `itertuples`
    makes one row at a time.

    When it is offered: Memory ran out in a call that makes objects of a whole data frame.

    What it costs: Nothing.
    """

    id, title, causes = "keep-columns-not-objects", "Work on columns, not on an object of each value", (Family.MEMORY,)
    functions = tuple(f"pandas.DataFrame.{name}" for name in ("to_dict", "iterrows", "to_records", "to_json"))
    why = (
        "{call} makes a Python object of each value, which takes 50 to 500 bytes in place of 8. Calculate with whole "
        "columns, or take one row at a time."
    )
    snippet = (
        "total = {table}['a'] * {table}['b']  # whole columns at once\n\n"
        "for row in {table}.itertuples(index=False):  # or one row at a time, of which nothing is kept\n    ..."
    )

    FIRES = [
        Case(_FRAME, "rows = df.to_dict('records')", says=("df['a'] * df['b']", "itertuples")),
        Case(_FRAME, "rows = [r for _, r in df.iterrows()]", says=("`df.iterrows()`",)),
    ]
    SILENT = [
        Case(_FRAME, "for _, r in df.iterrows(): print(r)"),
        Case("from shop import df", "df.to_dict()"),
        Case(_FRAME, "df.to_dict()\nbig = [0] * 10**10", line=2),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the table; a loop over `iterrows` keeps no row by itself."""
        call = next(calls_at(death, *self.functions))
        table = call.text.removesuffix(call.text[call.text.rindex(f".{_method(call)}") :])
        in_loop = any(
            getattr(loop, "iter", None) is call.node for loop in (call.statement, *call.scope.loops_around(call.node))
        )
        return None if in_loop else {"table": table}


def _method(call: Call) -> str:
    return call.name.rpartition(".")[2]
