import ast
from keyword import iskeyword

from ...calls import calls_at
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote

_FRAME = "import pandas as pd\ndf = pd.read_csv('ratings.csv')"


class PivotKeepSparse(Fix):
    """Keep only the pairs that occur, in a sparse matrix.

    What it does: `pivot` and `unstack` make a cell for each pair of a row and a column: 40,000 users and 20,000 items
    are 800 million, 6.0 GiB, of which a few percent hold a value. A sparse matrix of SciPy holds only those.
    scikit-learn takes it.

    When it is offered: Memory ran out on a line that calls `pivot`, `pivot_table`, `unstack` or `crosstab` of pandas.

    What it costs: The result has no labels: the names of rows and columns stand in lists of their own. Filter first
    what has few values, and a table may do.
    """

    id, title, causes = "pivot-keep-sparse", "Keep only the pairs that occur: a sparse matrix", (Family.MEMORY,)

    FIRES = [
        Case(
            _FRAME,
            "m = df.pivot(index='user', columns='item', values='stars').fillna(0)",
            says=("rows, users = pd.factorize(df['user'])", "coo_matrix((df['stars'], (rows, columns))", "m = "),
        ),
        Case(  # `is` would be a keyword
            _FRAME,
            "m = df.pivot(index='u', columns='i', values='stars')",
            says=("columns, column_names = pd.factorize(df['i'])",),
        ),
        Case(
            _FRAME,
            "def count(t):\n    return t.groupby(['user', 'item']).size().unstack(fill_value=0)",
            "counts = count(df)",
            says=("tall = t.groupby(['user', 'item']).size()", "get_level_values"),
        ),
        Case(_FRAME, "c = pd.crosstab(df['user'], df['item'])", says=("pd.factorize(df['user'])", "numpy.ones")),
    ]
    SILENT = [
        Case(_FRAME, "m = df.pivot(index='a', columns='b', values='c')\nbig = [0] * 10**10", line=2),
        Case("import polars as pl\ndf = pl.read_csv('a.csv')", "m = df.pivot(index='a', columns='b', values='c')"),
        Case(_FRAME, "df.plot()"),
    ]

    def propose(self, death: Death) -> Proposals:
        methods = (f"pandas.{kind}{name}" for kind in ("DataFrame.", "") for name in ("pivot", "pivot_table"))
        for call in calls_at(death, *methods, "pandas.DataFrame.unstack", "pandas.crosstab"):
            match call.statement:
                case ast.Assign(targets=[target]):
                    name = call.scope.segment(target)
                case _:
                    name = "matrix"
            yield Proposal(
                (),
                f"{quote(call.text)} makes a cell for each pair of a row and a column, nearly all of them empty. A "
                "sparse matrix holds only the pairs that occur; or filter rows and columns with few values first.",
                death.memory.missing_bytes,
                snippet=_snippet(call, name),
            )


def _snippet(call: Call, name: str) -> str:
    """Return code that makes the same table as a sparse matrix."""
    made, segment = "from scipy.sparse import coo_matrix\n\n", call.scope.segment
    is_method = call.name.startswith("pandas.DataFrame.")
    owner = segment(call.node.func.value) if is_method and isinstance(call.node.func, ast.Attribute) else ""
    if call.name.endswith("unstack"):
        return (
            f"{made}tall = {owner}  # one row for each pair\n"
            "rows, row_names = tall.index.get_level_values(0).factorize()\n"
            "columns, column_names = tall.index.get_level_values(1).factorize()\n"
            "shape = len(row_names), len(column_names)\n"
            f"{name} = coo_matrix((tall.to_numpy(), (rows, columns)), shape=shape).tocsr()"
        )
    if call.name.endswith("crosstab"):
        ones = "numpy.ones(len(rows), dtype='int32')"
        parts, values, made = [segment(one) for one in call.node.args[:2]], ones, f"import numpy\n{made}"
    else:
        frame = call.argument("data", 0) if not is_method else None
        frame_text = owner or (segment(frame) if frame is not None else "df")
        words = [call.argument(word) for word in ("index", "columns", "values")]
        parts = [f"{frame_text}[{'…' if word is None else segment(word)}]" for word in words]
        values = parts.pop()
    if len(parts) < 2:
        parts = ["…", "…"]
    names = [_plural(one, usual) for one, usual in zip(parts, ("row_names", "column_names"), strict=True)]
    return (
        f"{made}rows, {names[0]} = pd.factorize({parts[0]})\ncolumns, {names[1]} = pd.factorize({parts[1]})\n"
        f"shape = len({names[0]}), len({names[1]})\n"
        f"{name} = coo_matrix(({values}, (rows, columns)), shape=shape).tocsr()  # equal pairs are added up"
    )


def _plural(text: str, usual: str) -> str:
    """Return `users` for `df['user']`, and the usual name for `df['i']`, whose plural is a keyword."""
    word = text.rpartition("[")[2].strip("'\"]")
    name = f"{word}s"
    return name if name.isidentifier() and not iskeyword(name) and word not in ("row", "column") else usual
