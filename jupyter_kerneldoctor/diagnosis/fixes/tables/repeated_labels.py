import ast

from jupyter_kerneldoctor.recording.events import Stack

from ...calls import ran_in, ran_in_function
from ...code.calls import last_name
from ...code.literals import number
from ...code.origins import all_origins
from ...code.trees import walk
from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...joined_tables import has_outgrown
from ...place import guilty_place

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_METHODS = {
    "add": "+",
    "sub": "-",
    "subtract": "-",
    "mul": "*",
    "multiply": "*",
    "div": "/",
    "divide": "/",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "radd": "+",
    "rmul": "*",
}
"""Methods of tables, and functions of NumPy, that calculate with two of them."""
_PAIRS = ("_join_non_unique", "get_join_indexers_non_unique")
"""What pandas runs only where a label is there twice."""
_MATCHES = ("_align_series", "_align_frame", "_align_for_op", "align")
_LONGEST = 40
_OF_ROWS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
_ROWS_TITLE = "Calculate row by row: axis=0"


def _within_pandas(cell: str, line: int = 1, function: str = "_join_non_unique") -> list[Stack]:
    join = frame("pandas/core/indexes/base.py", function, library=True)
    return [Stack(-0.1, "busy", (thread(join, own_frame(cell, line)),))]


def _dying(cell: str, *says: str) -> Case:
    return Case("import pandas as pd\nimport numpy as np", cell, stacks=_within_pandas(cell), says=says)


def _wide(cell: str, says: str, line: int = 1) -> Case:
    return Case(
        "import pandas as pd", cell, line=line, stacks=_within_pandas(cell, line, "_align_for_op"), says=(says,)
    )


class RepeatedLabels(Fix):
    """Calculate by place, or with one row of each label.

    What it does: Arithmetic of pandas matches rows by their labels. Where a label is there 700 times in one column and
    100 times in the other, each meets each: 70,000 rows of that label. By place, with `to_numpy()`, nothing is matched;
    with one row of each label, each row meets one. A column that is taken from a table is matched with the names of
    the table's columns, and adds a column for each row, unless `axis=0` is given.

    When it is offered: Memory ran out while pandas matched the labels of two columns or tables in such a statement.

    What it costs: Which row of a label is the right one, the last or the mean, only you can tell.
    """

    id, title, causes = "repeated-labels", "Calculate by place, or make the labels unique", (Family.MEMORY,)

    FIRES = [
        _dying(
            "value = both[0] * both[1]",
            "both[0].to_numpy() * both[1].to_numpy()",
            "both[1].groupby(level=0).last()",
            "both[0] * one.reindex(both[0].index)",
        ),
        _dying("gap = used['a'] - made['b']", "used['a'].to_numpy() - made['b'].to_numpy()"),
        _dying("total = sold.mul(price, fill_value=0).sum()", "sold.to_numpy() * price.to_numpy()"),
        _dying("total += np.divide(sold, price).groupby(level=0).sum()", "sold.to_numpy() / price.to_numpy()"),
        _dying("more = 100 * (a.x - b.x) / 3", "a.x.to_numpy() - b.x.to_numpy()"),
        _dying("total += price", "total.to_numpy() + price.to_numpy()"),
        _dying("df.loc[df['a'] > 1, 't'] += '_' + df['b']", "df = df.reset_index(drop=True)"),
        _wide("share = counts / counts.sum(axis=1)", "counts.div(counts.sum(axis=1), axis=0)"),
        _wide("rows = counts.mean(axis='columns')\ngap = counts - rows", "counts.sub(rows, axis=0)", line=2),
        _wide("paid = df[['a', 'b']] * df['price']", "df[['a', 'b']].mul(df['price'], axis=0)"),
    ]
    SILENT = [
        Case("import pandas as pd", "value = sold * price"),
        Case("value = a * b", stacks=_within_pandas("value = a * b", function="reindex"), before_mib=1500),
        Case("value = a * 3", stacks=_within_pandas("value = a * 3")),
        Case("gap = counts.sub(counts.mean(axis=1), axis=0)", stacks=_within_pandas("gap", function="reindex")),
        Case("both = a.join(b)", stacks=_within_pandas("both = a.join(b)")),
        Case("value = a * b\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        sides = None if at is None or not ran_in(death, "/pandas/") else _sides(at.node)
        if at is None or sides is None:
            return
        left, right, sign = sides
        names = {"left": _shown(left, at.scope, "left"), "right": _shown(right, at.scope, "right"), "sign": sign}
        is_matched = ran_in_function(death, *_MATCHES) and has_outgrown((left, right), at.scope, death)
        if ran_in_function(death, *_PAIRS) or (is_matched and not _is_of_rows(left, right, at.scope, death)):
            why = (
                f"{quote(at.text)} matches rows by their labels: one that is there twice meets each other of the same "
                "label, and the result has a row for each such pair."
            )
            table = _changed_in_part(at.node, at.scope)
            snippet = _OWN_LABELS.format(table=table, text=at.text) if table else _SNIPPET.format(**names)
            yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
        elif is_matched and sign in _OF_ROWS:
            why = (
                f"{quote(at.text)} matches the labels of `{names['right']}` with the names of the columns, and makes "
                "a column for each that it does not find: one for each row."
            )
            snippet = _BY_ROW.format(**names, method=_OF_ROWS[sign])
            yield Proposal((), why, death.memory.missing_bytes, _ROWS_TITLE, snippet)


_SNIPPET = """\
print({left}.index.is_unique, {right}.index.is_unique)  # False: labels repeat
result = {left}.to_numpy() {sign} {right}.to_numpy()  # by place: where both have the same rows in the same order

one = {right}.groupby(level=0).last()  # or one row of each label: the last, the first, the mean
result = {left} {sign} one.reindex({left}.index)  # each row meets one; of a column, column.map(one) does the same
# a price or a rate that changes with time: pd.merge_asof takes for each row the newest before it"""
_OWN_LABELS = "{table} = {table}.reset_index(drop=True)  # a label of its own for each row\n{text}  # as before"
_BY_ROW = "result = {left}.{method}({right}, axis=0)  # each row with its own number"


def _changed_in_part(node: ast.stmt, scope: Scope) -> str:
    """Return the table of which some rows are changed: `df` of `df.loc[mask, "a"] += df["b"]`; "" of none."""
    match node:
        case ast.AugAssign(target=ast.Subscript(value=ast.Attribute(attr="loc", value=ast.Name() as table))):
            return scope.segment(table)
    return ""


def _sides(node: ast.stmt) -> tuple[ast.expr, ast.expr, str] | None:
    """Return the two tables or columns that a statement calculates with, and how; the innermost of several."""
    found: list[tuple[ast.expr, ast.expr, str]] = []
    for one in walk(node):
        match one:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
                found.append((left, right, _SIGNS[type(op)]))
            case ast.AugAssign(target=left, op=op, value=right) if type(op) in _SIGNS:
                found.append((left, right, _SIGNS[type(op)]))
            case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if name in _METHODS:
                found.append((left, right, _METHODS[name]))
            case ast.Call(func=ast.Attribute(attr=name, value=left), args=[right]) if name in _METHODS:
                if not any(word.arg == "axis" for word in one.keywords):
                    found.append((left, right, _METHODS[name]))
    tables = [one for one in found if not any(isinstance(side, ast.Constant | ast.JoinedStr) for side in one[:2])]
    tables = [one for one in tables if number(one[0]) is None and number(one[1]) is None]
    return tables[-1] if tables else None


def _is_of_rows(left: ast.expr, right: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a number for each row meets a table: `df / df.sum(axis=1)`, `df[["a", "b"]] * df["price"]`."""
    for one, _ in all_origins(right, scope, death.code)[:3]:
        match one:
            case ast.Call(func=ast.Attribute(), keywords=words):
                axes = (getattr(word.value, "value", None) for word in words if word.arg == "axis")
                if any(axis in (1, "columns") for axis in axes):
                    return True
    is_table = isinstance(left, ast.Subscript) and isinstance(left.slice, ast.List)
    is_table |= last_name(left) in death.recorded_types and death.recorded_types[last_name(left)].endswith("DataFrame")
    match right:
        case ast.Subscript(slice=ast.Constant(value=str())):
            return is_table
    return False


def _shown(node: ast.expr, scope: Scope, other: str) -> str:
    """Return an expression as it is written, where that is short; else another name."""
    text = " ".join(scope.operand(node).split())
    return text if len(text) <= _LONGEST else other
