"""Tables."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import given_to
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import is_method_of, made_by
from .way import LesserWay, names


def _of_a_product(call: Call, death: Death) -> bool:
    given = given_to(call.node)
    return any(name.endswith("MultiIndex.from_product") for one in given for name in made_by(one, call, death))


def _two_maps(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Name the two tables that are joined by place, and the function."""
    given, is_method = names(call), call.name.startswith("geopandas.GeoDataFrame.")
    if not is_method and len(call.node.args) < 2:
        return False
    first, second = (given["owner"], given["a0"]) if is_method else (given["of0"], given["of1"])
    return {"first": first, "second": second, "join": "gpd.sjoin" if is_method else given["function"]}


def _again_and_again(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    around = [*call.scope.loops_around(call.node), *call.scope.around(call.node)]
    inside = call.scope.inside(call.statement)
    made = (one for one in inside if isinstance(one, ast.ListComp | ast.DictComp | ast.GeneratorExp))
    return any(isinstance(one, ast.For) for one in around) or any(call.node in walk(one) for one in made)


_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"

_COPY = (
    *("sort_values", "drop_duplicates", "fillna", "dropna", "reset_index", "set_index", "copy", "assign", "rename"),
    *("query", "transform", "rolling", "interpolate", "round", "abs", "clip", "rank", "diff", "pct_change", "cumsum"),
)


_PANDAS = is_method_of("pandas")


def _to_texts(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    given = call.node.args[:1]
    return any(isinstance(one, ast.Name) and one.id in ("str", "object") for one in given) or any(
        isinstance(one, ast.Constant) and one.value in ("str", "object", "O") for one in given
    )


def _by_rows(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    axis = call.argument("axis", 1)
    return isinstance(axis, ast.Constant) and axis.value in (1, "columns")


def _to_series(call: Call, death: Death) -> bool:
    match call.node.args[:1]:
        case [ast.Lambda(args=ast.arguments(args=[own]), body=ast.Call(func=made, args=[ast.Name(id=given)]))]:
            return given == own.arg and death.code.qualified(made, call.scope) == "pandas.Series"
    return bool(call.node.args) and death.code.qualified(call.node.args[0], call.scope) == "pandas.Series"


def _to_lists(call: Call, death: Death) -> bool:
    kinds = (one.id for one in call.node.args[:1] if isinstance(one, ast.Name))
    return any(kind in ("list", "set", "tuple") for kind in kinds) and bool(_PANDAS(call, death))


def _of_values(call: Call, death: Death) -> bool:
    match call.node.func:
        case ast.Attribute(value=ast.Attribute(attr="values") | ast.Call(func=ast.Attribute(attr="to_numpy"))):
            return death.code.imports("pandas")
    return call.name == "pandas.DataFrame.to_numpy" and call.argument("dtype", 0) is None


def _of_groups(call: Call, death: Death) -> bool:
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    while isinstance(owner, ast.Subscript | ast.Attribute):
        owner = owner.value
    is_group = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "groupby"
    return is_group and bool(_PANDAS(call, death))


def _again(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give the call as it is written, where it is that of a table with a name: a column has no columns."""
    function = call.node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    again = call.text.removeprefix(call.scope.segment(function.value)).lstrip(".")
    return {"again": again if "\n" not in again else f"{function.attr}(...)  # with your arguments"}


def _each_text(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give what is done to each text by the method of the same name of `str`."""
    method = call.name.rpartition(".")[2]
    is_same = method in ("lower", "upper", "strip") and not call.node.args and not call.node.keywords
    return {"again": f"text.{method}()" if is_same else "..."}


def _repeats(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether rows are written several times: `df.index.repeat(n)`, `pd.concat([df] * n)`."""
    if call.name == ".repeat":
        return is_method_of("pandas")(call, death)
    match call.node.args[:1]:
        case [ast.BinOp(left=ast.List(elts=[table]), op=ast.Mult())]:
            return {"table": call.scope.segment(table)}
    return False


WAYS = (
    LesserWay(
        ("pandas.DataFrame.melt", "pandas.melt", "pandas.wide_to_long", "pandas.DataFrame.stack"),
        "Work on the wide form, or on some columns at a time",
        "repeats the other columns, and the name of its column, for each value.",
        "{table}.mean(numeric_only=True)  # most questions can be asked of the wide form\n\n"
        "for name in {table}.columns:  # or one column at a time\n    part = {table}[name]",
        Case(_FRAME, "long = df.melt(id_vars='time')"),
    ),
    LesserWay(
        ("pandas.DataFrame.reindex",),
        "Keep the pairs that occur, and fill the gaps of one group at a time: groupby, asfreq",
        "makes a row for each pair of the product, also where there is none.",
        "for name, part in {table}.groupby(level=0):\n    part = part.droplevel(0).asfreq('min').ffill(limit=30)\n"
        "    ...  # keep only what is needed of it",
        Case(_FRAME, "full = pd.MultiIndex.from_product([a, b])\nout = df.reindex(full)"),
        _of_a_product,
    ),
    LesserWay(
        ("pandas.DataFrame.shift", "pandas.Series.shift"),
        "Make fewer shifted copies, of float32",
        "makes a copy of the column for each shift, of eight bytes a number.",
        "numbers = {table}.select_dtypes('float64').columns\n{table}[numbers] = {table}[numbers].astype('float32')\n"
        "few = [1, 2, 3, 24, 48, 168]  # those that matter",
        Case(_FRAME, "lags = {k: df['x'].shift(k) for k in range(200)}"),
        _again_and_again,
    ),
    LesserWay(
        tuple(f"pandas.{kind}.{name}" for kind in ("DataFrame", "Series") for name in ("astype", "map", "apply")),
        "Compare hashes or categories, not texts",
        "makes a text of each value, of some 50 bytes.",
        "keys = pd.util.hash_pandas_object({table}[['a', 'b']], index=False)  # with your columns: eight bytes a row\n"
        "same = {table}.duplicated(['a', 'b'])  # duplicates need no texts at all\n"
        "small = {column}.astype('category')  # where few values are different",
        Case(_FRAME, "key = df['a'].map(str) + df['b'].astype(str)"),
        _to_texts,
    ),
    LesserWay(
        ("pandas.Series.apply",),
        "Make the table of a list of the values",
        "makes a Series of each value.",
        "parts = {owner}.dropna()  # rows without a list are left out\n"
        "{to} = pd.DataFrame(parts.tolist(), index=parts.index)",
        Case(_FRAME, "wide = df['parts'].apply(pd.Series)"),
        _to_series,
    ),
    LesserWay(
        ("pandas.DataFrame.apply",),
        "Work on whole columns, not row by row",
        "makes a Series of each row, and keeps what comes of each.",
        "{table}['new'] = {table}['a'] * {table}['b']  # whole columns at once\n\n"
        "{table}['new'] = [f(row) for row in {table}.itertuples(index=False)]  # row.a, not row['a']",
        Case(_FRAME, "out = df.apply(f, axis=1)"),
        _by_rows,
    ),
    LesserWay(
        (".agg", ".apply", ".aggregate"),
        "Sum up each group; lists of its values take many times the table",
        "makes a Python list of the values of each group.",
        "{to} = {owner}.agg(['count', 'mean', 'last'])\n\nfor key, part in {owner}:  # or one group at a time\n    ...",
        Case(_FRAME, "g = df.groupby('id')['x'].agg(list)"),
        _to_lists,
    ),
    LesserWay(
        tuple(f"pandas.DataFrame.{name}" for name in ("to_html", "to_string", "to_markdown", "to_latex")),
        "Show the first rows, or write a file",
        "makes one text of all rows.",
        "{table}.head(1000).to_html()\n\n{table}.to_csv('table.csv', index=False)  # all of it, piece by piece",
        Case(_FRAME, "page = df.to_html()"),
    ),
    LesserWay(
        (".repeat", "pandas.concat"),
        "Keep how often as a column: weights, sample_weight",
        "writes each row as often as it counts.",
        "total = ({table}['value'] * {table}['count']).sum()  # weighted sums need no copies\n"
        "mean = np.average({table}['value'], weights={table}['count'])  # to fit a model: sample_weight=\n"
        "part = {table}.sample(1000, replace=True)  # or as many as are used at a time, drawn again each time",
        Case(_FRAME, "rows = df.loc[df.index.repeat(df['n'])]"),
        _repeats,
        silent=("both = pd.concat([df, df])",),
    ),
    LesserWay(
        ("pandas.MultiIndex.from_product",),
        "Keep only the combinations that occur",
        "makes a row for each combination.",
        "occur = df.groupby(['a', 'b', 'c'], observed=True).size()  # those that there are",
    ),
    LesserWay(
        (".astype", "pandas.DataFrame.to_numpy"),
        "Take the numbers as float32, without a copy of each type",
        "makes one array of all columns, of the widest type that there is among them.",
        "{to} = {table}.select_dtypes('number').to_numpy(dtype='float32')  # half of float64; no texts",
        Case(_FRAME, "X = df.values.astype(float)"),
        _of_values,
    ),
    LesserWay(
        ("geopandas.sjoin", "geopandas.overlay", "geopandas.sjoin_nearest", "geopandas.GeoDataFrame.sjoin"),
        "Join fewer columns, some rows at a time",
        "gives a row with a geometry for each pair that meets.",
        "few = {second}[['geometry', 'id']]\nparts = []\nfor at in range(0, len({first}), 10_000):\n"
        "    part = {join}({first}.iloc[at : at + 10_000], few)\n"
        "    parts.append(part.groupby('id').size())  # only what you need of the pairs",
        Case("import geopandas as gpd", "pairs = gpd.sjoin(shops, areas)", says=("gpd.sjoin(shops.iloc[at",)),
        _two_maps,
    ),
)

GENERAL = (
    LesserWay(
        ("pandas.merge", "pandas.DataFrame.merge", "pandas.DataFrame.join"),
        "Look how often keys repeat: each row is paired with every row of the same key",
        "makes a new table, with a row for each pair of equal keys.",
        "print({of0}.duplicated().sum(), {of0}.index.duplicated().sum())  # of the columns, or the index, to join by\n"
        "# with validate='many_to_one' it stops with an error where a key repeats; drop_duplicates leaves one of each",
        Case(_FRAME, "both = df.merge(other)"),
        lambda call, _death: not call.name.endswith(".join") or bool(call.node.keywords),  # a text has no keywords
    ),
    LesserWay(
        ("pandas.concat",),
        "Keep of each part only what you need, before they are joined",
        "copies all parts, which stay beside the result.",
        "{parts}.append(part[['the columns', 'you need']])  # in the loop; or its sums only\n"
        "{to} = pd.concat({parts})\ndel {parts}",
        Case("import pandas as pd", "df = pd.concat(frames)", says=("df = pd.concat(frames)", "frames.append(part[")),
        lambda call, _death: {"parts": parts if (parts := names(call)["a0"]).isidentifier() else "parts"},
    ),
    LesserWay(
        tuple(f"pandas.DataFrame.{name}" for name in _COPY),
        "Work on fewer columns of smaller types",
        "makes another table, beside the first.",
        "few = {table}[['the columns', 'you need']]\nnumbers = few.select_dtypes('float64').columns\n"
        "few = few.astype(dict.fromkeys(numbers, 'float32'))  # half of float64; repeated texts: 'category'\n"
        "{to} = few.{again}",
        Case(_FRAME, "out = df.sort_values('a')", says=("few = df[[", "out = few.sort_values('a')")),
        _again,
    ),
    LesserWay(
        tuple(
            f"pandas.Series.str.{name}" for name in ("replace", "lower", "upper", "strip", "extract", "cat", "slice")
        ),
        "Work on each different text once",
        "makes a new text for each row.",
        "texts = {column}.astype('category')  # each different text is held once\n"
        "{to} = texts.map(lambda text: {again}, na_action='ignore')",
        Case(_FRAME, "t = df['text'].str.lower()", says=("df['text'].astype('category')", "text: text.lower()")),
        _each_text,
    ),
    LesserWay(
        (".apply", ".transform", ".agg", ".filter", ".rolling", ".expanding", ".ewm", ".resample"),
        "Take one group at a time, and keep its result only",
        "makes a table of what each group gives, and joins them.",
        "{to} = {{}}\nfor key, part in {owner}:\n    {to}[key] = part['value'].mean()  # a number of each group\n\n"
        "# or what pandas does without Python: .agg(['mean', 'max']), .cumsum(), .rank()",
        Case(_FRAME, "g = df.groupby('id').apply(f)"),
        _of_groups,
    ),
)
"""What any table would do with less; asked after all that know more."""
