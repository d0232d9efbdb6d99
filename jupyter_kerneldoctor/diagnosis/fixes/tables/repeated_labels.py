import ast

from jupyter_kerneldoctor.recording.events import Stack

from ...calls import calls_at, ran_in, ran_in_function
from ...examples.stuck import frame, own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...joined_tables import calculated_by_labels, has_outgrown, is_of_rows, joined_by_labels, kept_labels
from ...place import guilty_place

_PAIRS = ("_join_non_unique", "get_join_indexers_non_unique")
"""What pandas runs only where a label is there twice."""
_MATCHES = ("_align_series", "_align_frame", "_align_for_op", "align")
_LONGEST = 40
_OF_ROWS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
_ROWS_TITLE = "Calculate row by row: axis=0"
_JOIN_TITLE = "Join by columns, or give each row a label of its own: ignore_index=True"
_TABLES = "import pandas as pd\nused = pd.concat(read('used'))\nmade = pd.concat(read('made'))"


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
    """Match rows by columns or by place, where their labels repeat.

    What it does: Joins and arithmetic of pandas match rows by their labels. Where a label is there 700 times in one
    table and 100 times in the other, each meets each: 70,000 rows of that label. Tables that `concat` puts together
    keep the labels of their parts: each part begins with 0 again. A merge by columns, or arithmetic by place with
    `to_numpy()`, makes one row of each. A column that is taken from a table is matched with the names of the table's
    columns, and adds a column for each row, unless `axis=0` is given.

    When it is offered: Memory ran out in a join by labels that made three times as much as both tables, or while pandas
    matched the labels of two columns or tables in a calculation.

    What it costs: Which row of a label is the right one, the last or the mean, only you can tell. With
    `validate="one_to_one"` a merge raises an error where there are several.
    """

    id, title, causes = "repeated-labels", "Calculate by place, or make the labels unique", (Family.MEMORY,)

    FIRES = [
        Case(
            _TABLES,
            "both = used.join(made, rsuffix='_made')",
            says=("used.merge(made, on=[", "ignore_index=True", "`pd.concat(read('used'))` (cell [1])"),
        ),
        Case(
            "import pandas as pd\na = pd.DataFrame(x)",
            "m = a.merge(b[['k']], left_index=True, right_index=True)",
            says=("a.index.is_unique", "b[['k']].index.is_unique"),
        ),
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
        Case(_TABLES, "both = used.join(made, on='day')"),
        Case(_TABLES, "both = used.merge(made, on='day')"),
        Case(_TABLES, "text = ', '.join(made)"),
        Case(_TABLES, "both = used.join(made)\nbig = [0] * 10**10", line=2),
        Case(_TABLES, "both = used.join(made)", before_mib=1000),  # about as large as what it joins
        Case(_TABLES, "both = used.join([made, other])"),
        Case("import pandas as pd", "value = sold * price"),
        Case("value = a * b", stacks=_within_pandas("value = a * b", function="reindex"), before_mib=1500),
        Case("value = a * 3", stacks=_within_pandas("value = a * 3")),
        Case("gap = counts.sub(counts.mean(axis=1), axis=0)", stacks=_within_pandas("gap", function="reindex")),
        Case("value = a * b\nbig = [0] * 10**10", line=2),
        _dying("gap = sold.sub(price, 'day')"),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes
        for call in calls_at(death, "pandas.DataFrame.join", "pandas.DataFrame.merge", "pandas.merge"):
            if (tables := joined_by_labels(call)) is None or not has_outgrown(tables, call.scope, death):
                continue
            names = {"left": call.scope.operand(tables[0]), "right": call.scope.operand(tables[1])}
            why = (
                f"{quote(call.text)} pairs each row with every row that has the same label. The result needed more "
                f"than {size(death.wanted_bytes)}, far more than both tables: labels repeat."
            )
            for made in kept_labels(tables, call.scope, death):
                why += f" {quote(made.text)} ({death.code.cell_name(made.scope.cell)}) keeps the labels of its parts."
                break
            yield Proposal((), why, missing, _JOIN_TITLE, _JOINED.format(**names))
        at = guilty_place(death)
        sides = None if at is None or not ran_in(death, "/pandas/") else calculated_by_labels(at.node)
        if at is None or sides is None:
            return
        left, right, sign = sides
        names = {"left": _shown(left, at.scope, "left"), "right": _shown(right, at.scope, "right"), "sign": sign}
        is_matched = ran_in_function(death, *_MATCHES) and has_outgrown((left, right), at.scope, death)
        if ran_in_function(death, *_PAIRS) or (is_matched and not is_of_rows(left, right, at.scope, death)):
            why = (
                f"{quote(at.text)} matches rows by their labels: one that is there twice meets each other of the same "
                "label, and the result has a row for each such pair."
            )
            table = _changed_in_part(at.node, at.scope)
            snippet = _OWN_LABELS.format(table=table, text=at.text) if table else _CALCULATED.format(**names)
            yield Proposal((), why, missing, snippet=snippet)
        elif is_matched and sign in _OF_ROWS:
            why = (
                f"{quote(at.text)} matches the labels of `{names['right']}` with the names of the columns, and makes "
                "a column for each that it does not find: one for each row."
            )
            yield Proposal((), why, missing, _ROWS_TITLE, _BY_ROW.format(**names, method=_OF_ROWS[sign]))


_JOINED = """\
print({left}.index.is_unique, {right}.index.is_unique)  # False: labels repeat
both = {left}.merge({right}, on=['the columns', 'that name a row'], suffixes=('', '_2'), validate='one_to_one')
# or, where both have the same rows in the same order, a label for each row:
# pd.concat(parts, ignore_index=True), or table.reset_index(drop=True), and the join as it was"""
_CALCULATED = """\
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


def _shown(node: ast.expr, scope: Scope, other: str) -> str:
    """Return an expression as it is written, where that is short; else another name."""
    text = " ".join(scope.operand(node).split())
    return text if len(text) <= _LONGEST else other
