"""The fix `sparse-encoder-output`."""

from __future__ import annotations

from ..case import Case
from ..family import Family
from ..fix import SetArgument


class SparseEncoderOutput(SetArgument):
    """Keep only the ones of a one-hot table, not the zeros.

    What it does
    ------------
    `pd.get_dummies(df)` makes a column for each value that occurs, and nearly all of its entries are zero: 100,000 rows
    with 20,000 names are 1.9 GiB. With `sparse=True` only the ones are kept.

    When it is offered
    ------------------
    Memory ran out on a line that calls `pd.get_dummies` without `sparse`.

    What it costs
    -------------
    The columns have pandas' sparse type: most of scikit-learn takes `X.sparse.to_coo()`, plain arithmetic makes them
    dense again.
    """

    id, title, causes = (
        "sparse-encoder-output",
        "Keep only the ones of the one-hot table: sparse=True",
        (Family.MEMORY,),
    )
    functions, argument, position, value = ("pandas.get_dummies",), "sparse", 5, "True"
    why = "makes a column for each value that occurs, nearly all zeros. With `sparse=True` only the ones take memory."

    FIRES = [
        Case(
            "import pandas as pd",
            "X = pd.get_dummies(df, columns=['user'])",
            becomes="X = pd.get_dummies(df, columns=['user'], sparse=True)",
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "X = pd.get_dummies(df, sparse=False)"),
        Case("import pandas as pd", "X = pd.get_dummies(df)\nbig = [0] * 10**10", line=2),
        Case("from mine import get_dummies", "X = get_dummies(df)"),
    ]
