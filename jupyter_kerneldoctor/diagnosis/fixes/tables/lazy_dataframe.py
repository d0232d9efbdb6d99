from collections.abc import Mapping

from ...calls import calls_at
from ...fix import Advice, Case, Death, Family
from ...frameworks.columns import columns_read
from ...frameworks.pandas import frame_name


class LazyDataframe(Advice):
    """Describe the work first, and let polars stream the file through it.

    What it does: `pl.scan_csv(path)` reads nothing yet. With `collect(engine="streaming")` polars reads only the
    columns and rows that the result needs, piece by piece: a sum by groups of a 210 MB file took 28 MB, where pandas
    took 462.

    When it is offered: Memory ran out on a line that reads a file of text or Parquet whole with pandas.

    What it costs: Another library, with other names for much.
    """

    id, title, causes = "lazy-dataframe", "Let polars stream the file through your query", (Family.MEMORY,)
    functions = ("pandas.read_csv", "pandas.read_parquet", "polars.read_csv", "polars.read_parquet")
    share = 1 / 2  # what the result takes is not known, and less has to be learned for other ways
    why = (
        "{call} reads all of the file before the first row is used. `scan_{kind}` of polars reads piece by piece what "
        "the result needs."
    )
    snippet = (
        "{install}import polars as pl\n\n"
        "{name} = pl.scan_{kind}({path}).select({columns}).filter(…).collect(engine='streaming')"
    )

    FIRES = [
        Case("import pandas as pd", "df = pd.read_csv('big.csv')", says=("pl.scan_csv('big.csv')",)),
        Case("import polars as pl", "df = pl.read_parquet(p)", says=("pl.scan_parquet(p)",)),
    ]
    SILENT = [
        Case("import pandas as pd", "df = pd.read_csv('a.csv')", "df = pd.read_csv('a.csv')"),  # it ran before
        Case("import pandas as pd", "df = pd.read_csv('big.csv', nrows=100)"),
        Case("import pandas as pd", "df = pd.read_csv('a.csv')\nbig = [0] * 10**10", line=2),
    ]

    def facts(self, death: Death) -> Mapping[str, str] | None:
        """Return the names of the frame, the file and its columns."""
        call = next(calls_at(death, *self.functions))
        path = call.argument("filepath_or_buffer", "path", "source", 0)
        if (
            path is None
            or death.worked_before(call)
            or any(call.argument(one) for one in ("chunksize", "iterator", "nrows"))
        ):
            return None
        columns = columns_read(call, death.code).text
        return {
            "name": frame_name(call) or "df",
            "kind": call.name.rpartition("_")[2],
            "install": "" if call.name.startswith("polars") else "%pip install polars\n\n",
            "path": call.scope.segment(path),
            "columns": columns,
        }
