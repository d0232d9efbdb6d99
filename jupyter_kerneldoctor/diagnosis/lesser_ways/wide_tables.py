"""Tables of pandas that get more rows or columns than anyone asks for, and rows that databases hand over."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import given_to, last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death
from .conditions import given, made, without
from .way import LesserWay

_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"
_WINDOWS = ("rolling", "expanding", "ewm")


def _window_of(call: Call) -> str:
    """Return what gave the object of a method: `rolling` of `df.rolling(50).corr()`."""
    match call.node.func:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr=name))):
            return name
    return ""


def _of_windows(call: Call, death: Death) -> bool:
    """Whether a matrix is worked out for each window: `df.rolling(50).corr()`."""
    is_single = call.argument("other", 0) is not None or given(False, "pairwise")(call, death)
    return _window_of(call) in _WINDOWS and not is_single


def _to_none(call: Call, death: Death) -> bool:
    """Whether missing values become None: `df.where(df.notna(), None)`, `df.replace({np.nan: None})`."""
    if call.name.endswith(".replace"):
        values = [call.argument("to_replace", 0), call.argument("value", 1)]
        inner = [value for one in values if isinstance(one, ast.Dict) for value in one.values]
        return any(isinstance(one, ast.Constant) and one.value is None for one in [*inner, values[1]])
    return given(None, "other", 1)(call, death) is True


def _lists_of_rows(call: Call, _death: Death) -> bool:
    """Whether a list is made of the text of each row: `df["text"].apply(word_tokenize)`."""
    function, of = call.argument(0), getattr(call.node.func, "value", None)
    is_column = isinstance(of, ast.Subscript) and isinstance(of.slice, ast.Constant) and isinstance(of.slice.value, str)
    is_column = is_column and not isinstance(getattr(of, "value", None), ast.Call)  # `df.groupby("id")["x"]`: groups
    match function:
        case ast.Lambda(body=ast.List() | ast.ListComp()):
            return is_column
        case ast.Lambda(body=ast.Call(func=made)):
            return is_column and (last_name(made) in ("list", "split", "findall") or "tokenize" in last_name(made))
    return is_column and "tokenize" in last_name(function)


def _to_float(call: Call, _death: Death) -> bool:
    """Whether all columns become float64: `df.astype(float)`."""
    if last_name(getattr(call.node.func, "value", None)) == "values":
        return False
    match call.argument("dtype", 0):
        case ast.Name(id="float") | ast.Constant(value="float" | "float64") | ast.Attribute(attr="float64"):
            return True
    return False


def _keeps_groups(call: Call, _death: Death) -> bool:
    """Whether the tables of all groups are kept, and not only what is worked out of each."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Name(id="list" | "tuple" | "dict"), args=[one]) if one is call.node:
                return True
            case (
                ast.ListComp(elt=ast.Name(id=kept), generators=[made_of])
                | ast.DictComp(value=ast.Name(id=kept), generators=[made_of])
            ) if made_of.iter is call.node:
                match made_of.target:
                    case ast.Tuple(elts=[_, ast.Name(id=group)]):
                        return group == kept
    return False


def _as_texts(call: Call, death: Death) -> bool:
    match call.node.func:
        case ast.Attribute(value=ast.Attribute(attr="dt")):
            return death.code.imports("pandas")
    return False


_OF_MYSQL = "{}.cursors.SSCursor)  # MySQL: some rows at a time come from the server"
_IMPORTED = {"MySQLdb": "import MySQLdb.cursors\n\n", "pymysql": "import pymysql\n\n"}


def _of_cursor(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether the cursor of a database fetches all rows at once: those of psycopg2 without a name, and of MySQL."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else call.node
    cursors = [one for one, _ in all_origins(owner, call.scope, death.code) if isinstance(one, ast.Call)]
    if any(last_name(one.func) == "cursor" and given_to(one) for one in cursors):
        return False
    by_server = "name='rows')  # PostgreSQL: some rows at a time come from the server"
    kinds = {"psycopg2": by_server, "psycopg": by_server, "pymysql": _OF_MYSQL, "MySQLdb": _OF_MYSQL}
    found = (package for package in kinds if made(package, "connect", "cursor")(call, death) is not False)
    package = next(found, None)
    return False if package is None else {"how": kinds[package].format(package), "imported": _IMPORTED.get(package, "")}


def _of_steps(call: Call, _death: Death) -> bool | dict[str, str]:
    """Give the columns with the beginnings and the ends, where each row becomes one for every step between them."""
    column = call.argument("column", 0)
    for node in call.scope.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=name))],
                value=ast.ListComp(
                    elt=ast.Call(func=function), generators=[ast.comprehension(iter=ast.Call(args=given))]
                ),
            ) if (
                isinstance(column, ast.Constant)
                and column.value == name
                and last_name(function) in ("date_range", "range", "arange", "period_range")
                and len(given) == 2
            ):
                return {"start": call.scope.segment(given[0]), "end": call.scope.segment(given[1])}
    return False


WAYS = (
    LesserWay(
        ("pandas.DataFrame.explode",),
        "Count where each begins and ends: no row for every step between",
        "makes a row for every step between each beginning and its end.",
        "steps = pd.concat([pd.Series(1, index={start}), pd.Series(-1, index={end})])\n"
        "at_once = steps.groupby(level=0).sum().cumsum()  # how many from each of these moments on, an end left out\n"
        "# for each kind: the same in a loop over groupby; for every minute: at_once.resample('min').ffill()",
        Case(
            _FRAME,
            "df['t'] = [pd.date_range(a, b, freq='min') for a, b in zip(df['start'], df['end'])]\ndf = df.explode('t')",
        ),
        _of_steps,
        silent=("df['t'] = [text.split() for text in df['text']]\ndf = df.explode('t')",),
    ),
    LesserWay(
        (".corr", ".cov"),
        "Correlate with one column in each window",
        "makes a row for each pair of columns at each row of the table.",
        "{to} = {owner}.corr({table}['target'])  # with one column: as large as the table",
        Case(_FRAME, "c = df.rolling(50).corr()"),
        _of_windows,
        silent=(
            "c = df.rolling(50).corr(df['y'])",
            "c = df.rolling(50).corr(other=df['y'])",
            "c = df['x'].rolling(50).corr(df['y'])",
        ),
    ),
    LesserWay(
        ("pandas.DataFrame.corr", "pandas.DataFrame.cov"),
        "Correlate with one column, or fewer columns",
        "makes a number for each pair of columns.",
        "{table}.corrwith({table}['target'], numeric_only=True)  # with one column\n\n"
        "few = {table}.loc[:, {table}.var(numeric_only=True).nlargest(500).index].astype('float32')  # that vary most",
        Case(_FRAME, "c = df.corr()"),
        lambda call, _death: _window_of(call) not in _WINDOWS,
    ),
    LesserWay(
        ("pandas.DataFrame.where", "pandas.DataFrame.replace", "pandas.DataFrame.mask"),
        "Put None in as the rows go out, some at a time",
        "makes a Python object of every number of each column that gets a `None`.",
        "for at in range(0, len({table}), 10_000):  # some rows at a time\n"
        "    part = {table}.iloc[at : at + 10_000].astype(object)\n"
        "    rows = part.where(part.notna(), None).to_dict('records')\n"
        "    ...  # send them; to_sql and to_json need no None",
        Case(_FRAME, "df = df.where(df.notna(), None)"),
        _to_none,
        silent=("df = df.where(df > 0, 0)", "df = df.replace('a', 'b')"),
    ),
    LesserWay(
        ("pandas.Series.str.split", "pandas.Series.str.rsplit"),
        "Split off only the parts you need: n=1, or str.extract",
        "makes a column for each part of the longest text with `expand=True`.",
        "parts = {column}.str.split(',', n=1, expand=True)  # with your separator: two columns, whatever comes\n"
        "year = {column}.str.extract(r'(\\d{{4}})', expand=False)  # or just what you look for",
        Case(_FRAME, "wide = df['t'].str.split(',', expand=True)"),
        lambda call, death: given(True, "expand")(call, death) is True and call.argument("n", 1) is None,
        silent=("wide = df['t'].str.split(',', n=1, expand=True)",),
    ),
    LesserWay(
        ("pandas.DataFrame.to_sql",),
        "Write some rows at a time: chunksize=10_000",
        "makes Python objects of all rows where no `chunksize` is given.",
        "{owner}.to_sql({a0}, con, chunksize=10_000)  # with your other arguments, but no method='multi'",
        Case(_FRAME, "df.to_sql('t', con)"),
        without("chunksize", 6),
        silent=("df.to_sql('t', con, chunksize=500)",),
    ),
    LesserWay(
        (".strftime",),
        "Keep times as times, to the day: dt.floor('D')",
        "makes a text of some 60 bytes of each time of eight.",
        "day = {owner}.floor('D')  # still eight bytes; groupby and merge take it\n"
        "month = {owner}.to_period('M')  # texts only for what is shown: .strftime of the result",
        Case(_FRAME, "d = df['t'].dt.strftime('%Y-%m-%d')"),
        _as_texts,
    ),
    LesserWay(
        ("pandas.DataFrame.groupby",),
        "Take one group after the other, not a list of all",
        "makes a table of each group, and all of them are kept.",
        "for key, part in {table}.groupby('id'):  # with your key\n"
        "    ...  # keep a number of it, or write it to a file\n\n"
        "rows = {table}.groupby('id').indices  # or only the numbers of the rows: {table}.iloc[rows[key]]",
        Case(_FRAME, "parts = {k: g for k, g in df.groupby('id')}"),
        _keeps_groups,
        silent=("g = df.groupby('id')", "means = {k: g['x'].mean() for k, g in df.groupby('id')}"),
    ),
    LesserWay(
        ("pandas.read_xml",),
        "Read one element after the other: iterparse={'row': ['id', 'price']}",
        "makes an object of each element of the file first.",
        "{to} = pd.read_xml({a0}, iterparse={{'row': ['id', 'price']}})  # your element, and what you need of it",
        Case("import pandas as pd", "df = pd.read_xml('a.xml')"),
        without("iterparse"),
        silent=("df = pd.read_xml('a.xml', iterparse={'row': ['id']})",),
    ),
    LesserWay(
        (".apply", ".map"),
        "Take one text after the other, and keep counts or numbers",
        "makes a list of texts for each row, a text of some 50 bytes for each word.",
        "from collections import Counter\n\ncounts = Counter()\nfor text in {owner}:\n"
        "    counts.update(make(text))  # make: as you do it; or keep a hash or a number of each word",
        Case(_FRAME + "\nfrom nltk import word_tokenize", "df['t'] = df['text'].apply(word_tokenize)"),
        _lists_of_rows,
        silent=(Case(_FRAME, "df['n'] = df['text'].apply(lambda text: len(text.split()))"),),
    ),
    LesserWay(
        ("pandas.DataFrame.astype",),
        "Make it float32, and only the columns that you calculate with",
        "makes a second table of float64, 8 bytes for each value.",
        "few = {table}[['the columns', 'you calculate with']].astype('float32')  # half of float64",
        Case(_FRAME, "df = df.astype(float)"),
        _to_float,
        silent=("df = df.astype('float32')",),
    ),
    LesserWay(
        (
            "pandas.plotting.scatter_matrix",
            *(f"pandas.plotting.{name}" for name in ("parallel_coordinates", "andrews_curves", "radviz")),
        ),
        "Draw a sample",
        "draws a dot or a line for each row, in each panel.",
        "{function}({of0}.sample(1000))  # nobody sees more lines than that; with your other arguments",
        Case("import pandas as pd", "pd.plotting.scatter_matrix(df)"),
        lambda call, _death: bool(call.node.args) and ".sample(" not in call.text and ".head(" not in call.text,
    ),
    LesserWay(
        (".execute",),
        "Let the database keep the rows, and take some at a time: a cursor with a name, SSCursor",
        "fetches all rows of the answer at once, before the first is asked for.",
        "{imported}cursor = connection.cursor({how}\ncursor.execute({a0})  # connection: yours\n"
        "for row in cursor:\n    ...",
        Case(
            "import psycopg2\ncon = psycopg2.connect('a')\ncur = con.cursor()",
            "cur.execute('select * from t')\nrows = list(cur)",
            line=1,
        ),
        lambda call, death: "select" in call.text.lower() and _of_cursor(call, death),
    ),
)
