from collections.abc import Mapping

from ...calls import calls_at
from ...edits import set_argument, text_of
from ...fix import Advice, Case, Death, Family
from ...frameworks.pandas import frame_name


class DeclareDtypes(Advice):
    """Tell pandas the types of the columns while it reads.

    What it does: pandas reads numbers with 8 bytes each and text as one object for each entry. With `dtype={'city':
    'category', 'x': 'float32'}` text that repeats is stored once, and numbers take half. The snippet reads the first
    rows, shows which columns are large, and then all of the file.

    When it is offered: Memory ran out on a line that reads a file of text without `dtype`.

    What it costs: float32 has seven digits. A categorical column with as many values as rows is larger than text.
    """

    id, title, causes = "declare-dtypes", "Tell pandas the types of the columns: dtype", (Family.MEMORY,)
    functions = ("pandas.read_csv", "pandas.read_table")
    share = 3 / 5  # text that repeats shrinks most
    why = (
        "{call} reads numbers with 8 bytes each and text entry by entry. With `dtype=` text that repeats is "
        "stored once (`'category'`), and `'float32'` takes half."
    )
    snippet = (
        "sample = {sample}\n"
        "print(sample.memory_usage(deep=True).sort_values())\n\n"
        "types = {{one: 'category' for one in sample.select_dtypes(['object', 'string']) "
        "if sample[one].nunique() < 100}}\n"
        "types |= {{one: 'float32' for one in sample.select_dtypes('float64')}}\n"
        "{name} = {typed}"
    )

    FIRES = [
        Case(
            "import pandas as pd",
            "df = pd.read_csv('big.csv', sep=';')",
            says=(
                "sample = pd.read_csv('big.csv', sep=';', nrows=10_000)",
                "df = pd.read_csv('big.csv', sep=';', dtype",
            ),
        )
    ]
    SILENT = [
        Case("import pandas as pd", "df = pd.read_csv('a.csv')", "df = pd.read_csv('a.csv')"),  # it ran before
        Case("import pandas as pd", "df = pd.read_csv('big.csv', dtype=types)"),
        Case("import pandas as pd", "for c in pd.read_csv('big.csv', chunksize=9): f(c)"),
        Case("import pandas as pd", "df = pd.read_csv('a.csv')\nbig = [0] * 10**10", line=2),
    ]

    def facts(self, death: Death) -> Mapping[str, str] | None:
        """Return the user's call with the first rows, and with the types."""
        call = next(calls_at(death, *self.functions))
        if (
            death.worked_before(call)
            or not call.is_written_out
            or any(call.argument(one) for one in ("dtype", "chunksize", "iterator", "nrows"))
        ):
            return None
        sample, typed = set_argument(call, "nrows", "10_000"), set_argument(call, "dtype", "types")
        return {"name": frame_name(call) or "df", "sample": text_of(call, sample), "typed": text_of(call, typed)}
