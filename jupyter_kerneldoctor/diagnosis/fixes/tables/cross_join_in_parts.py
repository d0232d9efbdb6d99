import ast

from ...calls import calls_at
from ...fix import Advice, Case, Death, Family
from ...frameworks.pandas import MERGES, has_one_value, merge_of

_TABLES = "import pandas as pd\na, b = pd.read_csv('a.csv'), pd.read_csv('b.csv')"


class CrossJoinInParts(Advice):
    """Join some rows at a time, and keep only the pairs that are wanted.

    What it does: `merge(how="cross")` pairs each row with each: 50,000 and 50,000 rows make 2,500,000,000. Some hundred
    rows of the left table at a time, filtered at once, give the same pairs.

    When it is offered: Memory ran out in such a merge, or in one by a column that has the same value in all rows.

    What it costs: Some code. Where a value has to be near another, `pd.merge_asof` finds it without any pairs.
    """

    id, title, causes = "cross-join-in-parts", "Join some rows at a time, and keep the pairs you want", (Family.MEMORY,)
    functions = MERGES
    why = "{call} pairs each row with each. Join some rows at a time, and filter the pairs at once."
    snippet = (
        "parts = []\nfor at in range(0, len({left}), 100):\n"
        "    pairs = {left}[at : at + 100].merge({right}, {by})\n"
        "    parts.append(pairs[pairs['x'] < pairs['y']])  # your own condition\n"
        "result = pd.concat(parts)"
    )

    FIRES = [
        Case(
            _TABLES,
            "a['key'] = 1\nb['key'] = 1\npairs = a.merge(b, on='key')",
            line=3,
            says=("a[at : at + 100].merge(b, on='key')",),
        ),
        Case(
            _TABLES,
            "pairs = pd.merge(a.assign(k=0), b.assign(k=0), on='k')",
            says=("a.assign(k=0)[at : at + 100].merge(b.assign(k=0), on='k')",),
        ),
        Case(_TABLES, "pairs = a.merge(b, how='cross')", says=("a[at : at + 100].merge(b, how='cross')",)),
    ]
    SILENT = [
        Case(_TABLES, "pairs = a.merge(b, on='k')"),
        Case(_TABLES, "pairs = a.merge(b, how='cross')\nbig = [0] * 10**10", line=2),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the two tables of a cross join."""
        for call in calls_at(death, *self.functions):
            how = call.argument("how", 2 if call.name == "pandas.merge" else 1)
            function, method = call.node.func, call.name != "pandas.merge"
            left = function.value if method and isinstance(function, ast.Attribute) else call.argument("left", 0)
            right = call.argument("right", 0 if method else 1)
            merge, by = merge_of(call, death.code), "how='cross'"
            if merge is not None and has_one_value(merge, call.scope, death.code):
                words = (word for word in call.node.keywords if word.arg in ("on", "left_on", "right_on"))
                named = ", ".join(f"{word.arg}={call.scope.segment(word.value)}" for word in words)
                left, right, by = merge.left, merge.right, named or f"on={merge.key}"
            elif getattr(how, "value", None) != "cross":
                continue
            if left is not None and right is not None:
                return {"left": call.scope.operand(left), "right": call.scope.segment(right), "by": by}
        return None
