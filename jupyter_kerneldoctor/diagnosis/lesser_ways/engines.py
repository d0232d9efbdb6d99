"""Tables and arrays of other engines than pandas and NumPy: polars, Spark, Dask, DuckDB, xarray, Arrow."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import given_to, last_name
from ..code.notebook import Call
from ..death import Death
from .conditions import is_made_by, is_method_of, not_seen
from .way import LesserWay, owner_of

_ARROW = ("pyarrow.parquet.read_table", "pyarrow.table", "pyarrow.Table.from_pandas", "pyarrow.csv.read_csv")
_POLARS = is_method_of("polars")


def _joins(call: Call, death: Death) -> bool | Mapping[str, str]:
    on = call.argument("on", 1)
    if _crosses(call, death):
        return False
    return {"on": call.scope.segment(on) if on is not None else "'key'"} if _POLARS(call, death) else False


def _crosses(call: Call, death: Death) -> bool:
    how = call.argument("how", 2)
    return isinstance(how, ast.Constant) and how.value == "cross" and bool(_POLARS(call, death))


def _of_arrow(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give what a list of dicts is made of, where that is surely a table of Arrow."""
    is_table = call.name == ".to_pylist" and is_made_by(*_ARROW)(call, death)
    if not death.code.imports("pyarrow"):
        return False
    return {"arrow": owner_of(call)} if is_table else True


def _of_rows(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the call that hands over one row after the other."""
    if not _POLARS(call, death):
        return False
    given = ", ".join(call.scope.segment(word.value) for word in call.node.keywords if word.arg == "named")
    named = "named=True" if call.name == ".to_dicts" else f"named={given}" if given else ""
    return {"rows": f"{owner_of(call)}.iter_rows({named})"} if not call.node.args else False


def _of_ranges(call: Call, death: Death) -> bool:
    """Whether what is exploded are ranges of dates or numbers that are made on the same line."""
    ranges = tuple(f"polars.{name}_ranges" for name in ("datetime", "date", "time", "int"))
    made = (one for one in call.scope.inside(call.statement) if isinstance(one, ast.Call))
    return any(death.code.qualified(one.func, call.scope) in ranges for one in made)


def _gathers(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the column whose values `agg` gathers as a list of each group or window: `agg(pl.col("power"))`."""
    if not _POLARS(call, death):
        return False
    given = [inner for one in given_to(call.node) for inner in (one.elts if isinstance(one, ast.List) else [one])]
    for one in given:
        match one:
            case ast.Constant(value=str()):
                return {"gathered": f"pl.col({call.scope.segment(one)})"}
            case ast.Call(func=ast.Attribute(attr="col" | "all")) | ast.Attribute(value=ast.Attribute(attr="col")):
                return {"gathered": call.scope.segment(one)}
            case ast.Call(func=ast.Attribute(attr="alias" | "sort" | "cast" | "implode", value=ast.Call() as inner)):
                if last_name(inner.func) == "col":
                    return {"gathered": call.scope.segment(inner)}
    return False


WAYS = (
    LesserWay(
        (".agg",),
        "Aggregate inside agg: a number for each group or window, no list of its values",
        "gathers all values of each group or window in a list; windows that overlap repeat them.",
        "{gathered}.median()  # in agg, in place of {gathered}: or .mean(), .max(), .len(), .first(), as you use it\n\n"
        "# of windows: a column beside the others, no list\n"
        "{to} = {table}.with_columns({gathered}.rolling_median_by('time', window_size='30m').alias('smooth'))\n"
        "# or steps that do not overlap: {table}.group_by_dynamic('time', every='30m').agg({gathered}.median())",
        Case(
            "import polars as pl\na = pl.DataFrame()",
            "b = a.rolling('t', period='30m').agg(pl.col('x')).with_columns(pl.col('x').list.median())",
            says=("pl.col('x').median()  # in agg",),
        ),
        _gathers,
        silent=(Case("import polars as pl\na = pl.DataFrame()", "b = a.group_by('k').agg(pl.col('x').mean())"),),
    ),
    LesserWay(
        (".join",),
        "Make one row for each key before the join, or let polars stream it",
        "gives each row with every row of the other table that has the same key.",
        "right = {of0}.group_by({on}).agg(pl.len())  # one row for each key: sums, means, the first\n"
        "{to} = {table}.join(right, on={on})\n\n# or never hold the whole: aggregate what is joined, streamed\n"
        "{to} = ({table}.lazy().join({of0}.lazy(), on={on})\n"
        "        .group_by({on}).agg(pl.len()).collect(engine='streaming'))",
        Case(
            "import polars as pl\na = pl.DataFrame()\nb = pl.DataFrame()",
            "c = a.join(b, on='id', how='inner')",
            says=("b.group_by('id')", "c = (a.lazy().join(b.lazy(), on='id')"),
        ),
        _joins,
    ),
    LesserWay(
        (".join",),
        "Join by the condition, or some rows at a time: join_where",
        "pairs each row with each.",
        "{to} = {table}.lazy().join_where({of0}.lazy(), pl.col('x') < pl.col('y'))  # your own condition\n"
        "{to} = {to}.collect(engine='streaming')\n\n# or some rows at a time, filtered at once\n"
        "parts = [part.join({a0}, how='cross').filter(...) for part in {table}.iter_slices(1000)]\n"
        "{to} = pl.concat(parts)",
        Case("import polars as pl\na = pl.DataFrame()\nb = pl.DataFrame()", "c = a.join(b, how='cross')"),
        _crosses,
    ),
    LesserWay(
        (".to_dicts", ".rows"),
        "Take one row after the other: iter_rows",
        "makes a Python object of each value.",
        "for row in {rows}:\n    ...  # or no Python at all: {table}.group_by('key').agg(pl.len())",
        Case(
            "import polars as pl\na = pl.DataFrame()",
            "n = sum(row['x'] for row in a.to_dicts())",
            becomes="n = sum(row['x'] for row in a.iter_rows(named=True))",
        ),
        _of_rows,
        one_by_one="{rows}",
    ),
    LesserWay(
        (".explode",),
        "Count what begins and what ends, not a row for each moment between",
        "gives a row for each step from the beginning to the end of each row.",
        "change = pl.col('amount')  # or pl.lit(1), to count rows\n"
        "at = pl.concat([{table}.select(time='start', change=change), {table}.select(time='end', change=-change)])\n"
        "{to} = at.group_by('time').agg(pl.col('change').sum()).sort('time')\n"
        "{to} = {to}.with_columns(there=pl.col('change').cum_sum())  # how much is there from then on\n\n"
        "# or coarser steps: '1h' in place of '1m'",
        Case(
            "import polars as pl\na = pl.DataFrame()",
            "b = a.with_columns(t=pl.datetime_ranges('start', 'end', '1m')).explode('t')",
        ),
        _of_ranges,
    ),
    LesserWay(
        (".explode",),
        "Explode only the columns you need, and let polars stream it",
        "repeats all other columns for each item of a list.",
        "q = {table}.lazy().select('id', 'items').explode('items')  # the columns you need, and no others\n"
        "{to} = q.group_by('items').len().collect(engine='streaming')",
        Case("import polars as pl\na = pl.DataFrame()", "b = a.explode('words')"),
        is_method_of("polars"),
    ),
    LesserWay(
        ("geopandas.read_file",),
        "Read the rows and columns that you need: bbox, columns",
        "reads all shapes of the file, and all that is said of them.",
        "{to} = gpd.read_file({a0}, bbox=(x1, y1, x2, y2), columns=['id'])  # or rows=slice(0, 10_000), in parts",
        Case("import geopandas as gpd", "g = gpd.read_file('a.gpkg')"),
        lambda call, _death: not call.node.keywords,
    ),
    LesserWay(
        (".pivot", ".to_dummies", ".collect", ".partition_by"),
        "Stay lazy: let polars stream the query",
        "makes all rows at once.",
        "q = {table}.lazy().filter(...).group_by('a').agg(pl.col('b').mean())  # only the rows and columns you need\n"
        "{to} = q.collect(engine='streaming')  # or into a file, piece by piece: q.sink_parquet('result.parquet')",
        Case("import polars as pl\na = pl.DataFrame()", "wide = a.pivot('x')"),
        is_method_of("polars"),
    ),
    LesserWay(
        (".toPandas", ".collect"),
        "Sum it up in Spark, or write it to files",
        "brings all rows into this process.",
        "{owner}.write.parquet('result/')  # or a part of it: {owner}.limit(100_000).toPandas()",
        Case("import pyspark\ndf = pyspark.read()", "p = df.toPandas()"),
        is_method_of("pyspark"),
    ),
    LesserWay(
        (".compute", ".persist"),
        "Sum it up before `compute()`, or write it to files",
        "puts the whole result into this process.",
        "{owner}.to_parquet('result/')  # piece by piece\n"
        "{to} = {owner}.groupby('key').mean().compute()  # or a small result",
        Case("import dask.dataframe as dd\nd = dd.read_csv('a')", "df = d.compute()"),
        is_method_of("dask"),
    ),
    LesserWay(
        (".df", ".fetchdf", ".fetch_df", ".pl", ".arrow", ".fetchnumpy"),
        "Let DuckDB sum it up, or write it to a file",
        "brings all rows into this process.",
        "duckdb.sql(\"COPY (SELECT ...) TO 'result.parquet'\")  # no row of it comes here\n"
        "duckdb.sql('SELECT key, avg(value) FROM ... GROUP BY key').df()",
        Case("import duckdb", "t = duckdb.sql('select * from x').df()"),
        is_method_of("duckdb"),
    ),
    LesserWay(
        (".to_dataframe", ".load", ".compute", ".to_series", ".to_numpy"),
        "Reduce it in chunks before it is loaded",
        "loads every value.",
        "ds = xr.open_dataset(path, chunks={{'time': 100}})  # with dask: nothing is read yet\n"
        "{to} = ds['name'].mean('time').compute()  # or a part of it: ds.isel(time=slice(0, 100))",
        Case("import xarray as xr\nd = xr.open_dataset('a')", "t = d.to_dataframe()"),
        is_method_of("xarray"),
    ),
    LesserWay(
        (".interp", ".reindex", ".resample", ".stack", ".groupby", ".rolling", ".expand_dims", ".broadcast_like"),
        "Do it for a part of the time steps after the other, as float32",
        "makes a new array of all time steps.",
        "parts = []\nfor at in range(0, {table}.sizes['time'], 100):\n"
        "    part = {table}.isel(time=slice(at, at + 100)).astype('float32')\n"
        "    parts.append(part.mean('time'))  # the same as for the whole, and only what you need of it",
        Case("import xarray as xr\nd = xr.open_dataarray('a')", "f = d.interp(x=xs)"),
        is_method_of("xarray"),
    ),
    LesserWay(
        (".to_pylist", ".to_pydict"),
        "Count in Arrow, or make Python objects of some rows at a time",
        "makes a Python object of each value, many times the size of the table.",
        "import pyarrow.compute as pc\n\n"
        "found = {table}.group_by('key').aggregate([('value', 'sum')])  # columns, no Python objects\n\n"
        "for part in {table}.to_batches(max_chunksize=10_000):  # or some rows at a time\n"
        "    for row in part.to_pylist():\n        ...",
        Case(
            "import pyarrow.parquet as pq",
            "n = sum(row['x'] for row in pq.read_table('a').to_pylist())",
            becomes="n = sum(row['x'] for row in (row for part in pq.read_table('a').to_batches(max_chunksize=10_000) "
            "for row in part.to_pylist()))",
        ),
        _of_arrow,
        one_by_one="(row for part in {arrow}.to_batches(max_chunksize=10_000) for row in part.to_pylist())",
    ),
    LesserWay(
        (".to_pandas",),
        "Give the Arrow table up while it is converted, and take fewer columns",
        "makes a second copy of all columns.",
        "df = {owner}.select(['a', 'b']).to_pandas(split_blocks=True, self_destruct=True)\ndel {table}",
        Case("import pyarrow as pa\nt = pa.table({})", "df = t.to_pandas()"),
        is_method_of("pyarrow"),
    ),
    LesserWay(
        ("pyarrow.parquet.read_table", "pyarrow.feather.read_table", "pandas.read_parquet"),
        "Read only the columns you need, some rows at a time",
        "reads all columns and all rows.",
        "import pyarrow.parquet as pq\n\n"
        "for part in pq.ParquetFile({a0}).iter_batches(columns=['the columns', 'you need']):\n    ...",
        fits=not_seen("columns", 1),
    ),
    LesserWay(
        ("pyarrow.csv.read_csv", "pyarrow.json.read_json"),
        "Read only the columns you need, a batch at a time",
        "reads all columns and all rows.",
        "from pyarrow import dataset\n\n"
        "for part in dataset.dataset({a0}, format='csv').to_batches(columns=['the columns', 'you need']):\n    ...",
    ),
    LesserWay(
        (".to_pandas",),
        "Stay in polars, or hand over few columns: select",
        "copies the table into pandas, where each text is an object of its own.",
        "{to} = {owner}.select('the columns', 'you need').to_pandas(use_pyarrow_extension_array=True)\n"
        "# or what comes of it: {owner}.group_by('key').agg(pl.col('value').sum()).to_pandas()",
        Case("import polars as pl\ndf = pl.DataFrame()", "p = df.to_pandas()"),
        _POLARS,
    ),
)
