"""Rows that are matched by keys, times or ids which hardly ever meet, or room for all that there could be."""

import ast
import re
from collections.abc import Iterator, Mapping

from ..case import Case
from ..code.calls import given_to, last_name, plain_names
from ..code.literals import number
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.trees import walk
from ..death import Death
from ..joined_tables import has_outgrown
from .conditions import made_by
from .way import LesserWay

_FEW = 3  # dimensions
_LENGTHS = re.compile(r"\blen\b|\bshape\b|\bsize\b")
"""The longest of some texts, or the largest of some pictures: no ids."""
_RANGES = ("range", "arange")
_SAME_ROWS = {"shift", "diff", "pct_change", "rolling", "ewm", "expanding", "rank", "astype", "fillna", "clip"}


def _tables(part: ast.expr, call: Call, death: Death) -> Iterator[str]:
    """Yield the names of what a table is made of: `df` of `pd.get_dummies(df['a'])`, also where that has a name."""
    for one, _ in all_origins(part, call.scope, death.code, parts=True):
        yield from plain_names(one) - {"pd", "pandas", "np", "numpy"}


def _of_one_table(made: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether each item has the rows of the same table: `[df.shift(i) for i in range(9)]`."""
    root, steps = made.elt, set[str]()
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        steps |= {root.attr} if isinstance(root, ast.Attribute) else set()
        root = root.func if isinstance(root, ast.Call) else root.value
    own = {name for one in made.generators for name in plain_names(one.target)}
    return isinstance(root, ast.Name) and root.id not in own and bool(steps & _SAME_ROWS)


def _side_by_side(call: Call, death: Death) -> bool:
    axis, join = call.argument("axis", 1), call.argument("join", 2)
    is_inner = isinstance(join, ast.Constant) and join.value == "inner"
    if not isinstance(axis, ast.Constant) or axis.value not in (1, "columns") or is_inner:
        return False
    parts = call.argument("objs", 0)
    if isinstance(parts, ast.ListComp | ast.GeneratorExp) and _of_one_table(parts):
        return False
    tables = [{*_tables(one, call, death)} for one in parts.elts] if isinstance(parts, ast.List | ast.Tuple) else []
    return not any(one & other for at, one in enumerate(tables) for other in tables[:at])  # of one table: same rows


def _outer_again(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Whether tables are joined again and again, each time with all keys of both."""
    is_repeated = call.name == "functools.reduce" or call.scope.loops_around(call.node) or not call.scope.is_cell
    for one in walk(call.node) if is_repeated else ():
        if isinstance(one, ast.Call) and last_name(one.func) in ("merge", "join"):
            words = {word.arg: word.value for word in one.keywords}
            match words.get("how"):
                case ast.Constant(value="outer"):
                    on = words.get("on")
                    return {"on": call.scope.segment(on) if isinstance(on, ast.Constant) else "'time'"}
    return False


def _below_each_other(call: Call, death: Death) -> bool:
    """Whether parts are put below each other, and make several times as much as they are."""
    axis, parts = call.argument("axis", 1), call.argument("objs", 0)
    is_below = axis is None or getattr(axis, "value", None) in (0, "index", "rows")
    if parts is None or not is_below or call.argument("join", 2) is not None:
        return False
    return isinstance(parts, ast.Name) and has_outgrown((parts,), call.scope, death)


def _of_a_range(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether rows are asked for of each number up to the largest."""
    for given in given_to(call.node):
        if _LENGTHS.search(call.scope.segment(given)):
            continue  # as many rows as there are
        for one in walk(given):
            if isinstance(one, ast.Call) and last_name(one.func) in _RANGES and (ids := _largest_of(one, call)):
                return {"ids": ids}
        if any(name in ("builtins.range", "numpy.arange") for name in made_by(given, call, death)):
            return {"ids": "ids"}
    return False


def _of_times(call: Call, death: Death) -> bool:
    """Whether rows are asked for of each time in a range."""
    given = given_to(call.node)
    written = any(last_name(getattr(part, "func", None)) == "date_range" for one in given for part in walk(one))
    return written or any(name.endswith("date_range") for one in given for name in made_by(one, call, death))


def _up_to_the_largest(call: Call, death: Death) -> bool | Mapping[str, str]:  # noqa: ARG001 - as the others
    """Whether an array has an item for each number up to the largest: `np.zeros(ids.max() + 1)`."""
    shape = call.argument("shape", 0)
    if shape is None or (isinstance(shape, ast.Tuple) and len(shape.elts) > 1):
        return False  # a column for each class, as in a one-hot table
    for one in walk(shape):
        match one:
            case ast.BinOp(left=largest, op=ast.Add(), right=ast.Constant(value=1)):
                ids = _largest_of(largest, call)
                return {"ids": ids} if ids and not _LENGTHS.search(ids) else False
    return False


def _largest_of(node: ast.expr, call: Call) -> str:
    """Return what the largest is taken of in an expression: `ids` of `max(ids) + 1`; "" where it is of nothing."""
    for one in walk(node):
        match one:
            case ast.Call(func=ast.Attribute(attr="max" | "amax", value=ids), args=[]):
                return call.scope.segment(ids)
            case ast.Call(func=ast.Name(id="max") | ast.Attribute(attr="max" | "amax"), args=[ids]):
                return call.scope.segment(ids)
    return ""


def _of_many_dimensions(call: Call, death: Death) -> bool:  # noqa: ARG001 - as the others
    """Whether an array has so many dimensions that their number is calculated: `[bins] * 6`, `(n,) * d`."""
    shape = call.argument("shape", "size", 0)
    lists = [one for one in walk(shape) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)] if shape else []
    sides = [(one.left, one.right) for one in lists] + [(one.right, one.left) for one in lists]
    return any(isinstance(one, ast.List | ast.Tuple) and (number(other) or 9) > _FEW for one, other in sides)


def _of_pairs(call: Call, death: Death) -> bool:
    """Whether a table is made of all pairs of two lists."""
    return any(name.startswith("itertools.") for one in call.node.args[:1] for name in made_by(one, call, death))


_FRAME = "import pandas as pd\ndf = pd.DataFrame(a)"

WAYS = (
    LesserWay(
        ("pandas.concat",),
        "Give all parts the same columns first: each other name makes a column of its own",
        "puts the parts below each other, and the result is far larger than they are: it has a column for each name "
        "that one of them has, empty in the rows of all others.",
        "names = {of0}[0].columns\nparts = [one.set_axis(names, axis=1) for one in {a0}]  # the same names in all\n"
        "{to} = pd.concat(parts, keys=range(len(parts)))  # the index says which part a row is of\n\n"
        "{to} = pd.concat({a0}, axis=1)  # or side by side, where all have the same rows\n"
        "{to} = pd.concat({a0}, join='inner')  # or only the columns that all have",
        Case("import pandas as pd", "panel = pd.concat(frames, axis=0)", line=1, before_mib=150),
        _below_each_other,
        silent=(
            Case("import pandas as pd", "panel = pd.concat(frames)", line=1, before_mib=1000),
            Case("import pandas as pd", "both = pd.concat([df, df])", line=1, before_mib=150),
        ),
    ),
    LesserWay(
        ("pandas.concat",),
        "Bring the rows to the same keys first: times with round or resample, ids by join='inner'",
        "puts the parts side by side by their index: where keys or times differ, if only by a little, it makes a row "
        "for each of them, empty in all other columns.",
        "parts = {a0}\nparts = [one.groupby(one.index.round('1s')).mean() for one in parts]  # times: whole seconds\n"
        "{to} = pd.concat(parts, axis=1)  # or one.resample('1s').mean(); pd.merge_asof takes the nearest time\n\n"
        "{to} = pd.concat(parts, axis=1, join='inner')  # keys: only those that all of them have",
        Case("import pandas as pd", "wide = pd.concat(series, axis=1)"),
        _side_by_side,
        silent=("wide = pd.concat([names.astype(kind) for kind in kinds], axis=1)",),
    ),
    LesserWay(
        ("pandas.merge", "pandas.DataFrame.merge", "pandas.DataFrame.join", "functools.reduce"),
        "Bring the rows to the same keys first: round, resample or merge_asof",
        "keeps all keys of both, again and again: where they differ, if only by a little, the rows get more each time.",
        "parts = [one.groupby(one[{on}].dt.round('1s')).mean(numeric_only=True) for one in tables]  # ids: by={on}\n"
        "{to} = pd.concat(parts, axis=1)  # the same times, once each\n\n"
        "pair = pd.merge_asof(tables[0], tables[1], on={on})  # or the nearest time: no new rows",
        Case(
            "import pandas as pd\nfrom functools import reduce",
            "wide = reduce(lambda a, b: pd.merge(a, b, on='t', how='outer'), tables)",
            says=("one['t'].dt.round('1s')", "merge_asof"),
        ),
        _outer_again,
    ),
    LesserWay(
        ("pandas.DataFrame.reindex", "pandas.Series.reindex"),
        "Keep the ids that occur: those that do not can be counted without a row",
        "makes a row for each number up to the largest, also for those that never occur.",
        "few = {owner}  # only the ids that occur: as many rows as there are different ones\n"
        "absent = largest + 1 - len(few)  # how many others there are, without a row for each\n\n"
        "codes, known = pd.factorize({ids})  # where numbers without gaps are needed: 0, 1, 2, ...\n"
        "some = few.reindex(ids_you_ask_for, fill_value=0)  # or just the ids of a list",
        Case(_FRAME, "n = df.reindex(range(df.index.max() + 1), fill_value=0)", says=("pd.factorize(df.index)",)),
        _of_a_range,
    ),
    LesserWay(
        ("pandas.DataFrame.reindex", "pandas.Series.reindex"),
        "Take a coarser step, or the times that there are",
        "makes a row for each time of the range.",
        "print({table}.index.min(), {table}.index.max())  # one wrong date makes the range long\n"
        "{to} = {table}.resample('1h').mean(numeric_only=True)  # a coarser step; or one day at a time",
        Case(_FRAME, "full = df.reindex(pd.date_range(a, b, freq='s'))"),
        _of_times,
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")),
        "Number the ids that occur: np.unique(return_inverse=True)",
        "makes room for every number up to the largest.",
        "known, codes = np.unique({ids}, return_inverse=True)  # codes: 0, 1, 2, ... in place of the ids\n"
        "{to} = {function}(len(known))  # with your other arguments; an item for each id that occurs: {to}[codes]",
        Case("import numpy as np", "n = np.zeros(ids.max() + 1)", says=("np.unique(ids, return_inverse=True)",)),
        _up_to_the_largest,
    ),
    LesserWay(
        ("pandas.DataFrame", "pandas.DataFrame.from_records"),
        "Take the pairs one by one, or only those that share something",
        "makes a row of each pair, of Python objects first.",
        "for one, other in pairs:  # one pair at a time: keep those that are similar enough\n    ...\n\n"
        "few = left.merge(right, on='city')  # or only those that share a city, a first letter, a year",
        Case("import pandas as pd\nfrom itertools import product", "t = pd.DataFrame(product(a, b))"),
        _of_pairs,
    ),
    LesserWay(
        ("pandas.date_range",),
        "Take a coarser step, or a part of the time",
        "makes eight bytes for each step, and what is joined to it far more.",
        "days = pd.date_range(start, end, freq='D')  # a coarser step\nfor day in days:  # and one day at a time\n"
        "    times = pd.date_range(day, periods=86_400, freq='s')",
        Case("import pandas as pd", "t = pd.date_range('1900', '2100', freq='ms')"),
        lambda call, _death: getattr(call.statement, "value", None) is call.node,
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "random.uniform", "random.random")),
        "Keep only what occurs: a dict, or fewer steps in each dimension",
        "has a number for each combination: one more dimension takes it as many times as that is long.",
        "from collections import defaultdict\n\n"
        "{to} = defaultdict(lambda: np.zeros(n, 'float32'))  # {to}[state]: only states that came\n\n"
        "# or fewer steps: half of them in each of six dimensions is a 64th of the table; and float32",
        Case("import numpy as np", "q = np.zeros([bins] * 6 + [3])"),
        _of_many_dimensions,
    ),
)
