"""What works on each column, channel or value by itself, and what a copy of all was made for."""

import ast
from collections.abc import Mapping

from ..calls import is_of
from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import given, is_method_of, is_written, where_it_grew
from .way import LesserWay, called_object

_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"
_BY_COLUMN = ("quantile", "mode", "median", "skew", "kurt", "std", "var", "sem")
_GAPS = ("isna", "isnull", "notna", "notnull")
_FILTERS = {
    "scipy.signal.filtfilt": ("x", 2),
    "scipy.signal.lfilter": ("x", 2),
    "scipy.signal.sosfiltfilt": ("x", 1),
    "scipy.signal.sosfilt": ("x", 1),
    "scipy.signal.hilbert": ("x", 0),
    "scipy.signal.detrend": ("data", 0),
    "scipy.signal.savgol_filter": ("x", 0),
}
"""Functions that give as many samples as they get, and where they are given these."""
_BY_WIDTH = ("auto", "fd")
_QUERIES = ("pandas_gbq.read_gbq", "pandas.read_gbq", "awswrangler.athena.read_sql_query")
_LONGEST = 60


def _column_by_column(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give what is asked of a table, as it is asked of one of its columns."""
    match call.node.func:
        case ast.Attribute(value=ast.Name(), attr=method):
            pass
        case _:
            return False
    again = call.text.partition(".")[2]
    if method in _GAPS:
        parts = [one for one in call.scope.inside(call.statement) if isinstance(one, ast.Attribute)]
        after = next((one.attr for one in parts if one.value is call.node), "")
        if after not in ("sum", "any", "all", "mean", "values"):
            return False
        again = f"{method}().{after if after != 'values' else 'any'}()"
    has_more = any(call.argument(word) is not None for word in ("axis", "numeric_only"))  # a column takes neither
    return False if has_more or "\n" in again or len(again) > _LONGEST else {"again": again}


def _deviates(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the data of which NumPy works out the spread: over all, or of each column."""
    is_method = call.name.startswith(".")
    array = called_object(call) if is_method else next(iter(call.node.args), None)
    if array is None:
        return False
    is_array = is_method_of("numpy")(call, death) if is_method else not is_of(("pandas",), array, call.scope, death)
    if not is_array:
        return False
    data, axis = call.scope.operand(array), call.argument("axis", 0 if is_method else 1)
    is_plain = data.isidentifier() and all(one.arg == "axis" for one in call.node.keywords)
    if not is_plain or not (axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)):
        return False
    word = "" if axis is None else "axis=0"
    root = call.name.rpartition(".")[2] == "std"
    return {
        "data": data,
        "axis": word,
        "count": f"{data}.size" if axis is None else f"len({data})",
        "last": "np.sqrt(squares / count)" if root else "squares / count",
    }


def _of_channels(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the filter on one channel, where the samples of a channel stand in a row of the array."""
    word, at = _FILTERS[call.name]
    data, axis = call.argument(word, at), call.argument("axis")
    if data is None or axis is not None or call.argument("zi") is not None:
        return False
    value = death.values.of(data, call.scope)
    if value is not None and len(value.shape) == 1:
        return False
    function = call.scope.segment(call.node.func)
    rest = ["channel" if one is data else call.scope.segment(one) for one in call.node.args]
    rest += [
        f"{one.arg}={'channel' if one.value is data else call.scope.segment(one.value)}"
        for one in call.node.keywords
        if one.arg
    ]
    text = f"{function}({', '.join(rest)})"
    text = f"np.abs({text})  # its envelope:" if call.name.endswith("hilbert") else f"{text}  #"
    return {"on_channel": text, "data": call.scope.operand(data)} if "\n" not in text else False


def _by_width(call: Call, death: Death) -> bool:
    """Whether the data say how many bins there are."""
    if call.name.startswith("seaborn."):
        return all(call.argument(word) is None for word in ("bins", "binwidth", "binrange"))
    at = {"numpy.histogram": 1, "numpy.histogram_bin_edges": 1, "matplotlib.pyplot.hist": 1}.get(call.name, 0)
    return any(given(one, "bins", at)(call, death) is True for one in _BY_WIDTH)


def _shuffles(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name what is copied in another order: `shuffle(X)`, `df.sample(frac=1)`, `X[np.random.permutation(len(X))]`."""
    match call.name:
        case "sklearn.utils.shuffle":
            return bool(call.node.args) and call.argument("n_samples") is None
        case "pandas.DataFrame.sample":
            whole = any(given(one, "frac", 1)(call, death) is True for one in (1, 1.0))
            table = call.scope.operand(called_object(call))
            return {"a0": table, "of0": f"{table}.iloc"} if whole else False
    for node in walk(call.statement):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if index is call.node:
                return {"a0": name, "of0": name}
    return False


def _looks_up(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the two sides that are compared value by value with each other: `(a[:, None] == b).any(1)`."""
    whole = called_object(call) if call.name.startswith(".") else next(iter(call.node.args), None)
    axis = call.argument("axis", 0 if call.name.startswith(".") else 1)
    match whole:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if death.code.imports("numpy"):
            sides = [_one_axis(one) for one in (left, right)]
            if all(name for name, _ in sides) and any(at is not None for _, at in sides):
                is_turned = sides[0][1] == 0 or sides[1][1] == 1
                across = isinstance(axis, ast.Constant) and axis.value == 0
                first, second = sides if is_turned == across else reversed(sides)
                return {"left": first[0], "right": second[0]}
    return False


def _one_axis(node: ast.expr) -> tuple[str, int | None]:
    """Return the name of an array, and which axis it is given beside its own: 1 of `a[:, None]`, 0 of `a[None]`."""
    match node:
        case ast.Name(id=name):
            return name, None
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=[_, _] as parts)):
            new = (at for at, one in enumerate(parts) if is_written(one, None) or last_name(one) == "newaxis")
            return name, next(new, None)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=None)):
            return name, 0
    return "", None


def _has_many_bins(call: Call, _death: Death) -> bool:
    """Whether the bins are a range of numbers."""
    bins = call.argument("bins", 1)
    return isinstance(bins, ast.Call) and last_name(bins.func) in ("arange", "linspace", "range")


def _with_indices(call: Call, _death: Death) -> bool:
    words = ("return_index", "return_inverse", "return_counts")
    return call.argument("axis", 4) is None and any(given(True, one)(call, _death) is True for one in words)


WAYS = (
    LesserWay(
        (*(f"pandas.DataFrame.{name}" for name in (*_BY_COLUMN, *_GAPS)),),
        "Ask one column after the other",
        "works on all columns at once, on copies of them or with a value for each of theirs.",
        "{to} = {{name: {table}[name].{again} for name in {table}}}  # one column at a time\n"
        "found = pd.DataFrame({{name: pd.Series(one) for name, one in {to}.items()}})  # as a table",
        Case(_FRAME, "n = df.isna().sum()", line=1, says=("df[name].isna().sum() for name in df",)),
        where_it_grew(_column_by_column),
        silent=(
            Case(_FRAME, "g = df.isna()", line=1),
            Case(_FRAME, "g = df.std(axis=1)", line=1),
            Case(_FRAME, "g = df.std(numeric_only=True)", line=1),
            "n = df.isna().sum()\nf(big)",
        ),
    ),
    LesserWay(
        ("numpy.std", "numpy.var", ".std", ".var"),
        "Add up the squares some rows at a time: no copy of all differences",
        "makes an array of the differences from the mean, as large as the data.",
        "middle, count, squares = {data}.mean({axis}), {count}, 0.0\nfor part in np.array_split({data}, 100):\n"
        "    squares = squares + ((part - middle) ** 2).sum({axis})  # a hundredth at a time\n{to} = {last}",
        Case(
            "import numpy as np\nx = np.load('a.npy')",
            "s = x.std(axis=0)",
            line=1,
            says=("np.sqrt(squares / count)", "len(x)"),
        ),
        where_it_grew(_deviates),
        silent=(
            Case("import numpy as np\nx = np.load('a.npy')", "s = x.std(axis=1)", line=1),
            Case(f"import numpy as np\n{_FRAME}", "s = np.std(df, axis=0)", line=1),
            "s = x.std()\nf(big)",
        ),
    ),
    LesserWay(
        tuple(_FILTERS),
        "Filter one channel at a time, into float32",
        "works on copies of all channels at once, of eight bytes a number or more.",
        "out = np.empty({data}.shape, 'float32')  # the samples of a channel in a row of it\n"
        "for i, channel in enumerate({data}):\n    out[i] = {on_channel} one at a time",
        Case("from scipy.signal import filtfilt", "y = filtfilt(b, a, x)", says=("out[i] = filtfilt(b, a, channel)",)),
        _of_channels,
        silent=("y = filtfilt(b, a, x, axis=0)",),
    ),
    LesserWay(
        ("pywt.cwt", "scipy.signal.cwt", "ssqueezepy.cwt"),
        "Take one scale at a time, and fewer of them: keep its strength at every tenth sample",
        "gives a number of 8 or 16 bytes for each sample at each scale.",
        "import pywt\n\nfew = np.geomspace(2, 512, 40)  # forty scales\n"
        "power = np.stack([abs(pywt.cwt({a0}, [one], 'morl')[0][0, ::10]).astype('float32') for one in few])\n"
        "# or fewer samples before: scipy.signal.decimate({a0}, 10)",
        Case("import pywt", "c, f = pywt.cwt(x, scales, 'morl')"),
    ),
    LesserWay(
        ("numpy.histogram", "numpy.histogram_bin_edges", "matplotlib.pyplot.hist", ".hist"),
        "Give the number of bins: one value far away makes millions",
        "makes bins of a width that fits the middle half of the values, from the least to the largest.",
        "low, high = np.nanpercentile({a0}, [0.1, 99.9])  # leaves out what lies far away\n"
        "counts, edges = np.histogram({a0}, bins=100, range=(low, high))\nplt.stairs(counts, edges)",
        Case("import numpy as np", "h, e = np.histogram(x, bins='auto')", line=1),
        where_it_grew(_by_width),
        silent=(
            "h, e = np.histogram(x, bins='auto')\nf(big)",
            "h, e = np.histogram(x)\nf()",
        ),
    ),
    LesserWay(
        ("seaborn.histplot", "seaborn.displot"),
        "Give the number of bins, and draw a sample: bins=100",
        "takes bins of a width that fits the middle half of the values: one far away makes millions of bins.",
        "{function}({a0}, bins=100)  # with your other arguments; of very many rows, {of0}.sample(50_000)\n"
        "# binrange=(low, high) leaves out what lies far away; log_scale=True for a long tail",
        Case("import seaborn as sns", "sns.histplot(df, x='price')"),
        _by_width,
    ),
    LesserWay(
        ("sklearn.utils.shuffle", "pandas.DataFrame.sample", "numpy.random.permutation", ".permutation"),
        "Shuffle the numbers of the rows, and take the rows of a batch by them",
        "gives another order, in which all rows are copied beside the first copy.",
        "order = np.random.default_rng(0).permutation(len({a0}))  # eight bytes for each row\n"
        "for at in range(0, len(order), 1024):\n    part = {of0}[order[at : at + 1024]]  # of a table: .iloc\n"
        "    ...\n\n# or in place, an array that stands alone: np.random.default_rng(0).shuffle(X)",
        Case("from sklearn.utils import shuffle", "X, y = shuffle(X, y)", line=1, says=("X[order[at",)),
        where_it_grew(_shuffles),
        silent=(Case(_FRAME, "few = df.sample(frac=0.1)", line=1), "X, y = shuffle(X, y)\nf(big)"),
    ),
    LesserWay(
        (".any", ".argmax", ".sum", "numpy.any", "numpy.argmax", "numpy.where", "numpy.nonzero", "numpy.argwhere"),
        "Look each value up: np.isin, searchsorted; no table of all pairs",
        "compares each value of the one with each of the other first.",
        "is_there = np.isin({left}, {right})  # whether it is there: a byte for each\n"
        "values, first = np.unique({right}, return_index=True)\n"
        "at = first[np.searchsorted(values, {left}).clip(max=len(values) - 1)]  # the first place, where it is there\n"
        "how_many = pd.Series({right}).value_counts().reindex({left}, fill_value=0)  # how often each is there",
        Case("import numpy as np", "m = (ids[:, None] == known[None, :]).any(axis=1)", says=("np.isin(ids, known)",)),
        _looks_up,
        silent=("m = (X[:, None, :] == Y).all(-1).any(1)", "m = (ids == known).any()"),
    ),
    LesserWay(
        ("pandas.cut",),
        "Number the bins by division: no interval for each",
        "makes an object for each bin, also for those without a value.",
        "{to} = ({a0} // step).astype('int32')  # step: the width of a bin; no gaps\n"
        "# a bin begins at its number x step, where it is counted in; four bytes for each",
        Case(_FRAME, "b = pd.cut(df['x'], bins=np.arange(0, 1000, 0.001))", line=1),
        where_it_grew(_has_many_bins),
        silent=("b = pd.cut(df['x'], 10)\nf(big)",),
    ),
    LesserWay(
        ("numpy.unique",),
        "Count whole numbers without sorting: np.bincount",
        "sorts a copy of all values, and keeps their order, eight bytes for each.",
        "counts = np.bincount({of0}.ravel())  # whole numbers from 0 on: how often each is there\n"
        "values = np.flatnonzero(counts)  # counts[values]: how often those that occur\n"
        "number = (np.cumsum(counts > 0) - 1).astype('int32')\n"
        "inverse = number[{of0}.ravel()]  # the place of each in values, in four bytes",
        Case("import numpy as np", "v, i, n = np.unique(x, return_inverse=True, return_counts=True)", line=1),
        where_it_grew(_with_indices),
        silent=(
            Case("import numpy as np", "v = np.unique(x)", line=1),
            "v, n = np.unique(x, return_counts=True)\nf(big)",
        ),
    ),
    LesserWay(
        (".to_dataframe", ".fetch_pandas_all", *_QUERIES),
        "Sum it up in the database, or take batches: to_dataframe_iterable, fetch_pandas_batches, chunksize",
        "brings all rows of the answer into this process.",
        "for part in client.query(sql).result().to_dataframe_iterable():  # BigQuery: some rows at a time\n    ...\n"
        "for part in cursor.fetch_pandas_batches():  # Snowflake\n    ...\n"
        "# Athena: chunksize=100_000; and fewer columns, GROUP BY or LIMIT in the query",
        Case("from google.cloud import bigquery\nclient = bigquery.Client()", "df = client.query(q).to_dataframe()"),
        lambda call, death: (
            call.argument("chunksize") is None
            and (
                call.name != ".to_dataframe"
                or (death.code.has_text("bigquery") and not is_method_of("xarray")(call, death))
            )
            and (call.name != ".fetch_pandas_all" or death.code.imports("snowflake"))
        ),
        silent=(Case("import other\nt = other.table()", "df = t.to_dataframe()"),),
    ),
)
