import ast

from ...code.origins import all_origins
from ...edits import Changes, set_argument
from ...fix import Call, Case, Death, Family, SetArgument

_FRAME = "import pandas as pd\ndf = pd.read_csv('a.csv')\n"
_CATEGORIES = _FRAME + "df['a'] = df['a'].astype('category')"


class GroupbyObserved(SetArgument):
    """Group only by combinations of categories that occur.

    What it does: With `observed=False`, the default before pandas 3, a `groupby` by several categorical columns makes a
    group for each combination of their categories: 600 x 600 x 600 are 216 million. With `observed=True` it makes those
    that occur.

    When it is offered: Memory ran out in a `groupby` or pivot table by two columns or more with `observed=False`;
    without it, where the cells make categorical columns.

    What it costs: Combinations without a row are no longer in the result, where they had NaN or 0.
    """

    id, title, causes = "groupby-observed", "Group only by combinations that occur: observed=True", (Family.MEMORY,)
    functions = ("pandas.DataFrame.groupby", "pandas.DataFrame.pivot_table", "pandas.pivot_table")
    argument, value = "observed", "True"
    why = "makes a group for each combination of categories. With `observed=True` it makes only those that occur."

    FIRES = [
        Case(_FRAME, "df.groupby(['a', 'b', 'c'], observed=False)['v'].mean()", becomes={"False": "True"}),
        Case(
            _CATEGORIES + "\nKEYS = ['a', 'b']",
            "def count(t): return t.groupby(KEYS).size()",
            "sizes = count(df)",
            becomes={2: "def count(t): return t.groupby(KEYS, observed=True).size()"},
        ),
    ]
    SILENT = [
        Case(_FRAME, "df.groupby(['a', 'b'], observed=True).mean()"),
        Case(_FRAME, "n = df.groupby(['a', 'b'], observed=False).size()\nempty = n[n == 0]", line=1),
        Case(_FRAME, "df.groupby(['a', 'b']).mean()"),  # no column is known to be categorical
        Case(_CATEGORIES, "df.groupby('a').mean()"),  # one column has no combinations
        Case(_FRAME, "df.groupby(['a', 'b'], observed=False).size()\nbig = [0] * 10**10", line=2),
        Case("import xarray as xr\nds = xr.open_dataset('a.nc')", "ds.groupby(['a', 'b'], observed=False).mean()"),
    ]

    def change(self, call: Call, death: Death) -> Changes:
        """Set it where it is false, or not given and some column is categorical."""
        match call.argument("observed"):
            case ast.Constant(value=False):
                wanted = True
            case None:
                wanted = death.code.has_words("category", "Categorical", "cut", "qcut")
            case _:
                wanted = False
        keys = call.argument("by", 0) if call.name.endswith("groupby") else None
        one_key = keys is not None and not isinstance(
            all_origins(keys, call.scope, death.code)[-1].node, ast.List | ast.Name
        )
        wanted = wanted and not one_key and not _asks_for_none(call)
        return set_argument(call, self.argument, self.value) if wanted else ()


def _asks_for_none(call: Call) -> bool:
    """Whether the groups without a row are looked for: `n[n == 0]`, `.isna()`."""
    names = call.scope.assigned_by(call.node)
    for node in call.scope.nodes:
        match node:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
                if name in names:
                    return True
            case ast.Attribute(value=ast.Name(id=name), attr="isna" | "isnull") if name in names:
                return True
    return False
