"""Python objects of the rows of tables: dicts, Series and lists that take many times what the table does."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.attributes import Origin
from ..code.notebook import Call
from ..code.origins import Origins
from ..death import Death
from .conditions import both, is_gathered
from .way import LesserWay, names

_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"


def _to_records(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give the table, where a dict is made of each of its rows and it has a name to be asked twice."""
    match call.node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=table)), args=[ast.Constant(value="records")], keywords=[]):
            return {"records": table}
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=table)),
            args=[],
            keywords=[ast.keyword(arg="orient", value=ast.Constant(value="records"))],
        ):
            return {"records": table}
    return True


def _keeps_rows(call: Call, death: Death) -> bool:
    """Whether all rows that a call gives one by one are kept, by a list or in a loop."""
    if is_gathered(call, death):
        return True
    for loop in (call.statement, *call.scope.loops_around(call.node)):
        match loop:
            case ast.For(target=ast.Tuple(elts=[_, ast.Name(id=row)]) | ast.Name(id=row), iter=rows) if (
                rows is call.node
            ):
                kept = (given for one in call.scope.inside(loop) for given in _added(one))
                return any(isinstance(inner, ast.Name) and inner.id == row for one in kept for inner in _whole(one))
    return False


def _gives_series(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Say what to go through, where the function that is applied gives a Series for each row."""
    function, origins = call.argument("func", 0), Origins(death.code)
    if isinstance(function, ast.Lambda):
        given = [Origin(function.body, call.scope)]
    else:
        inner = None if function is None else origins.called(function, call.scope)
        returns = () if inner is None else (one for one in inner.nodes if isinstance(one, ast.Return) and one.value)
        given = [] if inner is None else [Origin(one.value, inner) for one in returns if one.value is not None]
    is_of_rows = call.argument("axis", 1) is not None
    rows = f"{call.scope.segment(call.node.func).removesuffix('.apply')}{'.itertuples()' if is_of_rows else ''}"
    gives = any(
        isinstance(one, ast.Call) and death.code.qualified(one.func, scope) == "pandas.Series" for one, scope in given
    )
    return {"rows": " ".join(rows.split())} if gives else False


def _added(node: ast.AST) -> list[ast.expr]:
    """Return what is added to a container: `rows.append(row)`, `rows[key] = row`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="append" | "add" | "appendleft"), args=given):
            return given
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return [value]
    return []


def _whole(node: ast.expr) -> list[ast.expr]:
    """Return what is kept as it is, or copied."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Call(func=ast.Attribute(attr="copy" | "to_dict" | "_asdict", value=whole)):
            return [whole]
        case ast.Call(func=ast.Name(id="dict" | "list" | "tuple"), args=[whole]):
            return [whole]
    return [node]


WAYS = (
    LesserWay(
        (".apply",),
        "Give back a tuple for each row, no Series",
        "makes a Series for each row, an object of some kilobytes, before it makes a table of them.",
        "rows = [make(one) for one in {rows}]  # make: {a0}, with `return a, b` in place of pd.Series\n"
        "{to} = pd.DataFrame(rows, columns=['a', 'b'], index={table}.index)  # with your names",
        Case(
            _FRAME + "\ndef parts(text):\n    a, b = text.split(',')\n    return pd.Series([a, b])",
            "p = df['t'].apply(parts)",
        ),
        _gives_series,
        silent=(
            Case(_FRAME + "\ndef parts(text):\n    return tuple(text.split(','))", "p = df['t'].apply(parts)"),
            Case(_FRAME, "p = df['t'].apply(lambda text: len(text))"),
        ),
    ),
    LesserWay(
        (".iter_rows", ".to_dicts"),
        "Work on whole columns: with_columns, and keep the new values alone",
        "gives Python objects for each row, and all of them are kept.",
        "new = [make(row) for row in {table}.iter_rows(named=True)]  # make: a number of each row, no row is kept\n"
        "{to} = {table}.with_columns(pl.Series('new', new))\n\n"
        "{to} = {table}.with_columns((pl.col('a') * pl.col('b')).alias('new'))  # or an expression of whole columns",
        Case(
            "import polars as pl\ndf = pl.DataFrame(a)",
            "kept = []\nfor row in df.iter_rows(named=True):\n    kept.append(row)",
        ),
        both(_keeps_rows, lambda _call, death: death.code.imports("polars")),
        silent=("n = []\nfor row in df.iter_rows(named=True):\n    n.append(row['a'])",),
    ),
    LesserWay(
        ("pandas.DataFrame.to_dict", "pandas.DataFrame.to_records"),
        "Write it with to_json, or take one row at a time",
        "makes a Python object of each value, many times the size of the table.",
        "{table}.to_json('rows.json', orient='records', lines=True)  # straight into a file\n\n"
        "for row in {table}.itertuples(index=False):  # or one row at a time\n    ...",
        Case(
            _FRAME,
            "for row in df.to_dict('records'):\n    send(row)",
            becomes="for row in (dict(zip(df.columns, row)) for row in df.itertuples(index=False, name=None)):\n"
            "    send(row)",
        ),
        _to_records,
        one_by_one="(dict(zip({records}.columns, row)) for row in {records}.itertuples(index=False, name=None))",
    ),
    LesserWay(
        ("pandas.DataFrame.iterrows", "pandas.DataFrame.itertuples"),
        "Take whole columns, or the numbers of the rows: no list of rows",
        "gives an object for each row, and all of them are kept.",
        "mask = ({table}['a'] >= 10) & ({table}['b'] != {table}['c'])  # your own conditions, on whole columns\n"
        "{to} = {table}[mask]  # these rows; or {table}.loc[labels], where a loop noted only their labels\n\n"
        "for row in {table}.itertuples(index=False):  # or one row at a time, of which a number is kept\n    ...",
        Case(_FRAME, "rows = [row for _, row in df.iterrows()]"),
        _keeps_rows,
        silent=(Case(_FRAME, "n = []\nfor i, row in df.iterrows():\n    n.append(row['a'])"),),
    ),
    LesserWay(
        ("pandas.json_normalize",),
        "Take of each record only the fields you need: max_level, record_path",
        "makes a column of each field of each record, also of those whose names are data.",
        "{to} = pd.DataFrame([(one['id'], one['price']) for one in {a0}], columns=['id', 'price'])\n\n"
        "{to} = pd.json_normalize({a0}, max_level=0)  # inner dicts stay dicts; lists: record_path='items'\n\n"
        "# where keys are data, as names of users: a row for each key in place of a column, the long form\n"
        "rows = ((one['id'], key, value) for one in {a0} for key, value in one['inner'].items())\n"
        "long = pd.DataFrame(rows, columns=['id', 'key', 'value'])",
        Case(_FRAME, "t = pd.json_normalize(docs)"),
    ),
)

GENERAL = (
    LesserWay(
        ("pandas.DataFrame", "pandas.DataFrame.from_dict", "pandas.DataFrame.from_records"),
        "Give it a list or an array for each column: float32, no dict or row of objects",
        "copies all of it beside what it is given, and goes through Python objects of some 50 bytes each.",
        "from array import array\n\ncolumns = {{'id': array('q'), 'value': array('f')}}  # filled in place of {a0}\n"
        "{to} = pd.DataFrame({{name: np.asarray(one) for name, one in columns.items()}})  # 4 and 8 bytes a value\n\n"
        "# of a dict of dicts: a row for each pair that there is, or a sparse matrix, no square of all with all\n"
        "pairs = pd.Series({{(a, b): x for a, row in {a0}.items() for b, x in row.items() if x}}, dtype='float32')",
        Case("import pandas as pd", "df = pd.DataFrame(rows)"),
        lambda call, _death: bool(call.node.args) and names(call)["a0"].isidentifier(),
        silent=(Case("import pandas as pd", "df = pd.DataFrame({'a': x})"),),
    ),
)
