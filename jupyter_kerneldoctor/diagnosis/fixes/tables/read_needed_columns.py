import ast

from ...argument_dicts import entries, give_argument, hidden_arguments
from ...calls import calls_at
from ...edits import replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.columns import columns_of, columns_read
from ...units import enumeration

_ARGUMENTS = {"pandas.read_csv": "usecols", "pandas.read_table": "usecols", "pandas.read_parquet": "columns"}
_NAMED = ("index_col", "parse_dates")
"""Arguments that may name columns, too."""
_OTHER_NAMES = ("names", "header", "usecols", "columns", "nrows", "chunksize", "iterator")

_FILLED = (
    "parts = []\n    for f in fs:\n        df = pd.read_csv(f{cut})\n        df['day'] = f\n"
    "        parts.append(df[df.n > 3])\n    return pd.concat(parts)"
)


class ReadNeededColumns(Fix):
    """Read only the columns that are used.

    What it does: `pd.read_csv(path)` reads all columns. With `usecols=[...]` the others never get into memory;
    `read_parquet` calls it `columns`.

    When it is offered: Memory ran out on a line that reads a file whole, and the code behind it uses the frame by the
    names of columns and in no other way. A column that the code creates is none of the file.

    What it costs: Cells that use other columns later need them in the list, too.
    """

    id, title, causes = "read-needed-columns", "Read only the columns that are used", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd",
            "trips = pd.read_csv('trips.csv')\ntrips['speed'] = trips['km'] / trips.hours\nprint(trips['speed'].max())",
            becomes={"'trips.csv'": "'trips.csv', usecols=['km', 'hours']"},
            says=("`km` and `hours`",),
        ),
        Case(
            "from pandas import read_parquet",
            "def load(p):\n    t = read_parquet(p)\n    return t.groupby('shop')['n'].sum()",
            "load('a.parquet')",
            becomes={"read_parquet(p)": "read_parquet(p, columns=['shop', 'n'])"},
        ),
        Case(
            "import pandas as pd",
            "df = pd.read_csv(p, index_col='id', parse_dates=['day'])\ndf['n'] += 1\ndf['n'].plot()",
            becomes={"['day']": "['day'], usecols=['n', 'id', 'day']"},
        ),
        Case(
            "import pandas as pd\ndef load(name): return pd.read_csv(f'{name}.csv')",
            "df = load('orders')\ndf.groupby('who')['amount'].sum()",
            becomes={"'{name}.csv'": "'{name}.csv', usecols=['who', 'amount']"},
        ),
        Case(
            "import pandas as pd",
            "frames = [pd.read_csv(f) for f in files]\ndf = pd.concat(frames)\ndf.groupby('day')['hits'].sum()",
            becomes={"(f)": "(f, usecols=['day', 'hits'])"},
        ),
        Case(
            "import pandas as pd\ndef by_shop(t):\n    late = t[t['hour'] > 18].groupby('shop').agg({'n': 'sum'})\n"
            "    return late, len(t)",
            "sales = pd.read_csv('sales.csv')\nby_shop(sales)",
            becomes="sales = pd.read_csv('sales.csv', usecols=['shop', 'n', 'hour'])\nby_shop(sales)",
        ),
        *(
            Case(f"import pandas as pd\n{read}", becomes=f"import pandas as pd\n{read.replace('(p)', given, 1)}")
            for given, read in {
                "(p, usecols=['c1'])": "t = pd.read_csv(p)\nn = t.groupby('c1').size()",
                "(p, usecols=['c', 'n'])": "d = pd.read_csv(p)\nlate = d[d.n.isin(few)].copy()\nlate['c'].mean()",
                "(p, usecols=['a', 'b'])": "d = pd.read_csv(p)\nd = d.query('a > @x').dropna(subset=['a'])\nd.b.sum()",
                "(p, usecols=['k', 'v'])": "KEYS = ['k']\npd.read_csv(p).groupby(KEYS).v.median()",
            }.items()
        ),
        Case(
            "import pandas as pd\nHOW = {'sep': ';', 'decimal': ','}",
            "t = pd.read_csv(p, **HOW)\nt['n'].sum()",
            becomes={"','": "',', \"usecols\": ['n']"},
        ),
        *(
            Case(
                f"import pandas as pd\nfrom pandas import read_csv\ndef load(fs):\n    {before}",
                "df = load(files)\ndf['x'].mean()",
                becomes={1: f"import pandas as pd\nfrom pandas import read_csv\ndef load(fs):\n    {after}"},
            )
            for before, after in (
                (_FILLED.format(cut=""), _FILLED.format(cut=", usecols=['x', 'n']")),
                (
                    "return pd.concat(pd.read_csv(f) for f in fs)",
                    "return pd.concat(pd.read_csv(f, usecols=['x']) for f in fs)",
                ),
                (
                    "return pd.concat(map(pd.read_csv, fs))",
                    "return pd.concat((pd.read_csv(one, usecols=['x']) for one in fs))",
                ),
            )
        ),
        Case(
            "import pandas as pd\nclass Loader:\n    def __init__(self, path):\n        self.t = pd.read_csv(path)\n"
            "    def mean(self):\n        return self.t.loc[self.t['k'] > 1, 'v'].mean()",
            "Loader('a').mean()",
            becomes={"(path)": "(path, usecols=['v', 'k'])"},
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "d = pd.read_csv(p)\nd['a'].plot()\nd = d.dropna()\nd['b'].plot()"),
        Case("import pandas as pd", "d = pd.read_csv(p)\nkeep = d[d['a'] > 1]\nkeep.to_csv('b.csv')"),
        Case(
            "import pandas as pd\nclass Loader:\n    def __init__(self, p):\n        self.t = pd.read_csv(p)\n"
            "        self.t['k'].mean()",
            "print(Loader('a').t)",
        ),
        Case(
            "import pandas as pd\ndef load(name): return pd.read_csv(name)",
            "a = load('a')\nb = load('b')\nprint(a['x'].sum(), b['y'].sum())",
        ),
        Case(
            "import pandas as pd",
            "frames = [pd.read_csv(f) for f in files]\nprint(frames[0])\ndf = pd.concat(frames)\ndf['a'].sum()",
        ),
        Case(
            "import pandas as pd", "df = pd.read_csv(p)\ndf['a'].plot()", "df = pd.read_csv(p)\ndf['a'].plot()"
        ),  # it ran before
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf['a'] = 1\ndf['a'].plot()"),  # the file has no such column
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf['a'].plot()\ndf.describe()"),
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf['a'].plot()\nshow(df)"),
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf = df.rename(columns=str.lower)\ndf['a'].plot()"),
        Case("import pandas as pd", "df = pd.read_csv(p, names=['a'])\ndf['a'].plot()"),
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf[df['a'] > 1].plot()"),
        Case("import pandas as pd\ndef f(t): return t['a'], t.describe()", "df = pd.read_csv(p)\nf(df)"),
        Case("import pandas as pd\ndef f(t): t['b'] = t['a']", "df = pd.read_csv(p)\nf(df)\nprint(df['b'])"),
        Case("import pandas as pd", "df = pd.read_csv(p)\ndf[column].plot()\ndf['a'].plot()"),
        Case("import pandas as pd", "df = pd.read_csv(p)"),
        Case("import polars as pd", "df = pd.read_csv(p)\ndf['a'].plot()"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, *_ARGUMENTS):
            columns, named = columns_read(call, death.code), _named(call)
            hidden = entries(hidden_arguments(call, death.code), death.code)
            if (
                death.worked_before(call)
                or not (call.is_written_out or hidden)
                or any(call.argument(word) for word in _OTHER_NAMES)
                or {*_OTHER_NAMES, *_NAMED} & hidden.keys()
            ):
                continue
            if columns.are_all and named is not None:
                names = [*dict.fromkeys([*columns.names, *named])]
                yield Proposal(
                    give_argument(call, death.code, _ARGUMENTS[call.name], str(names)),
                    f"{quote(call.text)} reads all columns; the code uses "
                    f"{enumeration([quote(one) for one in names])}. Cells that come later may need more.",
                    death.memory.missing_bytes,
                )
        for call in calls_at(death, "builtins.map"):
            match call.node.args:
                case [function, files] if word := _ARGUMENTS.get(death.code.qualified(function, call.scope) or ""):
                    columns, read = (
                        columns_of(call.node, call.scope, death.code, is_many=True),
                        call.scope.segment(function),
                    )
                    if columns.are_all and not death.worked_before(call):
                        new = f"({read}(one, {word}={[*columns.names]}) for one in {call.scope.segment(files)})"
                        used = enumeration([quote(one) for one in columns.names])
                        why = f"{quote(call.text)} reads all columns; the code uses {used}. Cells that come later may "
                        edits = replace(call.scope, call.node, new)
                        yield Proposal(edits, f"{why}need more.", death.memory.missing_bytes)


def _named(call: Call) -> list[str] | None:
    """Return the columns that arguments of the call name; None where that cannot be told."""
    found = []
    for word in _NAMED:
        match call.argument(word):
            case ast.Constant(value=str(name)):
                found.append(name)
            case ast.List(elts=elements) if all(isinstance(getattr(one, "value", None), str) for one in elements):
                found += [str(one.value) for one in elements if isinstance(one, ast.Constant)]
            case None | ast.Constant(value=bool()):
                pass
            case _:
                return None
    return found
