from ...calls import calls_at
from ...edits import append
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.pandas import MERGES, may_hold_nulls, merge_of

_TABLES = (
    "import numpy as np, pandas as pd\nids = np.arange(9)\n"
    "a = pd.DataFrame({'id': np.where(ids % 2, ids, np.nan)})\nb = pd.DataFrame({'id': [None, 2]})"
)


class MergeNullKeys(Fix):
    """Leave rows without a key out of the merge.

    What it does: In a merge of pandas missing keys match each other: 20,000 rows without a key on each side give
    400,000,000 rows. `dropna(subset=...)` on the right table leaves them out.

    When it is offered: Memory ran out in a merge by named columns, and the code makes missing values in both tables.

    What it costs: Rows of the left table without a key find no partner. That is what SQL does, too.
    """

    id, title, causes = "merge-null-keys", "Leave rows without a key out of the merge: dropna", (Family.MEMORY,)

    FIRES = [
        Case(
            _TABLES + "\nboth = a.merge(b, on='id', how='left')",
            becomes=_TABLES + "\nboth = a.merge(b.dropna(subset=['id']), on='id', how='left')",
            says=("match each other",),
        ),
        Case(
            _TABLES + "\nKEYS = ['id', 'day']",
            "both = pd.merge(a[a.id != 0], b, on=KEYS)",
            becomes="both = pd.merge(a[a.id != 0], b.dropna(subset=KEYS), on=KEYS)",
        ),
    ]
    SILENT = [
        Case(_TABLES, "both = a.merge(b.dropna(), on='id')"),
        Case(_TABLES, "both = a.merge(b, on='id', how='outer')"),  # rows of b would be missing
        Case(_TABLES, "both = a.merge(b, on='id')\nbig = [0] * 10**10", line=2),
        Case("import pandas as pd\na = pd.DataFrame(x)\nb = pd.DataFrame(y)", "both = a.merge(b, on='id')"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, *MERGES):
            merge = merge_of(call, death.code)
            if merge is None or merge.keeps_right or "dropna" in call.text:
                continue
            if all(may_hold_nulls(side, call.scope, death.code) for side in (merge.left, merge.right)):
                keys = merge.key if merge.is_list else f"[{merge.key}]"
                yield Proposal(
                    append(call.scope, merge.right, f".dropna(subset={keys})"),
                    f"Both tables of {quote(call.text)} may hold rows without a {quote(merge.key)}, and in pandas "
                    "missing keys match each other: each such row is paired with all such rows of the other table. "
                    'With `validate="many_to_one"` the merge stops with an error where keys repeat.',
                    death.wanted_bytes,
                )
