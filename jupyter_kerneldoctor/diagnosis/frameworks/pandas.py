"""Reads of pandas that hold a file whole, how their result is used, and what a merge joins."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..code.notebook import Call, Notebook
from ..code.origins import Origins, all_origins
from ..code.scopes import Scope

READERS = ("pandas.read_csv", "pandas.read_table")
"""What reads a file of text into one frame."""

CHUNKED = (
    *READERS,
    *(f"pandas.read_{name}" for name in ("fwf", "json", "sql", "sql_query", "sql_table", "sas", "stata")),
)
"""What takes a `chunksize`; of JSON only with `lines=True`."""

PARTIAL = ("chunksize", "iterator", "nrows")
"""Arguments with which they do not read it whole."""

COMBINED_BY = {"sum": "sum", "min": "min", "max": "max", "count": "sum", "size": "sum"}
"""Reductions of a groupby that can be worked out piece by piece, each with what puts the pieces' results together."""


@dataclass(frozen=True)
class Grouped:
    """A frame that is grouped and reduced as soon as it is there: `read(…).groupby(keys)[columns].sum()`."""

    node: ast.Call
    """All of it."""
    reduction: str
    levels: str
    """Which levels of the index the keys become, as code."""


def grouped(call: Call) -> Grouped | None:
    """Return what is made of a read at once, if that is a groupby by plain column names."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Attribute(attr=reduction, value=chosen), args=[], keywords=[]) if (
                reduction in COMBINED_BY
            ):
                inner = chosen.value if isinstance(chosen, ast.Subscript | ast.Attribute) else chosen
                match inner:
                    case ast.Call(func=ast.Attribute(attr="groupby", value=read), args=[keys], keywords=[]) if (
                        read is call.node
                    ):
                        levels = _levels(keys)
                        return None if levels is None else Grouped(node, reduction, levels)
    return None


def _levels(keys: ast.expr) -> str | None:
    match keys:
        case ast.Constant(value=str()):
            return "0"
        case ast.List(elts=[_, _, *_] as names) if all(
            isinstance(n, ast.Constant) and isinstance(n.value, str) for n in names
        ):
            return str(list(range(len(names))))
    return None


def frame_name(call: Call) -> str | None:
    """Return the name that a call's result is given; None for none, or more than one."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            return name
    return None


_OF_FRAMES = frozenset(
    {
        *("T", "at", "attrs", "axes", "columns", "dtypes", "empty", "flags", "iat", "iloc", "index", "loc", "ndim"),
        *("plot", "shape", "size", "sparse", "style", "values"),
    }
)
"""Attributes of every data frame: any other that is not called is a column."""
_MOST_COLUMNS = 8
_DEEPEST = 3  # functions that a frame is handed on to
_BY_KEYS = ("groupby", "sort_values", "dropna", "drop_duplicates", "set_index")


@dataclass(frozen=True)
class Columns:
    """The columns of a file that the code takes from the frame that a read gives."""

    names: tuple[str, ...]
    are_all: bool
    """Nothing else is done with the frame, as far as the code that ran shows."""

    @property
    def text(self) -> str:
        """Return them as they stand in a list, with words in the place of those that are not known."""
        named = [repr(one) for one in self.names[:_MOST_COLUMNS]]
        others = () if self.are_all else ("'the others you need'",) if named else ("'the columns'", "'you need'")
        return ", ".join((*named, *others))


class _Frame(NamedTuple):
    """The name that a frame goes by, and from which statement on."""

    name: str | None
    scope: Scope
    begin: ast.stmt


def _frame_of(call: Call, code: Notebook) -> _Frame:
    """Return the frame that is made of a read: at once, by the one caller of a function, or of many files by concat."""
    scope, statement = call.scope, call.statement
    direct = _Frame(frame_name(call), scope, statement)
    match statement:
        case ast.Return(value=value) if (
            value is call.node and sum(isinstance(one, ast.Return) for one in scope.nodes) == 1
        ):
            calls = Origins(code).calls_of(scope)
            if len(calls) == 1:
                caller = Call(calls[0][0], calls[0][1], "")
                return _Frame(frame_name(caller), caller.scope, caller.statement)
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.ListComp(elt=one) | ast.Call(args=[ast.ListComp(elt=one)])
        ):
            if one is not call.node:
                return direct
            for whole in code.calls_in([scope], "pandas.concat"):
                match (
                    whole.node.args[:1],
                    [node for node in scope.names if isinstance(node, ast.Name) and node.id == name],
                ):
                    case [ast.ListComp(elt=inner)], _ if inner is call.node:
                        return _Frame(frame_name(whole), scope, whole.statement)
                    case [ast.Name(id=parts)], [_, _] if parts == name:  # made, and put together
                        return _Frame(frame_name(whole), scope, whole.statement)
    return direct


def columns_read(call: Call, code: Notebook) -> Columns:
    """Return which columns of the file are used. What the code creates before, `df["total"] = …`, is none of them."""
    return _columns_of(*_frame_of(call, code), code)


def _columns_of(name: str | None, scope: Scope, begin: ast.stmt | None, code: Notebook, depth: int = 0) -> Columns:
    """Return the columns that are taken from a frame of this name, also by functions that it is given to."""
    parents = {child: node for node in scope.nodes for child in ast.iter_child_nodes(node)}
    read: dict[str, None] = {}
    made: set[str] = set()
    are_all = True
    for node in sorted(_names(name, scope), key=lambda one: _place(one, scope)):
        if begin is not None and (scope.tree.statements[node].lineno, node.lineno) <= (begin.lineno, begin.lineno):
            continue
        if isinstance(node.ctx, ast.Store):
            break  # another object has the name from here on
        texts, is_made = _columns_at(node, parents)
        inner = _given_to(node, parents.get(node), scope, code) if not texts and depth < _DEEPEST else None
        if inner is not None:
            found = _columns_of(*inner, None, code, depth + 1)
            texts, are_all = list(found.names), are_all and found.are_all
        if is_made:
            made.update(texts)
        elif texts:
            read.update(dict.fromkeys(text for text in texts if text not in made))
        elif not _needs_no_column(parents.get(node)):
            are_all = False
    return Columns(tuple(read), are_all and bool(read))


def _given_to(node: ast.Name, call: ast.AST | None, scope: Scope, code: Notebook) -> tuple[str, Scope] | None:
    """Return the parameter that a frame is given as to a function of the user's, which changes nothing in it."""
    origins = Origins(code)
    function = origins.called(call.func, scope) if isinstance(call, ast.Call) else None
    if function is None or not isinstance(call, ast.Call):
        return None
    found = [name for name, given in origins.arguments(call, function).items() if given is node]
    stores = any(isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) for one in function.nodes)
    return (found[0], function) if len(found) == 1 and not stores else None


def _needs_no_column(use: ast.AST | None) -> bool:
    match use:
        case ast.Call(func=ast.Name(id="len")) | ast.Attribute(attr="shape" | "index"):
            return True
    return isinstance(use, ast.Delete)


def _names(name: str | None, scope: Scope) -> list[ast.Name]:
    return [one for one in scope.names if isinstance(one, ast.Name) and one.id == name]


def _place(node: ast.Name, scope: Scope) -> tuple[int, bool, int]:
    """Return where a use counts: what an assignment stores comes after all that it reads."""
    statement = scope.tree.statements[node]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    stores = any(node is one for target in targets for one in ast.walk(target))
    return statement.lineno, stores, node.col_offset


def _columns_at(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> tuple[list[str], bool]:
    """Return the columns that a use of the frame names, and whether it makes them; none where it may use all."""
    use = parents.get(node)
    match use:
        case ast.Subscript(slice=ast.Compare() | ast.BinOp() | ast.UnaryOp(), ctx=ast.Load()):
            return _columns_at(use, parents)  # some of the rows; what the mask is made of is another use
        case ast.Subscript(slice=key, ctx=ctx):
            stores = isinstance(ctx, ast.Store) and not isinstance(parents.get(use), ast.AugAssign)
            return _texts(key) or [], stores
        case ast.Attribute(attr=attribute):
            call = parents.get(use)
            if not isinstance(call, ast.Call) or call.func is not use:
                return ([] if attribute in _OF_FRAMES else [attribute]), False
            keys = _texts(call.args[0]) if attribute in _BY_KEYS and call.args else None
            match parents.get(call):
                case ast.Subscript(slice=chosen) if keys is not None and attribute == "groupby":
                    more = _texts(chosen)
                    return [] if more is None else [*keys, *more], False
                case ast.Attribute(attr="agg" | "aggregate") as method if keys is not None and attribute == "groupby":
                    more = _aggregated(parents.get(method))
                    return [] if more is None else [*keys, *more], False
    return [], False


def _aggregated(call: ast.AST | None) -> list[str] | None:
    """Return the columns of `agg({"a": "sum"})` and `agg(total=("a", "sum"))`."""
    match call:
        case ast.Call(args=[ast.Dict(keys=keys)], keywords=[]):
            return _texts(ast.List([one for one in keys if one is not None]))
        case ast.Call(args=[], keywords=words) if words:
            firsts = [word.value.elts[0] for word in words if isinstance(word.value, ast.Tuple) and word.value.elts]
            return _texts(ast.List(list(firsts))) if len(firsts) == len(words) else None
    return None


def _texts(node: ast.expr) -> list[str] | None:
    """Return the texts that are written as one constant or a list of them; None for anything else."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return texts if len(texts) == len(parts) else None


MERGES = ("pandas.merge", "pandas.DataFrame.merge")
_MAKES_NULLS = ("nan", "NaN", "NA", "NaT", "reindex", "shift", "to_numeric")


class Merge(NamedTuple):
    """A merge of two tables by columns that are named."""

    left: ast.expr
    right: ast.expr
    key: str
    """The right table's key or keys as code: `"id"`, `["year", "city"]`, `KEYS`."""
    is_list: bool
    keeps_right: bool
    """Whether rows of the right table that match nothing stay in the result."""


def merge_of(call: Call, code: Notebook) -> Merge | None:
    """Return what a call merges; None where that is not written out, or it does not join by equal columns."""
    if call.name == "pandas.merge":
        left, right = call.argument("left", 0), call.argument("right", 1)
        how, key = call.argument("how", 2), call.argument("right_on", 5, "on", 3)
    else:
        assert isinstance(call.node.func, ast.Attribute)
        left, right = call.node.func.value, call.argument("right", 0)
        how, key = call.argument("how", 1), call.argument("right_on", 4, "on", 2)
    kind = how.value if isinstance(how, ast.Constant) else "inner" if how is None else None
    if left is None or right is None or key is None or kind not in ("inner", "left", "right", "outer"):
        return None
    stands_for = all_origins(key, call.scope, code)[-1].node
    is_list = isinstance(stands_for, ast.List | ast.Tuple)
    if not is_list and not isinstance(stands_for, ast.Constant):
        return None
    return Merge(left, right, call.scope.segment(key), is_list, kind in ("right", "outer"))


def may_hold_nulls(table: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether the code that makes a table shows missing values."""
    for one in all_origins(table, scope, code):
        for node in ast.walk(one.node) if isinstance(one.node, ast.Call) else ():
            match node:
                case ast.Attribute(attr=name) | ast.Constant(value=name) if name in _MAKES_NULLS:
                    return True
                case ast.IfExp(orelse=ast.Constant(value=None)) | ast.List(elts=[ast.Constant(value=None), *_]):
                    return True
                case ast.keyword(arg="errors", value=ast.Constant(value="coerce")):
                    return True
    return False
