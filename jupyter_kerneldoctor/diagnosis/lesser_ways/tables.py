"""Tables."""

import ast

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .way import LesserWay, made_by


def _of_a_product(call: Call, death: Death) -> bool:
    given = [*call.node.args, *(word.value for word in call.node.keywords)]
    return any(name.endswith("MultiIndex.from_product") for one in given for name in made_by(one, call, death))


def _again_and_again(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    around = [*call.scope.loops_around(call.node), *call.scope.around(call.node)]
    inside = call.scope.inside(call.statement)
    made = (one for one in inside if isinstance(one, ast.ListComp | ast.DictComp | ast.GeneratorExp))
    return any(isinstance(one, ast.For) for one in around) or any(call.node in ast.walk(one) for one in made)


WAYS = (
    LesserWay(
        ("pandas.Series.str.get_dummies",),
        "Keep the parts sparse, or count them with explode",
        "makes a column for each part that occurs anywhere.",
        "{column}.str.split('|').explode().value_counts()  # where counts are enough\n\n"
        "from sklearn.preprocessing import MultiLabelBinarizer\n"
        "parts = MultiLabelBinarizer(sparse_output=True).fit_transform({column}.str.split('|'))",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "wide = df['tags'].str.get_dummies('|')",
            says=("df['tags'].str.split", "MultiLabelBinarizer"),
        ),
    ),
    LesserWay(
        ("pandas.DataFrame.melt", "pandas.melt", "pandas.wide_to_long"),
        "Work on the wide form, or on some columns at a time",
        "repeats the other columns, and the name of its column, for each value.",
        "{table}.mean(numeric_only=True)  # most questions can be asked of the wide form\n\n"
        "for name in {table}.columns:  # or one column at a time\n    part = {table}[name]",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "long = df.melt(id_vars='time')",
            says=("wide form", "df.columns"),
        ),
    ),
    LesserWay(
        ("pandas.DataFrame.reindex",),
        "Fill the gaps of one group at a time: groupby, asfreq",
        "makes a row for each pair of the product, also where there is none.",
        "for name, part in {table}.groupby(level=0):\n    part = part.droplevel(0).asfreq('min').ffill(limit=30)\n"
        "    ...  # keep only what is needed of it",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "full = pd.MultiIndex.from_product([a, b])\nout = df.reindex(full)",
            says=("asfreq",),
        ),
        _of_a_product,
    ),
    LesserWay(
        ("pandas.DataFrame.shift", "pandas.Series.shift"),
        "Make fewer shifted copies, of float32",
        "makes a copy of the column for each shift, of eight bytes a number.",
        "{table} = {table}.astype('float32')\nlags = [1, 2, 3, 24, 48, 168]  # those that matter",
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "lags = {k: df['x'].shift(k) for k in range(200)}",
            says=("float32",),
        ),
        _again_and_again,
    ),
)
