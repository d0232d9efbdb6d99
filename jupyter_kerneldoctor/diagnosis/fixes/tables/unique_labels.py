import ast
from collections.abc import Iterator

from ...calls import calls_at
from ...code.calls import last_name
from ...code.origins import all_origins
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...joined_tables import has_outgrown, joined_by_labels
from ...units import cell_name

_TABLES = "import pandas as pd\nused = pd.concat(read('used'))\nmade = pd.concat(read('made'))"


class UniqueLabels(Fix):
    """Join by columns where the labels of the rows repeat.

    What it does: `join` pairs each row with every row of the other table that has the same label. Tables that `concat`
    puts together keep the labels of their parts: each part begins with 0 again, and 90 parts give 90 x 90 rows of each
    label. A merge by the columns that say which rows belong together makes one row of each pair.

    When it is offered: Memory ran out in a join by labels, and the result was at least three times as large as both
    tables.

    What it costs: Nothing where the columns name each row once; else `validate="one_to_one"` raises an error.
    """

    id, causes = "unique-labels", (Family.MEMORY,)
    title = "Join by columns, or give each row a label of its own: ignore_index=True"

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
    ]
    SILENT = [
        Case(_TABLES, "both = used.join(made, on='day')"),
        Case(_TABLES, "both = used.merge(made, on='day')"),
        Case(_TABLES, "text = ', '.join(made)"),
        Case(_TABLES, "both = used.join(made)\nbig = [0] * 10**10", line=2),
        Case(_TABLES, "both = used.join(made)", before_mib=1000),  # about as large as what it joins
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "pandas.DataFrame.join", "pandas.DataFrame.merge", "pandas.merge"):
            if (tables := joined_by_labels(call)) is None or not has_outgrown(tables, call.scope, death):
                continue
            names = {"left": call.scope.operand(tables[0]), "right": call.scope.operand(tables[1])}
            why = (
                f"{quote(call.text)} pairs each row with every row that has the same label. The result needed more "
                f"than {size(death.wanted_bytes)}, so labels must repeat in both tables."
            )
            for made in _keeping_labels(tables, call, death):
                cell = cell_name(death.code.cells[made.scope.cell].execution_count)
                why += f" {quote(made.text)} ({cell}) keeps the labels of its parts."
                break
            yield Proposal((), why, death.memory.missing_bytes, snippet=_SNIPPET.format(**names))


_SNIPPET = """\
print({left}.index.is_unique, {right}.index.is_unique)  # False: labels repeat
both = {left}.merge({right}, on=['the columns', 'that name a row'], suffixes=('', '_2'), validate='one_to_one')
# or, where both have the same rows in the same order, a label for each row:
# pd.concat(parts, ignore_index=True), or table.reset_index(drop=True), and the join as it was"""


def _keeping_labels(tables: tuple[ast.expr, ast.expr], call: Call, death: Death) -> Iterator[Call]:
    """Yield the calls that put the tables together of parts, and keep the labels of these."""
    for table in tables:
        for one, where in all_origins(table, call.scope, death.code):
            if isinstance(one, ast.Call) and last_name(one.func) == "concat":
                found = Call(one, where, "pandas.concat")
                if death.code.qualified(one.func, where) == found.name and found.argument("ignore_index", 3) is None:
                    yield found
