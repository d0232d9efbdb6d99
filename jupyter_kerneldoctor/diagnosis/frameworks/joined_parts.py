"""Tables and arrays that a loop keeps to be joined: what is done with the whole, done with each part before that."""

import ast

from ..code.calls import given_to, last_name
from ..code.literals import number
from ..code.notebook import Notebook
from ..code.trees import walk
from .kept_items import KeptItem
from .later_uses import Use, parent_of
from .reductions import Items, Step, reduced

_AXES = ("axis", "dim")
_FRAMES = ("pandas.concat", "polars.concat")
_END_TO_END = ("numpy.concatenate", "numpy.vstack", "torch.cat", "tensorflow.concat")
_BY_ROW = ("argmax", "mean", "sum", "max", "min", "std", "any", "all", "norm", "median", "prod", "count_nonzero")
_AGAIN = {"sum": "sum", "count": "sum", "size": "sum", "max": "max", "min": "min", "mean": "sum"}
"""Of the groups of each part, what puts them together; of a mean its sums and counts."""
_HARD = ("mean", "median", "std", "var", "nunique", "quantile", "first", "last", "sem")
_FILES = ("to_csv", "to_parquet", "to_feather", "to_pickle", "write_csv", "write_parquet")
_OF_POLARS = {
    "write_csv": "part.write_csv(file, include_header=i == 0)  # i: the round; file: opened around it, 'wb'",
    "write_parquet": "part.write_parquet(f'all/part-{i}.parquet')  # i: the round; pl.read_parquet('all/*') reads all",
}
_AS_CSV = "part.to_csv(path, mode='a', header=i == 0, index=False)  # i: the number of the round"
_AS_PARQUET = "part.to_parquet(f'all/part-{i}.parquet')  # i: the round; pd.read_parquet('all') reads all"


def of_joined(use: Use, kept: KeptItem, code: Notebook) -> Step | None:
    """Return what is done with each part before it is kept; None where the whole is needed."""
    joins, value = [one for one in use.through if "." in one and not one.startswith("builtins.")], kept.text(kept.value)
    if len(joins) != 1 or kept.form == "many":
        return None
    if _is_beside(joins[0], code):
        return None
    if joins[0] in _FRAMES:
        return _of_frames(use, kept)
    if joins[0] == "pandas.DataFrame":
        return _of_rows(use, kept)
    call = use.node if isinstance(use.node, ast.Call) and use.kind in ("method", "given") else None
    if call is None:
        return None
    if joins[0] == "numpy.hstack":  # side by side, or end to end: that depends on the parts
        return None
    last, function = last_name(call.func), code.qualified(call.func, use.scope) or ""
    axes = [one.value for one in call.keywords if one.arg in _AXES]
    given = [*axes, *(call.args if use.kind == "method" else call.args[1:])]
    axis = number(given[0]) if given else None
    is_pair = joins[0].startswith("torch.") and last in ("max", "min", "median")  # of values and numbers
    if last in _BY_ROW and not is_pair and axis is not None and axis != 0 and len(given) == 1:
        axis = -1 if joins[0] == "numpy.vstack" and axis == 1 else axis  # a part may be a row, or rows
        place = axis if axis < 0 or joins[0] in _END_TO_END else axis - 1
        owner = "" if use.kind == "method" else use.scope.segment(call.func)
        operand = kept.scope.operand(kept.value)
        one = f"{owner}({value}, {place})" if owner else f"{operand}.{last}({place})"
        return _of_each_row(use, kept, one, joins[0], last)
    if (
        last in ("median", "percentile", "quantile")
        and joins[0] not in _END_TO_END
        and (axis == 0 or use.kind == "method")
    ):
        line = f"if i % 10 == 0:  # i: the number of the round\n    {kept.put(value)}"
        return Step(f"Take the {last} of every tenth: it is nearly the same", line, goes=False)
    is_whole = joins[0] not in _END_TO_END and axis in (0, None) and last in ("sum", "mean", "std", "var")
    if is_whole or (use.kind == "given" and last in ("save", "savez", "savez_compressed")):
        is_method = use.kind == "method"
        library = "builtins" if joins[0] == "torch.tensor" else joins[0].partition(".")[0]
        name = f"{library}.{last}" if is_method else function
        return reduced(call, name, Items(value), kept.name, use.scope, is_method=is_method)
    return None


def _of_each_row(use: Use, kept: KeptItem, one: str, join: str, last: str) -> Step | None:
    """Tell of a number of each row, which is the same before the rows are joined."""
    joined = use.scope.segment(use.place).replace("vstack(", "hstack(")  # of what were rows and now are numbers
    if join == "numpy.vstack" and "hstack(" not in joined:
        return None  # it is joined on another line, in another way
    line = f"{kept.put(one)}  # the same of each row before they are joined"
    return Step(f"Keep only the `{last}` of each row", line, "", f"{joined}  # in place of {use.text}", goes=False)


def _is_beside(name: str, code: Notebook) -> bool:
    """Whether parts are joined side by side, or not surely below each other."""
    given = [(call.argument("axis", 1) or call.argument("dim")) for call in code.calls(name)]
    return any(one is not None and number(one) != 0 for one in given)


def _of_frames(use: Use, kept: KeptItem) -> Step | None:
    """Tell of tables that are put below each other."""
    value, node = kept.text(kept.value), use.node
    method = last_name(node.func) if isinstance(node, ast.Call) and use.kind == "method" else ""
    first = "" if value == "part" else f"part = {value}\n"
    if "polars.concat" in use.through and method not in ("write_csv", "write_parquet"):
        return None
    if method in _FILES:
        title = f"Write each part as it comes, and keep none in {kept.name}"
        return Step(title, first + _OF_POLARS.get(method, _AS_CSV if "csv" in method else _AS_PARQUET))
    if method == "groupby" and (found := _grouped(use, kept, first)) is not None:
        return found
    if method in ("sum", "count", "max", "min", "mean") and _is_plain(node):
        how, behind = f"{method}()", f"pd.concat({kept.name}, axis=1).T.{_AGAIN[method]}()"
        if method == "mean":
            how = "agg(['sum', 'count'])"
            behind = f"total = pd.concat({kept.name}).groupby(level=-1).sum()\ntotal.loc['sum'] / total.loc['count']"
        line = f"{first}{kept.put(f'part.{how}')}  # a few numbers of each part"
        return Step(f"Keep of each part its {method} only: those can be put together", line, "", behind, goes=False)
    return None


def _is_plain(node: ast.AST) -> bool:
    """Whether a method is given nothing that changes what it works out of a column."""
    return isinstance(node, ast.Call) and not node.args and not node.keywords


def _grouped(use: Use, kept: KeptItem, first: str) -> Step | None:
    """Tell of groups whose sums, counts or means can be taken of each part."""
    node, last = use.node, None
    outer = parent_of(node, use.scope)
    while isinstance(outer, ast.Attribute | ast.Subscript) or (isinstance(outer, ast.Call) and outer.func is node):
        node, last = outer, outer if isinstance(outer, ast.Call) else last
        outer = parent_of(node, use.scope)
    words = {one.arg: one.value for one in use.node.keywords} if isinstance(use.node, ast.Call) else {}
    if words.keys() - {"by", "sort", "observed"}:  # as_index=False: the groups are no index then
        return None
    if last is None or not isinstance(last.func, ast.Attribute) or (method := _method(last)) is None:
        return None
    asked, is_series = last.func.value, False
    match asked:
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):  # one column of the groups, or some
            asked, is_series = inner, not (isinstance(asked, ast.Subscript) and isinstance(asked.slice, ast.List))
    by = words.get("by") or next(iter(use.node.args if isinstance(use.node, ast.Call) else ()), None)
    is_known = isinstance(by, ast.Constant | ast.List) or (isinstance(by, ast.Call) and last_name(by.func) == "Grouper")
    if asked is not use.node or not is_known or (method == "mean" and last.keywords):
        return None  # something is done in between, as `rolling`; groups by what is worked out of the whole
    whole, base = use.scope.segment(last.func.value), use.scope.segment(use.place)
    groups = " ".join(whole.replace(base, "part", 1).split())
    given = use.scope.segment(last).removeprefix(use.scope.segment(last.func))
    how = "agg(['sum', 'count'])" if method == "mean" else f"{last.func.attr}{' '.join(given.split())}"
    levels = list(range(len(by.elts))) if isinstance(by, ast.List) and len(by.elts) > 1 else 0
    behind = f"total = pd.concat({kept.name}).groupby(level={levels}).{_AGAIN[method]}()"
    if method == "mean":
        parts = [f"total['{one}']" if is_series else f"total.xs('{one}', axis=1, level=1)" for one in ("sum", "count")]
        behind += f"\nmean = {' / '.join(parts)}"
    behind += f"  # in place of {' '.join(use.scope.segment(last).split())}, and of the line that joins the parts"
    line = f"{first}{kept.put(f'{groups}.{how}')}  # a row for each group, not the part itself"
    return Step("Keep of each part the sums of its groups, not the part", line, "", behind, goes=False)


def _method(last: ast.Call) -> str | None:
    """Return what is taken of each group, also by `agg`; None where it cannot be put together."""
    method = last_name(last.func)
    if method in ("agg", "aggregate"):
        texts = [part.value for one in given_to(last) for part in walk(one) if isinstance(part, ast.Constant)]
        known = {one for one in texts if one in _AGAIN or one in _HARD}
        again = {_AGAIN.get(one) for one in known if isinstance(one, str)}
        is_sure = len(again) == 1 and None not in again and not ("mean" in known and len(known) > 1)
        return min(map(str, known)) if is_sure else None
    return method if method in _AGAIN and not last.args else None


def _of_rows(use: Use, kept: KeptItem) -> Step | None:
    """Tell of rows of which a table is made only to be written."""
    method = last_name(use.node.func) if isinstance(use.node, ast.Call) and use.kind == "method" else ""
    if method not in ("to_csv", "to_json", "to_sql", "to_parquet", "to_excel"):
        return None
    value, is_dict = kept.text(kept.value), isinstance(kept.value, ast.Dict)
    writer = "csv.writer(file)"
    if is_dict and isinstance(kept.value, ast.Dict):
        keys = ", ".join("..." if one is None else kept.text(one) for one in kept.value.keys)
        writer = f"csv.DictWriter(file, [{keys}])"
    before = "import csv\nfile = open('all.csv', 'w', newline='')"
    before += f"  # a CSV file in place of {method}" if method != "to_csv" else ""
    before += f"\nwriter = {writer}"
    before += "\nwriter.writeheader()" if is_dict else ""
    return Step(
        f"Write each row as it comes, and keep none in {kept.name}", f"writer.writerow({value})", before, "file.close()"
    )
